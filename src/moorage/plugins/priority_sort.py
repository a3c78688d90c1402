"""PrioritySort: orders the queue by priority, then by time of arrival."""

from moorage.framework.points import QueueSort
from moorage.framework.queued_pod import QueuedPod


class PrioritySort(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        return -queued.info.priority, queued.timestamp
