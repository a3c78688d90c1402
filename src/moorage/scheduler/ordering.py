"""The order of the queue where it depends on what runs in the cluster.

Pods are queued while nodes and running pods are still being read, and for long times while other
pods come and go: what they are ordered by has changed by the time they are popped.
"""

from collections.abc import Iterable
from typing import Final

from moorage.cache.cache import Cache
from moorage.cycle.profile import Profile
from moorage.policies.fair_share import FairShare
from moorage.queue.queue import SchedulingQueue

RESORT_SECONDS: Final = 5.0
"""How often the queue is sorted anew, at most."""


class Ordering:
    """Sorts the queue anew when that is due and anything has changed."""

    def __init__(self, profiles: Iterable[Profile], cache: Cache, queue: SchedulingQueue) -> None:
        self._profiles = profiles
        self._table = cache.table
        self._queue = queue
        self._seen = (-1, -1)
        self._due = 0.0

    def tick(self, now: float) -> None:
        """Do what is due."""
        if now < self._due:
            return
        seen = self._table.pod_log.version, self._table.node_log.version
        lines = self._lines()
        if lines and seen != self._seen:
            for fair in lines:
                fair.line.clear()
            self._queue.resort()
        self._seen, self._due = seen, now + RESORT_SECONDS

    def _lines(self) -> list[FairShare]:
        sorts = (sort for profile in self._profiles for _, sort in profile.queue_sort)
        return [sort for sort in sorts if isinstance(sort, FairShare)]
