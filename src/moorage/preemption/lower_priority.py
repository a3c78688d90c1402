"""What pods below a priority use on each node: what evicting all of them would free."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable, PodChange
from moorage.cycle.promised_rows import Amounts, Usage

MOST_LEVELS: Final = 256
"""With more priorities than this in use, sums are made afresh each time they are asked for."""


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
