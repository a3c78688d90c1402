"""Victims if some pods leave together or not at all: groups that are disrupted as a whole.

A unit counts with all of its pods, also those on other nodes: in its rank, against budgets, and in
a node's cost. It is reprieved as a whole, too.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.disruption_budgets import Budgets
from moorage.cache.podinfo import PodInfo
from moorage.cycle.promised_rows import Amounts
from moorage.framework import eviction
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import LocalUnit, Unit
from moorage.preemption import go_sort
from moorage.preemption.victims import DryRunError, Verdict, Victims


class RankedUnits(NamedTuple):
    """Units, the most important first, and how many evictions of each violate a budget."""

    units: list[LocalUnit]
    violations: list[int]

    @property
    def order(self) -> list[int]:
        """Positions in the order of coming back: units that violate a budget come first."""
        violated = [place for place, count in enumerate(self.violations) if count]
        return violated + [place for place, count in enumerate(self.violations) if not count]

    def conclude(self, node: str, evicted: list[int]) -> Verdict:
        """The verdict on a row, given the positions of the evicted units."""
        if not evicted:
            return DryRunError(node)
        gone = sorted(evicted)
        pods = tuple(info.pod for place in gone for info in self.units[place].unit.pods)
        return Victims(pods, sum(self.violations[place] for place in gone))


def rank(units: list[LocalUnit], budgets: Budgets) -> RankedUnits:
    """Rank units, which must be given in the order in which they came to the node."""
    keys = [_key(here.unit, arrival) for arrival, here in enumerate(units)]
    ranked = [units[place] for place in go_sort.order(keys)]
    if not budgets:
        return RankedUnits(ranked, [0] * len(ranked))
    violated = iter(budgets.violated_by([info for here in ranked for info in here.unit.pods]))
    return RankedUnits(ranked, [sum(next(violated) for _ in here.unit.pods) for here in ranked])


def _key(unit: Unit, arrival: int) -> tuple[float, ...]:
    """A sort key: smaller is more important; equal for units that `sort.Slice` may exchange."""
    start = unit.started
    last = arrival if start == math.inf else 0
    return -unit.priority, -unit.rank, -len(unit.pods), start, last


def all_below(cycle: Cycle, units: list[LocalUnit]) -> bool:
    """Whether the units that may leave hold exactly the pods of lower priority on a row."""
    priority = cycle.incoming.priority
    for unit, pods in units:
        leaves = eviction.may_leave(cycle, unit)
        for info in pods:
            if (info.priority < priority) != leaves:
                return False
    return True


def amounts(ranked: RankedUnits, height: int) -> tuple[Amounts, NDArray[np.int64]]:
    """int64 (unit, resource) and int64 (unit): requests and number of each unit's pods on a row."""
    sums = np.zeros((len(ranked.units), height), dtype=np.int64)
    for place, (_, pods) in enumerate(ranked.units):
        for info in pods:
            for resource, amount in info.requests:
                sums[place, resource] += amount
    return sums, np.array([len(pods) for _, pods in ranked.units], dtype=np.int64)


Placed = list[tuple[int, PodInfo]]
"""(row, pod) pairs."""


def placed(cycle: Cycle, unit: Unit) -> Placed:
    """The pods of a unit with their rows; pods on unknown nodes are left out."""
    row_of, node_of = cycle.table.row_of, cycle.cache.node_of
    rows = ((row_of.get(node_of(info.uid) or ""), info) for info in unit.pods)
    return [(row, info) for row, info in rows if row is not None]
