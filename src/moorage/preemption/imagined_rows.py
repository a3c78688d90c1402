"""Rows as they would be: what a rule about resources says before any pod has moved.

NodeResourcesFit reads a node's usage from the view it is handed. Handed a view with other sums in
it, the rule itself says what it would say after evictions, for many rows at once and without a
trial; nothing of the rule is written twice.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.framework.cycle import Cycle
from moorage.framework.points import Filter, is_vector
from moorage.preemption.kept import Kept
from moorage.preemption.lower_priority import Amounts, Usage

Rows = NDArray[np.intp]
Codes = NDArray[np.int32]

_READS_THE_NODE = frozenset(
    {
        "NodeAffinity",
        "NodeDeclaredFeatures",
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "VolumeZone",
    }
)
_READS_SUMS = "NodeResourcesFit"


class Imagined(Nodes):
    """Some rows with sums other than the table's."""

    __slots__ = ("_usage",)

    def __init__(self, table: NodeTable, rows: Rows, usage: Usage) -> None:
        super().__init__(table, rows)
        self._usage = usage

    @property
    def requested(self) -> Amounts:
        return self._usage.requested

    @property
    def free(self) -> Amounts:
        return self.allocatable - self._usage.requested

    @property
    def pod_count(self) -> Amounts:
        return self._usage.pods


class Rules(NamedTuple):
    """The active filters, in order, as far as they need no trial.

    `leading` are those before the first that needs one, `complete` whether there is none.
    """

    leading: tuple[Filter, ...]
    complete: bool


def rules(cycle: Cycle) -> Rules:
    """Which filters can be asked about imagined rows; none where they are not known."""
    leading: list[Filter] = []
    for plugin in cycle.refuses.filters:
        if not (reads_the_node(plugin) or reads_sums(plugin)):
            return Rules(tuple(leading), complete=False)
        leading.append(plugin)
    return Rules(tuple(leading), complete=True)


def reads_the_node(plugin: Filter) -> bool:
    """Whether the pods on a node make no difference to the rule."""
    known = plugin.plugin_name() in _READS_THE_NODE and plugin.depends is Depends.NODE
    return known and is_vector(plugin, "filter_all")


def reads_sums(plugin: Filter) -> bool:
    """Whether of the pods on a node the rule reads their number and their requests only."""
    known = plugin.plugin_name() == _READS_SUMS and plugin.depends is Depends.USAGE
    return known and is_vector(plugin, "filter_all")


def promised(cycle: Cycle) -> Usage | None:
    """What other pods were promised on each row, as far as the pod must yield to them."""
    nominations, table = cycle.cache.nominations, cycle.table
    if not len(nominations):
        return None
    usage = Usage.none(table)
    for name in nominations.nodes():
        row = table.row_of.get(name)
        if row is not None:
            for info in nominations.on(name):
                if _yields_to(cycle, info):
                    usage.add(row, info)
    return usage if usage.pods.any() else None


def _yields_to(cycle: Cycle, other: PodInfo) -> bool:
    incoming = cycle.incoming
    return (
        other.priority >= incoming.priority
        and other.uid != incoming.uid
        and cycle.cache.node_of(other.uid) is None
    )


def codes(cycle: Cycle, plugin: Filter, rows: Rows, usage: Usage, others: Usage | None) -> Codes:
    """What a rule writes for rows in use like this: with the promised pods, then without."""
    alone = _ask(cycle, plugin, rows, usage)
    if others is None or reads_the_node(plugin):
        return alone
    crowded = _ask(cycle, plugin, rows, usage.plus(others.at(rows)))
    return np.where(crowded != 0, crowded, alone)


def _ask(cycle: Cycle, plugin: Filter, rows: Rows, usage: Usage) -> Codes:
    """Two rows or more: of a single one a rule may read the table itself, where nothing moved."""
    if len(rows) == 1:
        twice = np.zeros(2, dtype=np.intp)
        return _ask(cycle, plugin, rows[twice], usage.at(twice))[:1]
    out = np.zeros(len(rows), dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, Imagined(cycle.table, rows, usage), out)
    return out


class Ground(NamedTuple):
    """The pod's cycle, what is kept, and the sums that concern this pod.

    `lower` is what pods of lower priority use, `promised` what the pod must leave to others.
    """

    cycle: Cycle
    kept: Kept
    rules: Rules
    lower: Usage
    promised: Usage | None

    def emptied(self, rows: Rows) -> Usage:
        """What is in use on some rows once all pods of lower priority are gone."""
        table = self.cycle.table
        in_use = Usage(table.pod_count[rows], table.requested[:, rows])
        return in_use.minus(self.lower.at(rows))


def survey(cycle: Cycle, kept: Kept) -> Ground:
    lower = kept.lower.below(cycle.incoming.priority)
    return Ground(cycle, kept, rules(cycle), lower, promised(cycle))
