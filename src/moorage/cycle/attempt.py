"""One scheduling attempt: the steps in order, and percentageOfNodesToScore.

1. Nothing to do without nodes.
2. A nominated node that still passes is taken at once.
3. Filter all nodes, by plugins and then by extenders; with none left, diagnose and let PostFilter
   plugins make room.
4. One feasible node is taken as it is; several are scored, by extenders too, and the best is
   picked.

The caller assumes the pod on the answer, or puts it back with the diagnosis.
"""

import contextlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cycle import extender_calls, filtering, scoring
from moorage.cycle.filtering import Filtering
from moorage.cycle.profile import Profile
from moorage.cycle.scoring import Scoring
from moorage.cycle.verdict_amounts import with_amounts
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.extenders import ExtenderError
from moorage.framework.plugin_errors import as_plugin_error
from moorage.framework.verdicts import Code, Nominated, NoNodesError, Rejection

MIN_FEASIBLE = 100
MIN_PERCENTAGE = 5
RUNNERS_UP = 2
"""How many next best nodes a `Decision` reports beside the chosen one."""
RUNNERS_UP_SECONDS = 0.05
"""Least time between two attempts that report runners-up: at full speed most attempts skip it."""
BEST_TOLD = 3
"""How many of the best nodes are reported to a detailed timer."""


def num_feasible_nodes_to_find(percentage: int, nodes: int) -> int:
    """How many feasible nodes end the search (kube's numFeasibleNodesToFind)."""
    if nodes < MIN_FEASIBLE:
        return nodes
    adaptive = max(50 - nodes // 125, MIN_PERCENTAGE)
    return max(nodes * (percentage or adaptive) // 100, MIN_FEASIBLE)


def sample_feasible(
    profile: Profile, cycle: Cycle, searched: NDArray[np.bool_], feasible: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """bool (row): the feasible rows that kube's walk over the searched ones would have reached.

    Advances `next_start` of the profile's progress, where the next walk begins.
    """
    percentage = profile.percentage_of_nodes_to_score
    order = np.asarray(cycle.cache.node_order(), dtype=np.intp)
    walk = order[searched[order]]
    if percentage is None or len(walk) == 0:
        return feasible
    progress = profile.progress
    walk = np.roll(walk, -progress.next_start)
    reached = np.cumsum(feasible[walk])
    wanted = num_feasible_nodes_to_find(percentage, len(walk))
    stop = int(np.searchsorted(reached, wanted)) + 1 if reached[-1] >= wanted else len(walk)
    progress.next_start = (progress.next_start + stop) % len(order)
    kept = np.zeros_like(feasible)
    kept[walk[:stop]] = feasible[walk[:stop]]
    return kept


Parts = tuple[tuple[str, int], ...]
"""(plugin, weighted score) pairs."""


class Decision(NamedTuple):
    """The node an attempt chose, and by how much."""

    node: str
    score: int
    feasible: int
    evaluated: int
    scoring: Scoring | None = None
    parts: Parts = ()
    """Each plugin's weighted score for the node."""
    runners_up: tuple[tuple[str, Parts], ...] = ()
    """The next best nodes with their `parts`. Empty in most attempts (`RUNNERS_UP_SECONDS`)."""


class Unschedulable(NamedTuple):
    """No node fits. `nominated` names the node where room is being made, if any."""

    diagnosis: Diagnosis
    nominated: Nominated | None = None

    @property
    def message(self) -> str:
        return self.diagnosis.message()


def run(profile: Profile, cycle: Cycle, keep_scores: bool = False) -> Decision | Unschedulable:
    """Decide where the cycle's pod goes."""
    table = cycle.table
    if not len(table):
        raise NoNodesError
    outcome = Filtering(cycle)
    cycle.timer.step("PreFilter")
    filtering.pre_filter(profile, cycle, outcome)
    refused = outcome.diagnosis.pre_filter
    if refused is None:
        cycle.timer.step("Filter")
        nominated = _nominated_row(cycle, outcome)
        if nominated is not None:
            return Decision(table.node(nominated).name, 0, 1, 1)
        feasible = outcome.feasible = filtering.feasible_rows(profile, cycle, outcome)
        if profile.percentage_of_nodes_to_score is not None:
            searched = filtering.searched_rows(cycle, outcome)
            feasible = sample_feasible(profile, cycle, searched, feasible)
        decided = _choose(profile, cycle, outcome, feasible, keep_scores)
        if decided is not None:
            if cycle.timer.detailed:
                tell_verdicts(profile, cycle, outcome)
            return decided
    else:
        outcome.feasible = np.zeros(table.rows, dtype=bool)
    diagnosis = filtering.diagnose(profile, cycle, outcome)
    cycle.timer.step("PostFilter", "Success" if refused is None else refused.code.value)
    if cycle.timer.detailed:
        cycle.timer.verdicts(with_amounts(cycle, folded(diagnosis)))
    return Unschedulable(diagnosis, post_filter(profile, cycle, diagnosis, outcome))


def _nominated_row(cycle: Cycle, outcome: Filtering) -> int | None:
    row = cycle.table.row_of.get(cycle.pod.status.nominated_node_name)
    if row is None or (
        outcome.narrowed is not None and cycle.table.node(row).name not in outcome.narrowed
    ):
        return None
    refused = filtering.refusal_with_nominated_pods(cycle, outcome.active, row)
    if refused is None and cycle.extenders:
        return row if _passes_extenders(cycle, row) else None
    return row if refused is None else None


def _passes_extenders(cycle: Cycle, row: int) -> bool:
    """Whether a nominated row passes. False if an extender fails: then all nodes are filtered."""
    alone = np.zeros(cycle.table.rows, dtype=bool)
    alone[row] = True
    try:
        return bool(extender_calls.filter_by_extenders(cycle, alone, Diagnosis(cycle.table))[row])
    except ExtenderError:
        return False


def _choose(
    profile: Profile,
    cycle: Cycle,
    outcome: Filtering,
    feasible: NDArray[np.bool_],
    keep_scores: bool,
) -> Decision | None:
    """The best of these nodes; None if there are none, or if extenders leave none."""
    table, found = cycle.table, int(np.count_nonzero(feasible))
    if found and cycle.extenders:
        feasible = extender_calls.filter_by_extenders(cycle, feasible, outcome.diagnosis)
        found = int(np.count_nonzero(feasible))
    if not found:
        return None
    if found == 1 and not keep_scores:
        return Decision(table.node(int(feasible.argmax())).name, 0, 1, len(table))
    keep = keep_scores or cycle.timer.detailed
    scored = scoring.run(profile, cycle, feasible, keep, found)
    if cycle.extenders:
        extender_calls.add_extender_scores(cycle, scored, keep)
    position, score = scoring.select_host(scored, cycle)
    if cycle.timer.detailed:
        cycle.timer.scores(best_scores(scored))
    kept = scored if keep_scores else None
    parts = scored.shares_of(position)
    name = scored.nodes.node(position).name
    others = _runners_up(profile, cycle, scored, position)
    return Decision(name, score, found, len(table), kept, parts, others)


def _runners_up(
    profile: Profile, cycle: Cycle, scored: Scoring, position: int
) -> tuple[tuple[str, Parts], ...]:
    if cycle.now - profile.progress.runners_up_told < RUNNERS_UP_SECONDS:
        return ()
    profile.progress.runners_up_told = cycle.now
    found = scoring.runners_up(scored, position, RUNNERS_UP)
    return tuple((scored.nodes.node(each).name, scored.shares_of(each)) for each in found)


def tell_verdicts(profile: Profile, cycle: Cycle, outcome: Filtering) -> None:
    """Report to the timer which plugins refused the infeasible nodes.

    Errors are suppressed: the decision has been made, and a report must not undo it.
    """
    with contextlib.suppress(Exception):
        cycle.timer.verdicts(folded(filtering.diagnose(profile, cycle, outcome)))


def folded(diagnosis: Diagnosis) -> list[tuple[str, str, int]]:
    """(plugin, reason, number of nodes) of each refusal, the most frequent first."""
    found = [(why.plugin, why.message, count) for why, count in diagnosis.counts()]
    return sorted(found, key=lambda each: -each[2])


def best_scores(scored: Scoring) -> list[tuple[str, int, dict[str, int]]]:
    """The best nodes, each with its total and each plugin's weighted score."""
    positions = np.argsort(-scored.totals, kind="stable")[:BEST_TOLD].tolist()
    return [
        (scored.nodes.node(position).name, scored.total(position), scored.of(position))
        for position in positions
    ]


def _is_final(answer: Nominated | Rejection) -> bool:
    """Whether the answer ends PostFilter: it names a node, or says that nothing can be done."""
    if isinstance(answer, Nominated):
        return bool(answer.node)
    return answer.code is Code.UNRESOLVABLE


def post_filter(
    profile: Profile, cycle: Cycle, diagnosis: Diagnosis, outcome: Filtering
) -> Nominated | None:
    """Ask PostFilter plugins to make room; their messages end the diagnosis.

    The nomination of the last plugin that made one, or of the first whose answer is final.
    """
    cycle.refuses = filtering.RowFilters(cycle, outcome.active)
    said: list[str] = []
    nominated: Nominated | None = None
    for name, plugin in cycle.timer.each(profile.post_filter):
        with as_plugin_error(name, "PostFilter"):
            answer = plugin.post_filter(cycle, cycle.pod, diagnosis)
        if answer is None:
            continue
        if _is_final(answer):
            said = [answer.message]
            nominated = answer if isinstance(answer, Nominated) else None
            break
        said.append(answer.message)
        if isinstance(answer, Nominated):
            nominated = answer
    diagnosis.post_filter_message = ", ".join(message for message in said if message)
    cycle.timer.step("", "Success" if nominated and nominated.node else "Unschedulable")
    return nominated
