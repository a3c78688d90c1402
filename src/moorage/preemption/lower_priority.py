"""What pods below a priority use on each node: what evicting all of them would free."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable, PodChange
from moorage.cycle.promised_rows import Amounts, Usage

MOST_LEVELS: Final = 256
"""With more priorities than this in use, sums are computed afresh at each call."""


class LowerUsage:
    """Usage by priority, updated pod by pod; a priority that no pod has takes no memory."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._levels: dict[int, Usage] = {}
        self._pods: Counter[int] = Counter()
        """Priority -> number of pods."""
        self.rebuild()

    def below(self, priority: int) -> Usage:
        """The usage of all pods of lower priority."""
        if not self._is_kept:
            return fresh(self._table, priority)
        total = Usage.none(self._table)
        for level, usage in self._levels.items():
            if level < priority:
                total = total.plus(usage)
        return total

    def apply(self, changes: Sequence[PodChange]) -> None:
        """Update the sums for pods that came and went."""
        was_kept = self._is_kept
        self._count(changes)
        if self._shape != self._table.requested.shape or self._is_kept > was_kept:
            self.rebuild()
        elif not self._is_kept:
            self._levels.clear()
        else:
            for row, info, sign in changes:
                if info.priority in self._pods:
                    self._level(info.priority).add(row, info, sign)

    @property
    def _is_kept(self) -> bool:
        return len(self._pods) <= MOST_LEVELS

    def _count(self, changes: Sequence[PodChange]) -> None:
        for _, info, sign in changes:
            self._pods[info.priority] += sign
        for priority in {info.priority for _, info, _ in changes}:
            if not self._pods[priority]:
                del self._pods[priority]
                self._levels.pop(priority, None)

    def rebuild(self) -> None:
        self._shape = self._table.requested.shape
        self._levels = {}
        groups = _groups(self._table)
        self._pods = Counter()
        for (priority, _), rows in groups.items():
            self._pods[priority] += len(rows)
        if not self._is_kept:
            return
        for (priority, requests), rows in groups.items():
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
    """The same, computed from the pods."""
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
    """The requests of each pod: int64 (pod, resource)."""
    amounts = np.zeros((len(infos), height), dtype=np.int64)
    for position, info in enumerate(infos):
        for resource, amount in info.requests:
            amounts[position, resource] = amount
    return amounts
