"""Which nodes can take the pod: PreFilter once, then Filter over all rows.

1. PreFilter plugins run in order. They may refuse the pod outright, narrow the search to named
   nodes, or skip their own Filter.
2. Vector plugins write a code per row; a row is feasible if every code is zero. The codes of
   plugins that implement `sign` are kept between attempts.
3. Scalar plugins are asked about the rows that are still feasible.
4. Rows to which other pods are nominated are filtered once more, with those pods counted.
5. Codes are turned into "the first plugin in configured order that refused this row" only on
   demand: when no row is feasible, or when an explanation is asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.cycle import promised_rows
from moorage.cycle.profile import POINT_DISABLED, FilterEntry, Profile
from moorage.cycle.promised_rows import Promised, Rows
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import NARROWED_OUT, Diagnosis
from moorage.framework.plugin_errors import as_plugin_error, end_attempt
from moorage.framework.points import POINTS
from moorage.framework.verdicts import (
    SKIP,
    Code,
    NodeNames,
    PluginError,
    Rejection,
    unresolvable,
)

Mask = NDArray[np.bool_]

_NO_ROWS: Mask = np.zeros(0, dtype=bool)

COOLDOWN = "NodeCooldown"
COOLING_DOWN = unresolvable("node(s) had just rejected a pod").by(COOLDOWN)


class Filtering:
    """The outcome of filtering one pod."""

    __slots__ = ("active", "diagnosis", "feasible", "narrowed", "narrowing_plugins")

    def __init__(self, cycle: Cycle) -> None:
        self.feasible = _NO_ROWS
        self.active: list[FilterEntry] = []
        self.narrowed: frozenset[str] | None = None
        self.narrowing_plugins: set[str] = set()
        self.diagnosis = Diagnosis(cycle.table)


def run(profile: Profile, cycle: Cycle) -> Filtering:
    """Filter all nodes; `diagnose` explains the outcome afterwards."""
    outcome = Filtering(cycle)
    pre_filter(profile, cycle, outcome)
    if outcome.diagnosis.pre_filter is None:
        outcome.feasible = feasible_rows(profile, cycle, outcome)
    else:
        outcome.feasible = np.zeros(cycle.table.rows, dtype=bool)
    return outcome


def pre_filter(profile: Profile, cycle: Cycle, outcome: Filtering) -> None:
    """Run the PreFilter plugins.

    `outcome` receives the Filter plugins still to run, the nodes that the search is narrowed to,
    and the refusal if the pod was refused outright.
    """
    skipped: set[str] = set()
    refused: Rejection | None = None
    plan = profile.plan(cycle.incoming)
    pod, name = cycle.pod, ""
    try:
        for name, plugin in cycle.timer.each(plan.pre_filter):
            answer = plugin.pre_filter(cycle, pod)
            if answer is None:
                continue
            if answer is SKIP:
                skipped.add(name)
            elif isinstance(answer, NodeNames):
                if _narrow(outcome, name, answer):
                    return
            elif isinstance(answer, Rejection):
                refused = answer.by(name)
                if refused.code is not Code.UNSCHEDULABLE:
                    break
            else:
                raise PluginError(name, "PreFilter", f"answered {answer!r}")
    except Exception as error:
        end_attempt(name, "PreFilter", error)
    outcome.active = [entry for entry in plan.filter if entry.name not in skipped]
    if plan.listeners:
        cycle.listeners = [named for named in plan.listeners if named[0] not in skipped]
    if refused is not None:
        outcome.diagnosis.pre_filter = refused
        outcome.diagnosis.unschedulable_plugins.add(refused.plugin)


def _narrow(outcome: Filtering, name: str, answer: NodeNames) -> bool:
    """Narrow the search; True where no node is left, which refuses the pod."""
    outcome.narrowing_plugins.add(name)
    known = outcome.narrowed
    outcome.narrowed = answer.names if known is None else known & answer.names
    if outcome.narrowed:
        return False
    names = sorted(outcome.narrowing_plugins)
    reason = (
        f"node(s) didn't satisfy plugin {names[0]}"
        if len(names) == 1
        else f"node(s) didn't satisfy plugin(s) [{' '.join(names)}] simultaneously"
    )
    outcome.diagnosis.pre_filter = unresolvable(reason)
    outcome.diagnosis.unschedulable_plugins |= outcome.narrowing_plugins
    return True


def feasible_rows(profile: Profile, cycle: Cycle, outcome: Filtering) -> Mask:
    """bool (row): the node exists and no plugin refuses it."""
    feasible = searched_rows(cycle, outcome)
    row = _only_row(cycle, outcome)
    if row is None:
        _strike_out_refused(profile, cycle, outcome.active, feasible)
    else:
        feasible[row] = refusal(cycle, cycle.timer.each(outcome.active), row) is None
    if len(cycle.cache.nominations):
        _leave_to_nominated_pods(profile, cycle, outcome.active, feasible)
    return feasible


def _only_row(cycle: Cycle, outcome: Filtering) -> int | None:
    """The row to search if there is only one, as for a DaemonSet's pod, which names its node."""
    if outcome.narrowed is None or len(outcome.narrowed) != 1:
        return None
    (name,) = outcome.narrowed
    return cycle.table.row_of.get(name)


def _strike_out_refused(
    profile: Profile, cycle: Cycle, active: list[FilterEntry], feasible: Mask
) -> None:
    """Clear, in place, the rows that are resting or that some plugin refuses."""
    if cycle.cache.resting:
        feasible[_resting_rows(cycle)] = False
    vector = [entry for entry in active if entry.vector or entry.unprepared]
    for entry in cycle.timer.each(vector):
        if entry.unprepared:
            if feasible.any():
                raise _unprepared(entry)
        else:
            refused = codes(profile, cycle, entry)
            if refused is not None:
                broken = entry.plugin.broken_code
                if broken and bool((feasible & (refused == broken)).any()):
                    _decoder(cycle, entry)(broken)
                feasible &= refused == 0
    if len(vector) < len(active):
        scalar = [entry for entry in active if not (entry.vector or entry.unprepared)]
        for entry in cycle.timer.each(scalar):
            rows = feasible.nonzero()[0].tolist()
            for row, answer in zip(rows, _ask_each(cycle, entry, rows), strict=True):
                if answer is not None:
                    feasible[row] = False


def _leave_to_nominated_pods(
    profile: Profile, cycle: Cycle, active: list[FilterEntry], feasible: Mask
) -> None:
    """Clear, in place, the rows that are refused once the nominated pods are counted."""
    for _, refused, _ in _crowded_refusals(profile, cycle, active, feasible):
        feasible[refused] = False


def _crowded_refusals(
    profile: Profile, cycle: Cycle, active: list[FilterEntry], among: Mask
) -> Iterator[tuple[Callable[[int], Rejection], Rows, NDArray[np.int32]]]:
    """Rows refused with the pods nominated to them counted: decoder, rows, codes per refusal.

    1. Plugins run in configured order while they read only the node, its sums or its ports: each
       is asked about all remaining rows at once. A row belongs to the first plugin that refuses it.
    2. From the first plugin that reads more, the remaining rows are tried one by one, each in a
       trial with the nominated pods placed.
    """
    others = promised_rows.promised_to_others(cycle)
    if others is None:
        return
    rows = np.flatnonzero((others.usage.pods[: len(among)] > 0) & among)
    for entry in active:
        if not len(rows) or not _needs_no_trial(entry):
            break
        written = _crowded_codes(profile, cycle, entry, rows, others)
        refused = written != 0
        if refused.any():
            yield _decoder(cycle, entry), rows[refused], written[refused]
            rows = rows[~refused]
    else:
        return
    for row in rows.tolist():
        found = _refusal_when_crowded(cycle, active, row)
        if found is not None:
            yield _saying(found), np.array([row], dtype=np.intp), np.ones(1, dtype=np.int32)


def _needs_no_trial(entry: FilterEntry) -> bool:
    plugin = entry.plugin
    known = (
        promised_rows.reads_the_node(plugin)
        or promised_rows.reads_sums(plugin)
        or promised_rows.reads_ports(plugin)
    )
    return known and not entry.unprepared


def _crowded_codes(
    profile: Profile, cycle: Cycle, entry: FilterEntry, rows: Rows, others: Promised
) -> NDArray[np.int32]:
    if promised_rows.reads_the_node(entry.plugin):
        written = codes(profile, cycle, entry)
        return np.zeros(len(rows), dtype=np.int32) if written is None else written[rows]
    with as_plugin_error(entry.name, "Filter"):
        return promised_rows.crowded_codes(cycle, entry.plugin, rows, others)


def _saying(rejection: Rejection) -> Callable[[int], Rejection]:
    return lambda _: rejection


def _unprepared(entry: FilterEntry) -> PluginError:
    needed = POINTS[entry.plugin.needs["filter"]].__name__
    return PluginError(entry.name, "Filter", POINT_DISABLED.format(needed))


def searched_rows(cycle: Cycle, outcome: Filtering) -> Mask:
    """bool (row): the nodes that PreFilter plugins leave to be filtered."""
    table = cycle.table
    if outcome.narrowed is None:
        return table.alive[: table.rows].copy()
    mask = np.zeros(table.rows, dtype=bool)
    for name in outcome.narrowed:
        row = table.row_of.get(name)
        if row is not None:
            mask[row] = True
    return mask


def codes(profile: Profile, cycle: Cycle, entry: FilterEntry) -> NDArray[np.int32] | None:
    """int32 (row): the codes that a vector plugin writes; None if it refuses no row."""
    table, plugin, rule = cycle.table, entry.plugin, entry.rule
    try:
        if entry.foresees and plugin.admits_all(cycle, cycle.pod):
            return None
        sign = None if rule is None else plugin.sign(cycle)
        if rule is not None and sign is not None:
            column = profile.columns.get(rule, sign, table, cycle, cycle.pod)
            return None if column.is_zero else column.values
        out = np.zeros(table.rows, dtype=np.int32)
        plugin.filter_all(cycle, cycle.pod, Nodes.all(table), out)
    except Exception as error:
        end_attempt(entry.name, "Filter", error)
    return out if out.any() else None


def refused_by(profile: Profile, cycle: Cycle, entry: FilterEntry) -> Mask:
    """bool (row): the nodes that one plugin refuses, regardless of the other plugins."""
    if entry.unprepared:
        raise _unprepared(entry)
    table = cycle.table
    if entry.vector:
        written = codes(profile, cycle, entry)
        refused = np.zeros(table.rows, dtype=bool) if written is None else written != 0
        return refused & table.alive[: table.rows]
    rows = np.flatnonzero(table.alive[: table.rows])
    refused = np.zeros(table.rows, dtype=bool)
    for row, answer in zip(rows, _ask_each(cycle, entry, rows.tolist()), strict=True):
        refused[row] = answer is not None
    return refused


def refusal(cycle: Cycle, active: Iterable[FilterEntry], row: int) -> Rejection | None:
    """The refusal of one row by the first plugin in configured order; None if it is feasible.

    The table is read as it is now, inside a trial too.
    """
    if cycle.cache.resting and row in _resting_rows(cycle):
        return COOLING_DOWN
    nodes = Nodes.one(cycle.table, row)
    out = np.zeros(1, dtype=np.int32)
    for entry in active:
        if entry.unprepared:
            raise _unprepared(entry)
        if not entry.vector:
            answer = _ask_scalar(cycle, entry, row)
            if answer is not None:
                return answer
            continue
        try:
            entry.plugin.filter_all(cycle, cycle.pod, nodes, out)
        except Exception as error:
            end_attempt(entry.name, "Filter", error)
        if out[0]:
            return _decoder(cycle, entry)(int(out[0]))
    return None


def _ask_scalar(cycle: Cycle, entry: FilterEntry, row: int) -> Rejection | None:
    answer = _ask_each(cycle, entry, [row])[0]
    return None if answer is None else answer.by(entry.name)


def _ask_each(cycle: Cycle, entry: FilterEntry, rows: list[int]) -> Sequence[Rejection | None]:
    nodes = [cycle.table.node(row) for row in rows]
    with as_plugin_error(entry.name, "Filter"):
        answers = entry.plugin.filter_each(cycle, cycle.pod, nodes)
    for answer in answers:
        if answer is not None and not isinstance(answer, Rejection):
            detail = f"answered {answer!r}, not None or a Rejection"
            raise PluginError(entry.name, "Filter", detail)
    return answers


def _decoder(cycle: Cycle, entry: FilterEntry) -> Callable[[int], Rejection]:
    def decode(code: int) -> Rejection:
        with as_plugin_error(entry.name, "Filter"):
            return entry.plugin.rejection(cycle, cycle.pod, code).by(entry.name)

    return decode


def _resting_rows(cycle: Cycle) -> list[int]:
    """Rows of the nodes in cooldown (`cache.resting`)."""
    rows = (cycle.table.row_of.get(name) for name in cycle.cache.resting)
    return [row for row in rows if row is not None]


def nominated_pods(cycle: Cycle, row: int) -> list[PodInfo]:
    """Pods nominated to a row that the incoming pod must yield to."""
    incoming = cycle.incoming
    return [
        pod
        for pod in cycle.cache.nominations.on(cycle.table.node(row).name)
        if pod.priority >= incoming.priority and pod.uid != incoming.uid
    ]


def refusal_with_nominated_pods(
    cycle: Cycle, active: Iterable[FilterEntry], row: int
) -> Rejection | None:
    """The refusal of a row in kube's two passes: with the nominated pods counted, then without."""
    return _refusal_when_crowded(cycle, active, row) or refusal(cycle, active, row)


def _refusal_when_crowded(
    cycle: Cycle, active: Iterable[FilterEntry], row: int
) -> Rejection | None:
    """The first of the two passes; None also if no other pod is nominated to the row."""
    others = nominated_pods(cycle, row)
    if not others:
        return None
    with cycle.trial():
        for pod in others:
            if cycle.cache.node_of(pod.uid) is None:
                cycle.place(row, pod)
        return refusal(cycle, active, row)


class RowFilters:
    """Filters one row as the table stands now; `filters` are the plugins asked, in order."""

    __slots__ = ("_active", "_cycle", "filters")

    def __init__(self, cycle: Cycle, active: list[FilterEntry]) -> None:
        self._cycle = cycle
        self._active = active
        self.filters = tuple(entry.plugin for entry in active)

    def __call__(self, row: int) -> Rejection | None:
        return refusal_with_nominated_pods(self._cycle, self._active, row)


def diagnose(profile: Profile, cycle: Cycle, outcome: Filtering) -> Diagnosis:
    """Record for each infeasible row the first plugin, in configured order, that refused it."""
    diagnosis = outcome.diagnosis
    if diagnosis.pre_filter is not None:
        return diagnosis
    _refuse_narrowed_out(cycle, outcome)
    for row in _resting_rows(cycle):
        if diagnosis.slot[row] < 0:
            refuse_row(diagnosis, row, COOLING_DOWN)
    _refuse_by_nominated_pods(profile, cycle, outcome)
    table = cycle.table
    unsettled = table.alive[: table.rows] & ~outcome.feasible
    for entry in outcome.active:
        rows = np.flatnonzero(unsettled & (diagnosis.slot < 0))
        if not len(rows):
            break
        if entry.vector:
            written = codes(profile, cycle, entry)
            if written is not None:
                found = written[rows]
                refused = found != 0
                diagnosis.refuse(rows[refused], found[refused], _decoder(cycle, entry))
        else:
            scalar = rows.tolist()
            for row, answer in zip(scalar, _ask_each(cycle, entry, scalar), strict=True):
                if answer is not None:
                    refuse_row(diagnosis, row, answer.by(entry.name))
    diagnosis.unschedulable_plugins |= outcome.narrowing_plugins
    _name_plugins(diagnosis)
    return diagnosis


def refuse_row(diagnosis: Diagnosis, row: int, rejection: Rejection) -> None:
    diagnosis.refuse(np.array([row], dtype=np.intp), np.ones(1, dtype=np.int32), _saying(rejection))


def narrowed_out(outcome: Filtering) -> Rejection:
    """The refusal of a node that PreFilter plugins excluded from the search."""
    names = " ".join(sorted(outcome.narrowing_plugins))
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{names}]").by(NARROWED_OUT)


def _refuse_narrowed_out(cycle: Cycle, outcome: Filtering) -> None:
    if outcome.narrowed is None:
        return
    table = cycle.table
    rows = np.flatnonzero(table.alive[: table.rows] & ~searched_rows(cycle, outcome))
    rejection = narrowed_out(outcome)
    outcome.diagnosis.refuse(rows, np.ones(len(rows), dtype=np.int32), lambda _: rejection)


def _refuse_by_nominated_pods(profile: Profile, cycle: Cycle, outcome: Filtering) -> None:
    """Record the refusals with nominated pods counted; they come before those without."""
    diagnosis, table = outcome.diagnosis, cycle.table
    if not len(cycle.cache.nominations):
        return
    rows = table.alive[: table.rows] & ~outcome.feasible & (diagnosis.slot < 0)
    for decode, refused, written in _crowded_refusals(profile, cycle, outcome.active, rows):
        diagnosis.refuse(refused, written, decode)


def _name_plugins(diagnosis: Diagnosis) -> None:
    for rejection in diagnosis.distinct():
        if rejection.plugin != NARROWED_OUT:
            target = (
                diagnosis.pending_plugins
                if rejection.code is Code.PENDING
                else diagnosis.unschedulable_plugins
            )
            target.add(rejection.plugin)
