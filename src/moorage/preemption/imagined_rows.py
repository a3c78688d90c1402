"""What a search for victims starts from: filters that need no trial, and the usage of nodes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.node_view import Nodes
from moorage.cycle.promised_rows import Rows, Usage, promised, reads_sums, reads_the_node
from moorage.framework.cycle import Cycle
from moorage.framework.plugin_errors import as_plugin_error
from moorage.framework.points import Filter, is_vector
from moorage.framework.verdicts import SchedulingError
from moorage.preemption.kept import Kept

Mask = NDArray[np.bool_]


class Rules(NamedTuple):
    """The active Filter plugins, by whether they can be asked about imagined rows, without a trial.

    `others` cannot. `leading` can, and come before the first of `others`; `later` come after it.
    """

    leading: tuple[Filter, ...]
    later: tuple[Filter, ...] = ()
    others: tuple[Filter, ...] = ()

    @property
    def imaginable(self) -> tuple[Filter, ...]:
        return self.leading + self.later


def rules(cycle: Cycle) -> Rules:
    """The cycle's Filter plugins, by whether they can be asked about imagined rows."""
    leading: list[Filter] = []
    later: list[Filter] = []
    others: list[Filter] = []
    for plugin in cycle.refuses.filters:
        if not (reads_the_node(plugin) or reads_sums(plugin)):
            others.append(plugin)
        elif others:
            later.append(plugin)
        else:
            leading.append(plugin)
    return Rules(tuple(leading), tuple(later), tuple(others))


class Ground(NamedTuple):
    """The pod's cycle, the kept state, and the sums that concern this pod.

    `lower` is what pods of lower priority use. `promised` is what pods use that are nominated, and
    that the pod must yield to.
    """

    cycle: Cycle
    kept: Kept
    rules: Rules
    lower: Usage
    promised: Usage | None

    def emptied(self, rows: Rows) -> Usage:
        """The usage of some rows once all pods of lower priority are gone."""
        table = self.cycle.table
        in_use = Usage(table.pod_count[rows], table.requested[:, rows])
        return in_use.minus(self.lower.at(rows))

    def without_trial(self, rows: Rows) -> Mask:
        """bool (row): rows about which the imaginable plugins alone decide, whichever pods leave.

        There all `others` accept the row as it is and promise to accept it with fewer pods
        (`accepts_fewer`). Rows that other pods are nominated to are left out if there are `others`.
        """
        decided = np.ones(len(rows), dtype=bool)
        if not self.rules.others:
            return decided
        if self.promised is not None:
            decided &= self.promised.pods[rows] == 0
        for plugin in self.rules.others:
            if not decided.any():
                break
            decided[decided] = _accepts_fewer(self.cycle, plugin, rows[decided])
        return decided


def _accepts_fewer(cycle: Cycle, plugin: Filter, rows: Rows) -> Mask:
    """bool (row): the plugin accepts the row, and would whichever of its pods left."""
    try:
        with as_plugin_error(plugin.plugin_name(), "Filter"):
            accepted = _accepts(cycle, plugin, rows)
            promises = accepted.any() and plugin.accepts_fewer(cycle, cycle.pod)
    except SchedulingError:
        promises = False
    return accepted if promises else np.zeros(len(rows), dtype=bool)


def _accepts(cycle: Cycle, plugin: Filter, rows: Rows) -> Mask:
    table = cycle.table
    if is_vector(plugin, "filter_all"):
        codes = np.zeros(len(rows), dtype=np.int32)
        plugin.filter_all(cycle, cycle.pod, Nodes(table, rows), codes)
        return np.equal(codes, 0)
    nodes = [table.node(row) for row in rows.tolist()]
    answers = plugin.filter_each(cycle, cycle.pod, nodes)
    return np.fromiter((answer is None for answer in answers), dtype=bool, count=len(rows))


def survey(cycle: Cycle, kept: Kept) -> Ground:
    lower = kept.lower.below(cycle.incoming.priority)
    return Ground(cycle, kept, rules(cycle), lower, promised(cycle))
