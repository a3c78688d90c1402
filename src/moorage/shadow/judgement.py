"""One decision of another scheduler, judged on the cluster as it was just before it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cycle import attempt, scoring
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.explain.world import Question, World
from moorage.framework.cycle import Cycle
from moorage.framework.draws import CANDIDATE, Purpose
from moorage.framework.verdicts import SchedulingError


class Agreement(StrEnum):
    """How another scheduler's decision compares with ours."""

    SAME = "same"
    """It chose the node that is best here, too."""
    TIED = "tied"
    """It chose one of several nodes that are equally good here: ties are drawn."""
    WORSE = "worse"
    """It chose a node that scores less here than another."""
    REFUSED = "refused"
    """It chose a node that is not feasible here, where others are."""
    UNPLACED = "unplaced"
    """It placed a pod for which no node is feasible here."""
    BOTH_PENDING = "both-pending"
    """It found no node, and there is none here."""
    WOULD_PLACE = "would-place"
    """It found no node, and here one is feasible."""
    PREEMPTS = "preempts"
    """It nominated the node that would be nominated here."""
    PREEMPTS_ELSEWHERE = "preempts-elsewhere"
    """It nominated a node; here another node would be nominated, or none."""
    FAILED = "failed"
    """A plugin failed here; the decision cannot be judged."""


MOST_TIES: Final = 32
"""How many equally good nodes for preemption are tried."""
AGREEING: Final = frozenset(
    {Agreement.SAME, Agreement.TIED, Agreement.BOTH_PENDING, Agreement.PREEMPTS}
)


class Verdict(NamedTuple):
    """How a decision compares; the fields are those of `Judgement`."""

    agreement: Agreement
    best: str = ""
    ties: int = 0
    given_up: int = 0
    by_plugin: Mapping[str, int] = {}
    reason: str = ""


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The judgement of one configuration about one decision.

    `best` is the node it prefers, one of `ties` equally good nodes. `given_up` is the score of
    `best` less that of the chosen node, and `by_plugin` is the same by plugin; it is negative for a
    plugin that scores the chosen node higher.
    """

    configuration: str
    pod: str
    scheduler: str
    time: float
    agreement: Agreement
    node: str = ""
    best: str = ""
    ties: int = 0
    given_up: int = 0
    by_plugin: Mapping[str, int] = {}
    reason: str = ""
    in_flight: bool = False
    """It agrees only on a state with other pods in flight (see `moorage.shadow.in_flight`)."""

    @property
    def agrees(self) -> bool:
        """Whether this configuration could have made the same decision."""
        return self.agreement in AGREEING


def judge(world: World, configuration: str, pod: Pod, node: str) -> Judgement:
    """Judge the choice of a node; an empty `node` means that the other scheduler found none.

    The pod must not be counted on any node yet. The cache is not changed.
    """
    try:
        question = world.question(pod)
        feasible = question.feasible()
        judged = _pending(question, feasible) if not node else _placed(question, feasible, node)
    except SchedulingError as error:
        judged = Verdict(Agreement.FAILED, reason=str(error))
    return _judgement(world, configuration, pod, node, judged)


def judge_preemption(world: World, configuration: str, pod: Pod, node: str) -> Judgement | None:
    """Judge the nomination of a node, with the victims still on it.

    None if the pod fits without victims, because the cluster has changed since.
    """
    ties = _Ties()
    judged: Verdict | None = None
    try:
        while judged is None or (judged.best != node and ties.next()):
            found = _attempted(world, pod, ties)
            if isinstance(found, Decision):
                return None
            judged = _made_room(found, node)
    except SchedulingError as error:
        judged = Verdict(Agreement.FAILED, reason=str(error))
    return _judgement(world, configuration, pod, node, judged)


class _Ties:
    """The equally good nodes for preemption, one on each try."""

    def __init__(self) -> None:
        self.chosen = 0
        self.tied = 1

    def next(self) -> bool:
        """Take another node from now on; False if all were taken."""
        self.chosen += 1
        return self.chosen < min(self.tied, MOST_TIES)


class _TiedCycle(Cycle):
    """Takes the node whose turn it is."""

    __slots__ = ("ties",)
    ties: _Ties

    def draw(self, what: Purpose, stop: int) -> int:
        if what != CANDIDATE:
            return 0
        self.ties.tied = stop
        return self.ties.chosen % stop


def _attempted(world: World, pod: Pod, ties: _Ties) -> Decision | Unschedulable:
    profile, info = world.profile_of(pod), world.cache.info(pod)
    cycle = _TiedCycle(world.cache, info, now=world.now, shared=profile.shared)
    cycle.ties = ties
    return attempt.run(profile, cycle)


def _made_room(found: Unschedulable, node: str) -> Verdict:
    own = found.nominated.node if found.nominated is not None else ""
    if own == node:
        return Verdict(Agreement.PREEMPTS, own, 1)
    return Verdict(Agreement.PREEMPTS_ELSEWHERE, own, int(bool(own)), reason=found.message)


def _judgement(world: World, configuration: str, pod: Pod, node: str, judged: Verdict) -> Judgement:
    return Judgement(
        configuration=configuration,
        pod=pod.key,
        scheduler=pod.spec.scheduler_name,
        time=world.now,
        node=node,
        agreement=judged.agreement,
        best=judged.best,
        ties=judged.ties,
        given_up=judged.given_up,
        by_plugin=judged.by_plugin,
        reason=judged.reason,
    )


def _pending(question: Question, feasible: NDArray[np.bool_]) -> Verdict:
    if not feasible.any():
        return Verdict(Agreement.BOTH_PENDING, reason=question.diagnosis_message())
    best, ties = _best(question, feasible)
    return Verdict(Agreement.WOULD_PLACE, best, ties)


def _placed(question: Question, feasible: NDArray[np.bool_], node: str) -> Verdict:
    if _nominated(question) == node:
        return Verdict(Agreement.SAME, node, 1)
    if not feasible.any():
        return Verdict(Agreement.UNPLACED, reason=question.diagnosis_message())
    row = question.cycle.table.row_of.get(node)
    if row is not None and feasible[row]:
        return _compared(question, feasible, row)
    best, ties = _best(question, feasible)
    why = None if row is None else question.refusal(row)
    reason = "the node is not known" if why is None else f"{why.plugin}: {why.message}"
    return Verdict(Agreement.REFUSED, best, ties, reason=reason)


def _nominated(question: Question) -> str:
    """The nominated node of the pod, which is taken without scoring if it is feasible."""
    name = question.cycle.pod.status.nominated_node_name
    row = question.cycle.table.row_of.get(name)
    return name if row is not None and question.refusal(row) is None else ""


def _best(question: Question, feasible: NDArray[np.bool_]) -> tuple[str, int]:
    scored = scoring.run(question.profile, question.cycle, feasible)
    best = scoring.best_positions(scored)
    return scored.nodes.node(int(best[0])).name, len(best)


def _compared(question: Question, feasible: NDArray[np.bool_], row: int) -> Verdict:
    scored = scoring.run(question.profile, question.cycle, feasible)
    totals, best = scored.totals, scoring.best_positions(scored)
    own = int(np.count_nonzero(feasible[:row]))
    first = int(best[0])
    if totals[own] == totals[first]:
        agreement = Agreement.SAME if len(best) == 1 else Agreement.TIED
        return Verdict(agreement, scored.nodes.node(own).name, len(best))
    theirs = dict(scored.shares_of(own))
    lost = {name: points - theirs[name] for name, points in scored.shares_of(first)}
    lost = {name: points for name, points in lost.items() if points}
    given_up = int(totals[first] - totals[own])
    return Verdict(Agreement.WORSE, scored.nodes.node(first).name, len(best), given_up, lost)
