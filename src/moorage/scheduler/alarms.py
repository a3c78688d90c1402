"""Alarms by name: the times at which something is due, the earliest first."""

import heapq
import itertools
from collections.abc import Hashable
from typing import Any


class Alarms:
    """Alarms by name. An alarm that is set again rings once, at the new time."""

    __slots__ = ("_heap", "_sequence", "_set")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Any]] = []
        self._set: dict[Hashable, tuple[float, int]] = {}
        self._sequence = itertools.count()

    def set(self, name: Hashable, when: float) -> None:
        known = self._set.get(name)
        if known is not None and known[0] == when:
            return
        entry = self._set[name] = when, next(self._sequence)
        heapq.heappush(self._heap, (*entry, name))

    def clear(self, name: Hashable) -> None:
        self._set.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._set

    def names(self) -> list[Any]:
        """The names of the alarms that are set."""
        return list(self._set)

    def next(self) -> float | None:
        """When the next alarm rings."""
        while self._heap and self._set.get(self._heap[0][2]) != self._heap[0][:2]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> list[Any]:
        """Clear the alarms that are due by `now`, and return their names, the earliest first."""
        names = []
        while (when := self.next()) is not None and when <= now:
            _, _, name = heapq.heappop(self._heap)
            del self._set[name]
            names.append(name)
        return names
