"""Coscheduling: GangScheduling under the name and with the points of scheduler-plugins.

A configuration written for scheduler-plugins enables it as the QueueSort plugin, too. It orders the
queue as PrioritySort does; that the pods of a group stand together is the scheduler's own doing.
"""

from moorage.framework.points import QueueSort
from moorage.framework.queued import QueuedPod
from moorage.policies.gang import GangScheduling


class Coscheduling(GangScheduling, QueueSort, frozen=True, dict=True):
    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        return -queued.info.priority, queued.timestamp
