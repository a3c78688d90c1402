"""Total scores of all nodes for one class of pods, if they depend on free resources alone.

The plugins are called once, as in an attempt. If all but NodeResourcesFit and
NodeResourcesBalancedAllocation depend on node objects alone, and score all open nodes equally, the
next attempts at such pods are one compiled pass over the rows that have changed.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from moorage import kernels
from moorage.cache.node_view import Nodes
from moorage.cache.table import NodeTable
from moorage.cycle import filtering, scoring
from moorage.cycle.filtering import Filtering, Mask
from moorage.cycle.profile import FilterEntry, Profile, ScoreEntry
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.verdicts import MAX_SCORE
from moorage.plugins.node_resources.balanced_allocation import (
    NodeResourcesBalancedAllocation,
    is_simple_pair,
)
from moorage.plugins.node_resources.fit import NodeResourcesFit
from moorage.plugins.node_resources.resource_allocation import are_exact_in_float, scored_resources

PREEMPTION: Final = "DefaultPreemption"
DEVICES: Final = "DynamicResources"
RESERVING: Final = frozenset({DEVICES, "VolumeBinding"})
"""Plugins whose Reserve does nothing unless their PreFilter has noted something."""
STRATEGIES: Final = frozenset({"LeastAllocated", "MostAllocated"})
FULL_PASS_SHARE: Final = 4
"""If more than one row in this many changed, all are computed."""

NOT_HERE: Final = -1
"""The total of a node that does not take the pod."""
_MOST_TOTAL: Final = np.iinfo(np.int32).max
_HALF: Final = MAX_SCORE // 2

Spec = tuple[Any, ...]
Requests = Sequence[tuple[int, int]]
"""(resource index, amount) pairs."""
NO_FIT: Final[Spec] = ((), True, 0)
NO_BALANCE: Final[Spec] = ((), 0)


class ClassTotals:
    """The totals of one class, valid until a node object changes.

    `refused_by` and `pending` are the plugins that would refuse a pod if no node fits.
    """

    __slots__ = (
        "_all_open",
        "_seen",
        "_spec",
        "nodes_seen",
        "pending",
        "refused_by",
        "shares",
        "totals",
    )

    def __init__(self, table: NodeTable, spec: Spec, refused: Diagnosis) -> None:
        self._spec = spec
        self._seen = -1
        self.totals = np.zeros(table.rows, dtype=np.int32)
        self.nodes_seen = nodes_version(table)
        self._all_open = bool(spec[0].all())
        fit = {NodeResourcesFit.__name__} if spec[0].any() else set()
        self.refused_by = frozenset(refused.unschedulable_plugins | fit)
        self.pending = frozenset(refused.pending_plugins)
        self.shares: Any = None
        """Each plugin's score for open nodes; set by the reader that needs it."""

    @property
    def open_(self) -> Mask:
        """bool (row): the nodes that pass every filter but NodeResourcesFit."""
        found: Mask = self._spec[0]
        return found

    def feasible(self, table: NodeTable, needed: Requests) -> int:
        """The number of nodes that were feasible in the last call of `best`."""
        if self._all_open and table.has_everywhere(needed):
            return table.rows
        return int(np.count_nonzero(self.totals >= 0))

    def best(self, table: NodeTable) -> tuple[int, int]:
        """The highest total (-1 if no node is feasible), and how many nodes have it."""
        log, seen = table.usage_log, self._seen
        changed = None if seen < 0 else log.since(seen)
        if changed is not None and len(changed) * FULL_PASS_SHARE > table.rows:
            changed = None
        self._seen = -1
        found: tuple[int, int] | None = kernels.run("best", self.totals, changed, self._spec)
        if found is None:
            write_totals(self.totals, self._spec)
            highest = self.totals.max(initial=NOT_HERE)
            found = int(highest), int(np.count_nonzero(self.totals == highest))
        self._seen = log.version
        return found

    def row(self, total: int, n: int) -> int:
        """The n-th row of those with a total."""
        found: int | None = kernels.run("nth", self.totals, total, n)
        return int(np.flatnonzero(self.totals == total)[n]) if found is None else found


def write_totals(totals: NDArray[np.int32], spec: Spec) -> None:
    """The numpy form of the kernel `best`: the same float64 operations, over all rows."""
    open_, pods, most_pods, needed, scored, least, weight, balanced, balance_weight = spec
    takes = open_ & (pods < most_pods)
    for free, amount in needed:
        takes &= free >= amount
    found = np.zeros(len(totals), dtype=np.int64)
    if scored:
        mean, weights = np.zeros(len(totals)), 0.0
        for each, request, offered, used in scored:
            left = np.maximum(offered - used - request, 0.0)
            part = left if least else np.minimum(used + request, offered)
            mean += np.floor(part * MAX_SCORE / offered) * each
            weights += each
        found += (mean / weights).astype(np.int64) * weight
    if balanced:
        (request, offered, used, share), (other, offered_too, used_too, share_too) = balanced
        after = np.minimum((used + request) / offered, 1.0)
        after -= np.minimum((used_too + other) / offered_too, 1.0)
        evenness = ((1.0 - np.abs(after / 2.0)) * MAX_SCORE).astype(np.int64)
        evenness -= ((1.0 - np.abs((share - share_too) / 2.0)) * MAX_SCORE).astype(np.int64)
        found += (_HALF + (_HALF + evenness) // 2) * balance_weight
    totals[:] = np.where(takes, found, NOT_HERE)


def nodes_version(table: NodeTable) -> tuple[int, int]:
    """Changes whenever a node object changes or columns are moved."""
    return table.node_log.version, table.layout


def survey(profile: Profile, cycle: Cycle) -> ClassTotals | None:
    """Ask the plugins about the cycle's pod; None if nodes differ by more than free resources."""
    outcome = Filtering(cycle)
    filtering.pre_filter(profile, cycle, outcome)
    plugin = _fit_at_the_end(cycle, outcome)
    reserving = [name for name, _ in profile.plan(cycle.incoming).reserve]
    if plugin is None or not all(_sits_out(cycle, name) for name in reserving):
        return None
    outcome.active = outcome.active[:-1]
    outcome.feasible = filtering.feasible_rows(profile, cycle, outcome)
    needed = plugin.checked(cycle)
    table, open_ = cycle.table, outcome.feasible
    if any(index >= len(table.free) for index, _ in needed):
        return None
    scores = _scores(profile, cycle, open_)
    if scores is None:
        return None
    rows = table.rows
    free = tuple((table.free[index, :rows], amount) for index, amount in needed)
    spec = (open_, table.pod_count[:rows], table.allowed_pods[:rows], free, *scores)
    refused = filtering.diagnose(profile, cycle, outcome)
    return ClassTotals(table, spec, refused)


def _fit_at_the_end(cycle: Cycle, outcome: Filtering) -> NodeResourcesFit | None:
    """The last filter, if it is NodeResourcesFit and all others read node objects alone."""
    settled = outcome.diagnosis.pre_filter is not None or outcome.narrowed is not None
    if settled or not outcome.active or cycle.listeners:
        return None
    *others, last = outcome.active
    if last.unprepared or not all(_reads_nodes_alone(cycle, entry) for entry in others):
        return None
    return last.plugin if isinstance(last.plugin, NodeResourcesFit) else None


def _reads_nodes_alone(cycle: Cycle, entry: FilterEntry | ScoreEntry) -> bool:
    return (
        entry.vector
        and entry.rule is not None
        and not entry.rule.by_usage
        and entry.plugin.sign(cycle) is not None
    )


def _sits_out(cycle: Cycle, name: str) -> bool:
    """Whether a plugin has noted nothing in PreFilter, and so has nothing more to do."""
    return name in RESERVING and name not in cycle.state


def _scores(profile: Profile, cycle: Cycle, open_: Mask) -> Spec | None:
    """How nodes are scored; None if other plugins than the two score nodes differently, or totals
    are beyond their column, where kube-scheduler has an int64 and so has a full attempt.
    """
    fit: Spec | None = NO_FIT
    balance: Spec | None = NO_BALANCE
    for entry in scoring.active(profile, cycle, Nodes.all(cycle.table)):
        if isinstance(entry.plugin, NodeResourcesFit):
            fit = _fit_score(cycle, entry.plugin, entry.weight)
        elif isinstance(entry.plugin, NodeResourcesBalancedAllocation):
            balance = _balance_score(cycle, entry.plugin, entry.weight)
        elif not (_sits_out(cycle, entry.name) or _prefers_none(profile, cycle, entry, open_)):
            return None
    if fit is None or balance is None:
        return None
    weights = fit[-1], balance[-1]
    fits = min(weights) >= 0 and MAX_SCORE * sum(weights) <= _MOST_TOTAL
    return (*fit, *balance) if fits else None


def _prefers_none(profile: Profile, cycle: Cycle, entry: ScoreEntry, open_: Mask) -> bool:
    """Whether a plugin scores all open nodes equally."""
    if entry.rule is None or not _reads_nodes_alone(cycle, entry):
        return False
    sign = entry.plugin.sign(cycle)
    column = profile.columns.get(entry.rule, sign, cycle.table, cycle, cycle.pod)
    found = column.values[open_]
    return not len(found) or bool((found == found[0]).all())


def _fit_score(cycle: Cycle, plugin: NodeResourcesFit, weight: int) -> Spec | None:
    strategy, table = plugin.scoring_strategy, cycle.table
    nodes, requests = Nodes.all(table), cycle.incoming.cls.scored_requests
    resources = scored_resources(strategy.resources, requests, nodes, cycle)
    if strategy.type not in STRATEGIES or not are_exact_in_float(resources, nodes):
        return None
    columns = ((nodes.floats(index), each, request) for index, each, request, _ in resources)
    specs = tuple((each, request, c.offered, c.scored) for c, each, request in columns)
    return specs, strategy.type == "LeastAllocated", weight


def _balance_score(
    cycle: Cycle, plugin: NodeResourcesBalancedAllocation, weight: int
) -> Spec | None:
    nodes = Nodes.all(cycle.table)
    requests = cycle.incoming.cls.named_requests
    resources = scored_resources(plugin.resources, requests, nodes, cycle)
    if not is_simple_pair(resources, nodes):
        return None
    columns = ((nodes.floats(index), request) for index, _, request, _ in resources)
    return tuple((request, c.offered, c.used, c.share) for c, request in columns), weight
