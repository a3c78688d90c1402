"""State that preemption keeps between attempts, updated from the node table's logs."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.cache.disruption_budgets import Budgets
from moorage.cache.follower import Follower
from moorage.cache.table import NodeTable, PodChange
from moorage.cycle.promised_rows import Amounts
from moorage.framework.cycle import Cycle
from moorage.preemption import victims
from moorage.preemption.lower_priority import LowerUsage, amounts_of
from moorage.preemption.victims import Ranking, Verdict

KEY = "DefaultPreemption"

_SIGNS_KEPT = 16


class RankedRow(NamedTuple):
    """A row's pods below a priority, most important first; `amounts` int64 (pod, resource)."""

    priority: int
    ranking: Ranking
    amounts: Amounts


class Kept:
    """Sums, rankings, budgets and verdicts that outlive an attempt."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.lower = LowerUsage(table)
        self._pods = Follower(table.pod_log)
        self._nodes = Follower(table.node_log)
        self._ranked: dict[int, RankedRow] = {}
        self._verdicts: OrderedDict[Hashable, dict[int, Verdict]] = OrderedDict()
        self._budgets = Budgets(())
        self._budgets_version = 0

    def catch_up(self) -> None:
        """Update everything for the rows that changed since the last call."""
        self._follow_pods()
        self._follow_nodes()

    def pass_over(self) -> None:
        """Skip what was logged since: trials only, all of which were rolled back."""
        self._pods.skip(self.table.pod_log)

    def ranked(self, row: int, priority: int) -> RankedRow:
        """The ranked pods of a row below a priority."""
        found, height = self._ranked.get(row), len(self.table.requested)
        if found is None or found.priority != priority or found.amounts.shape[1] != height:
            found = self._ranked[row] = self._rank(row, priority, height)
        return found

    def verdicts(self, sign: Hashable) -> dict[int, Verdict]:
        """The verdicts by row that still hold for pods of this sign; the caller adds new ones."""
        found = self._verdicts.pop(sign, None)
        self._verdicts[sign] = found = {} if found is None else found
        if len(self._verdicts) > _SIGNS_KEPT:
            self._verdicts.popitem(last=False)
        return found

    def budgets(self, cycle: Cycle) -> Budgets:
        version = cycle.cache.objects.version(PodDisruptionBudget)
        if version != self._budgets_version:
            self._budgets = Budgets(cycle.all(PodDisruptionBudget))
            self._budgets_version = version
            self._verdicts.clear()
        return self._budgets

    def _follow_pods(self) -> None:
        self._pods.read(self.table.pod_log, self._update_pods)

    def _update_pods(self, changes: Sequence[PodChange] | None) -> None:
        if changes is None:
            self.lower.rebuild()
            self._ranked.clear()
            self._verdicts.clear()
        else:
            self.lower.apply(changes)
            for row in {change.row for change in changes}:
                self._ranked.pop(row, None)
                self._forget(row)

    def _follow_nodes(self) -> None:
        self._nodes.apply(self.table.node_log, self._forget_all, self._forget)

    def _forget_all(self) -> tuple[int, ...]:
        self._verdicts.clear()
        return ()

    def _forget(self, row: int) -> None:
        for verdicts in self._verdicts.values():
            verdicts.pop(row, None)

    def _rank(self, row: int, priority: int, height: int) -> RankedRow:
        pods = self.table.pods[row].values()
        ranking = victims.rank(info for info in pods if info.priority < priority)
        return RankedRow(priority, ranking, amounts_of(ranking.infos, height))


def of(cycle: Cycle) -> Kept:
    """The state kept for this cycle's table, brought up to date."""
    found = cycle.shared.get(KEY)
    if not isinstance(found, Kept) or found.table is not cycle.table:
        found = cycle.shared[KEY] = Kept(cycle.table)
    found.catch_up()
    return found
