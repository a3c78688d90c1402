"""Where a group stands in the queue: all of its pods where the first of them would.

Whatever QueueSort plugin orders the queue, it is shown for each pod of a group one that has the
group's priority and came when the group's first pod did. So groups are served by priority, then
by first arrival, and the pods of one group stand together.
"""

from moorage.cache.podinfo import PodInfo
from moorage.framework.queued import QueuedPod
from moorage.policies.gang.directory import Directory


def stand_in(groups: Directory, queued: QueuedPod) -> QueuedPod:
    """The pod to be sorted in place of this one: itself, unless its group is waiting."""
    group = groups.of(queued.info.pod) if groups.in_use else None
    if group is None or group.minimum < 1 or group.arrived is None or group.is_replacing:
        return queued
    info = PodInfo(queued.info.pod, queued.info.cls)
    info.priority = group.priority
    stand_in = QueuedPod(info, group.arrived)
    stand_in.stands_for = queued
    return stand_in
