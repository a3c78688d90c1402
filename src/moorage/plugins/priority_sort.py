"""PrioritySort: higher priority first, then whoever came first."""

from moorage.framework.points import QueueSort
from moorage.framework.queued import QueuedPod


class PrioritySort(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        return -queued.info.priority, queued.timestamp
