"""What pods below a priority use on each node: what evicting all of them would free."""

from collections import defaultdict
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable, PodChange

Amounts = NDArray[np.int64]

MOST_LEVELS: Final = 256
"""With more priorities than this in use, sums are made afresh each time they are asked for."""


class Usage(NamedTuple):
    """A number of pods and what they ask for.

    `pods` int64 (row), `requested` int64 (resource, row).
    """

    pods: Amounts
    requested: Amounts

    def at(self, rows: NDArray[np.intp]) -> "Usage":
        return Usage(self.pods[rows], self.requested[:, rows])

    def plus(self, other: "Usage") -> "Usage":
        return Usage(self.pods + other.pods, self.requested + other.requested)

    def minus(self, other: "Usage") -> "Usage":
        return Usage(self.pods - other.pods, self.requested - other.requested)


class LowerUsage:
    """Usage by priority, kept up to date pod by pod.

    A level is int64 (1 + resource, row): the pods of one priority, counted, then summed up by
    resource.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._levels: dict[int, Amounts] = {}
        self._shape = self._wanted_shape()
        self.rebuild()

    def below(self, priority: int) -> Usage:
        """What all pods of lower priority use."""
        if len(self._levels) > MOST_LEVELS:
            return fresh(self._table, priority)
        total = np.zeros(self._shape, dtype=np.int64)
        for level, amounts in self._levels.items():
            if level < priority:
                total += amounts
        return Usage(total[0], total[1:])

    def apply(self, changes: list[PodChange]) -> None:
        """Follow pods that came and went."""
        if self._shape != self._wanted_shape():
            self.rebuild()
            return
        for row, info, sign in changes:
            level = self._level(info.priority)
            level[0, row] += sign
            for resource, amount in info.requests:
                level[1 + resource, row] += sign * amount

    def rebuild(self) -> None:
        self._shape = self._wanted_shape()
        self._levels = {}
        for (priority, requests), rows in _groups(self._table).items():
            level, where = self._level(priority), np.asarray(rows, dtype=np.intp)
            np.add.at(level[0], where, 1)
            for resource, amount in requests:
                np.add.at(level[1 + resource], where, amount)

    def _level(self, priority: int) -> Amounts:
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = np.zeros(self._shape, dtype=np.int64)
        return level

    def _wanted_shape(self) -> tuple[int, int]:
        height, capacity = self._table.requested.shape
        return 1 + height, capacity


def fresh(table: NodeTable, priority: int) -> Usage:
    """The same from the pods themselves."""
    height, capacity = table.requested.shape
    usage = Usage(np.zeros(capacity, dtype=np.int64), np.zeros((height, capacity), dtype=np.int64))
    for row, pods in enumerate(table.pods):
        for info in pods.values():
            if info.priority < priority:
                usage.pods[row] += 1
                for resource, amount in info.requests:
                    usage.requested[resource, row] += amount
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
