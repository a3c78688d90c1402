"""What preemption keeps between attempts, all of it fed by one reader of the table's log."""

from typing import NamedTuple

from moorage.api.policy import PodDisruptionBudget
from moorage.cache.table import NodeTable
from moorage.framework.cycle import Cycle
from moorage.plugins.preemption import importance
from moorage.plugins.preemption.budgets import Budgets
from moorage.plugins.preemption.importance import Victim
from moorage.plugins.preemption.lower import Amounts, LowerUsage, amounts_of

KEY = "DefaultPreemption"


class RankedRow(NamedTuple):
    """A row's pods below a priority, by importance; `amounts` int64 (pod, resource)."""

    priority: int
    victims: list[Victim]
    amounts: Amounts


class Kept:
    """Sums, orders and budgets that outlive an attempt."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.lower = LowerUsage(table)
        self._version = table.pod_log.version
        self._ranked: dict[int, RankedRow] = {}
        self._budgets = Budgets(())
        self._budgets_version = 0

    def catch_up(self) -> None:
        """Take in which pods came and went since the last look."""
        log = self.table.pod_log
        changes = log.since(self._version)
        if changes is None:
            self.lower.rebuild()
            self._ranked.clear()
        else:
            self.lower.apply(changes)
            for change in changes:
                self._ranked.pop(change.row, None)
        self._version = log.version

    def pass_over(self) -> None:
        """Leave out of account what was logged since: trials, all of them rolled back."""
        self._version = self.table.pod_log.version

    def ranked(self, row: int, priority: int) -> RankedRow:
        """The pods of a row below a priority."""
        found, height = self._ranked.get(row), len(self.table.requested)
        if found is None or found.priority != priority or found.amounts.shape[1] != height:
            found = self._ranked[row] = self._rank(row, priority, height)
        return found

    def budgets(self, cycle: Cycle) -> Budgets:
        version = cycle.cache.objects.version(PodDisruptionBudget)
        if version != self._budgets_version:
            self._budgets = Budgets(cycle.all(PodDisruptionBudget))
            self._budgets_version = version
        return self._budgets

    def _rank(self, row: int, priority: int, height: int) -> RankedRow:
        pods = self.table.pods[row].values()
        victims = importance.ranked(info for info in pods if info.priority < priority)
        amounts = amounts_of([victim.info for victim in victims], height)
        return RankedRow(priority, victims, amounts)


def of(cycle: Cycle) -> Kept:
    """What is kept for this cycle's table, up to date."""
    found = cycle.shared.get(KEY)
    if not isinstance(found, Kept) or found.table is not cycle.table:
        found = cycle.shared[KEY] = Kept(cycle.table)
    found.catch_up()
    return found
