"""What pods below a priority use on each node: what evicting all of them would free."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api import int64
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable, PodChange

Amounts = NDArray[np.int64]

MOST_LEVELS: Final = 256
"""With more priorities than this in use, sums are made afresh each time they are asked for."""


class Usage(NamedTuple):
    """A number of pods and what they ask for.  `pods` (row), `requested` (resource, row)."""

    pods: Amounts
    requested: Amounts

    @classmethod
    def none(cls, table: NodeTable) -> "Usage":
        """Nothing on every row."""
        height, capacity = table.requested.shape
        rows = np.zeros(capacity, dtype=np.int64)
        return cls(rows, np.zeros((height, capacity), dtype=np.int64))

    def add(self, row: int, info: PodInfo, sign: int = 1) -> None:
        """Count one pod on a row, in place."""
        self.pods[row] += sign
        for resource, amount in info.requests:
            total = self.requested.item(resource, row) + sign * amount
            self.requested[resource, row] = int64.wrap(total)

    def at(self, rows: NDArray[np.intp]) -> "Usage":
        return Usage(self.pods[rows], self.requested[:, rows])

    def plus(self, other: "Usage") -> "Usage":
        return Usage(self.pods + other.pods, self.requested + other.requested)

    def minus(self, other: "Usage") -> "Usage":
        return Usage(self.pods - other.pods, self.requested - other.requested)


class LowerUsage:
    """Usage by priority, kept up to date pod by pod."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._levels: dict[int, Usage] = {}
        self.rebuild()

    def below(self, priority: int) -> Usage:
        """What all pods of lower priority use."""
        if len(self._levels) > MOST_LEVELS:
            return fresh(self._table, priority)
        total = Usage.none(self._table)
        for level, usage in self._levels.items():
            if level < priority:
                total = total.plus(usage)
        return total

    def apply(self, changes: Sequence[PodChange]) -> None:
        """Follow pods that came and went."""
        if self._shape != self._table.requested.shape:
            self.rebuild()
            return
        for row, info, sign in changes:
            self._level(info.priority).add(row, info, sign)

    def rebuild(self) -> None:
        self._shape = self._table.requested.shape
        self._levels = {}
        for (priority, requests), rows in _groups(self._table).items():
            level, where = self._level(priority), np.asarray(rows, dtype=np.intp)
            np.add.at(level.pods, where, 1)
            for resource, amount in requests:
                np.add.at(level.requested[resource], where, amount)

    def _level(self, priority: int) -> Usage:
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = Usage.none(self._table)
        return level


def fresh(table: NodeTable, priority: int) -> Usage:
    """The same from the pods themselves."""
    usage = Usage.none(table)
    for row, pods in enumerate(table.pods):
        for info in pods.values():
            if info.priority < priority:
                usage.add(row, info)
    return usage


def _groups(table: NodeTable) -> dict[tuple[int, tuple[tuple[int, int], ...]], list[int]]:
    """The row of each pod, grouped by priority and requests, of which there are few."""
    groups = defaultdict(list)
    for row, pods in enumerate(table.pods):
        for info in pods.values():
            groups[info.priority, info.requests].append(row)
    return groups


def amounts_of(infos: list[PodInfo], height: int) -> Amounts:
    """What each pod asks for: int64 (pod, resource)."""
    amounts = np.zeros((len(infos), height), dtype=np.int64)
    for position, info in enumerate(infos):
        for resource, amount in info.requests:
            amounts[position, resource] = amount
    return amounts
