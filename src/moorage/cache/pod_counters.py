"""Pod counters: how many pods of a selection there are, per node and per domain, without scanning.

1. Every pod that comes or goes (`table.pod_log`, trial placements included) is counted in the pod
   set of its labels and in those of the affinity terms it carries (`pod_sets`).
2. A plugin that counts pods asks for a tally: over the pods of a selection, or over pods that carry
   certain terms. A tally is summed once from the pod sets, and follows them from then on.
3. Nodes that change (`table.node_log`) move between domains, and their counts with them.
4. The least recently used tallies are dropped when there are too many, or they take too much
   memory. Pod sets without pods are swept.
"""

from collections import OrderedDict
from collections.abc import Sequence

from moorage.cache.follower import Follower
from moorage.cache.pod_index import SWEEP_AFTER, PodIndex
from moorage.cache.pod_selection import PodSelection, SelectorIndex
from moorage.cache.pod_sets import CarriedTerm, LabelGroup
from moorage.cache.table import NodeTable, PodChange
from moorage.cache.topology_counts import Tally
from moorage.cache.topology_domains import TopologyIndex

BUDGET_BYTES = 256 * 1024 * 1024
TALLIES_KEPT = 4096
"""The most tallies: with few nodes their fixed overhead takes more memory than their numbers."""

_BYTES_PER_ROW = 8 + 2 * 8
"""The bytes that a tally takes per row if every node is a domain of its own."""

WeightedTerms = tuple[tuple[CarriedTerm, int], ...]
"""Carried terms, each with the amount that one pod that carries it adds."""


class PodCounters:
    """Tallies of the pods on one table's nodes. Callers must `catch_up` before they read any."""

    def __init__(
        self,
        table: NodeTable,
        budget: int = BUDGET_BYTES,
        sweep_after: int = SWEEP_AFTER,
        kept: int = TALLIES_KEPT,
    ) -> None:
        self.table = table
        self.topologies = TopologyIndex(table)
        self.census = PodIndex(self._welcome, sweep_after)
        self._budget = budget
        self._kept = kept
        self._room = 0
        """How many tallies may be started before memory is measured again."""
        self._capacity = len(table.alive)
        self._pods: Follower[PodChange] = Follower()
        self._tallies: OrderedDict[PodSelection | WeightedTerms, Tally] = OrderedDict()
        self._selections: SelectorIndex[PodSelection] = SelectorIndex()

    @classmethod
    def of(cls, table: NodeTable) -> "PodCounters":
        """The counters of a table, up to date; they live as long as the table."""
        counters: PodCounters | None = table.derived.get("PodCounters")
        if counters is None:
            counters = table.derived["PodCounters"] = cls(table)
        counters.catch_up()
        return counters

    def catch_up(self) -> None:
        """Count what happened to pods and nodes since the last time."""
        table = self.table
        if self._capacity != len(table.alive):
            self._grow_rows(len(table.alive))
        if self._pods.version != table.pod_log.version:
            self._pods.read(table.pod_log, self._count)
        self.topologies.catch_up()

    def _count(self, changes: Sequence[PodChange] | None) -> None:
        if changes is None:
            self._clear()
            changes = self.table.placed_pods()
        for row, pod, sign in changes:
            self.census.count(row, pod, sign)

    def selected(self, selection: PodSelection) -> Tally:
        """How many pods of a selection are on each row."""
        tally = self._tallies.get(selection)
        if tally is None:
            tally = self._start(selection)
            self._selections.add(selection, selection.requirements)
            for group in self.census.groups.possible(selection):
                self._join(group, selection, tally)
        else:
            self._tallies.move_to_end(selection)
        return tally

    def carrying(self, terms: WeightedTerms) -> Tally:
        """The weights of terms summed over the pods that carry them on each row."""
        tally = self._tallies.get(terms)
        if tally is None:
            tally = self._start(terms, wide=any(weight != 1 for _, weight in terms))
            for term, weight in terms:
                term.join(tally, weight)
        else:
            self._tallies.move_to_end(terms)
        return tally

    def _welcome(self, group: LabelGroup) -> None:
        for selection in self._selections.candidates(group.labels):
            self._join(group, selection, self._tallies[selection])

    def _join(self, group: LabelGroup, selection: PodSelection, tally: Tally) -> None:
        counts = selection.dying or not group.dying
        if counts and selection.holds(group.namespace, group.labels):
            group.join(tally)

    def _start(self, key: PodSelection | WeightedTerms, wide: bool = False) -> Tally:
        self._make_room()
        tally = self._tallies[key] = Tally(self._capacity, wide)
        return tally

    def _make_room(self) -> None:
        """Drop the least recently used tallies if they are many or take much memory."""
        self._room -= 1
        if self._room > 0:
            return
        in_use = sum(tally.nbytes for tally in self._tallies.values())
        most = self._kept * 3 // 4
        while self._tallies and (in_use > self._budget * 3 // 4 or len(self._tallies) > most):
            key, tally = self._tallies.popitem(last=False)
            in_use -= tally.nbytes
            if isinstance(key, PodSelection):
                self._selections.remove(key, key.requirements)
            tally.close()
        fit = (self._budget - in_use) // (self._capacity * _BYTES_PER_ROW)
        self._room = min(fit, self._kept - len(self._tallies))

    def _clear(self) -> None:
        """Start afresh; tallies are made again when asked for."""
        for tally in self._tallies.values():
            tally.close()
        self._tallies.clear()
        self._selections = SelectorIndex()
        self.census.clear()

    def _grow_rows(self, capacity: int) -> None:
        self._capacity = capacity
        self.topologies.grow_rows(capacity)
        for tally in self._tallies.values():
            tally.grow_rows(capacity)
