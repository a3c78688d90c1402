"""Eviction records: who had to leave for whom, in bounded memory; the oldest is forgotten first."""

from collections import deque
from typing import Final

from moorage.observe.records import Evicted

CAPACITY: Final = 2000
PODGROUP: Final = "podgroup"
"""What preempts where room is made for a whole group."""


class EvictionRecords:
    """An observer that keeps the last evictions; whoever looks goes through all of them."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._kept: deque[Evicted] = deque(maxlen=capacity)

    def evicted(self, evicted: Evicted) -> None:
        """Keep one."""
        self._kept.append(evicted)

    def __len__(self) -> int:
        return len(self._kept)

    def of_victim(self, pod: str) -> list[Evicted]:
        """Each time a pod of that key had to leave, oldest first."""
        return [each for each in self._kept if each.pod == pod]

    def of_preemptor(self, pod: str, group: str = "") -> list[Evicted]:
        """Whoever had to leave for a pod of that key, or for its group, oldest first."""
        return [
            each
            for each in self._kept
            if each.by == pod or (each.what == PODGROUP and group and each.by == group)
        ]
