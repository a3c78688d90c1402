"""Eviction records: which pods were evicted for which, in bounded memory, the last ones."""

from collections import deque
from typing import Final

from moorage.observe.records import Evicted

CAPACITY: Final = 2000
PODGROUP: Final = "podgroup"
"""The `what` of an eviction that makes room for a whole group."""


class EvictionRecords:
    """An observer that keeps the last evictions; lookups scan all of them."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._kept: deque[Evicted] = deque(maxlen=capacity)

    def evicted(self, evicted: Evicted) -> None:
        """Keep one eviction."""
        self._kept.append(evicted)

    def __len__(self) -> int:
        return len(self._kept)

    def of_victim(self, pod: str) -> list[Evicted]:
        """The evictions of pods of that key, oldest first."""
        return [each for each in self._kept if each.pod == pod]

    def of_preemptor(self, pod: str, group: str = "") -> list[Evicted]:
        """The evictions for pods of that key, or for its group, oldest first."""
        return [
            each
            for each in self._kept
            if each.by == pod or (each.what == PODGROUP and group and each.by == group)
        ]
