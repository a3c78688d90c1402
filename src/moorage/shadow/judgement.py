"""One decision of another scheduler, judged on the cluster as it was just before."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cycle import scoring
from moorage.explain.world import Question, World
from moorage.framework.verdicts import SchedulingError


class Agreement(StrEnum):
    """How another scheduler's decision compares with ours."""

    SAME = "same"
    """It chose the node that is best here, too."""
    TIED = "tied"
    """It chose one of several nodes that are equally good here: ties are broken at random."""
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
    FAILED = "failed"
    """A plugin failed here; nothing can be said."""


AGREEING = frozenset({Agreement.SAME, Agreement.TIED, Agreement.BOTH_PENDING})


class Verdict(NamedTuple):
    """How a decision compares; the fields are those of `Judgement`."""

    agreement: Agreement
    best: str = ""
    ties: int = 0
    given_up: int = 0
    by_plugin: Mapping[str, int] = {}
    reason: str = ""


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one configuration says of one decision.

    `best` is the node it prefers, one of `ties` that are equally good. `given_up` is how many
    points of its score the chosen node has less, `by_plugin` whose points they are; plugins that
    like the chosen node better are negative.
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
    """It agrees only if pods that were on their way to a node are counted there, or are not."""

    @property
    def agrees(self) -> bool:
        """Whether this configuration might have decided the same."""
        return self.agreement in AGREEING


def judge(world: World, configuration: str, pod: Pod, node: str) -> Judgement:
    """Judge the choice of a node; of none, where another scheduler says that the pod fits nowhere.

    The pod is counted nowhere yet, and nothing that is asked here leaves a trace.
    """
    try:
        question = world.question(pod)
        feasible = question.feasible()
        judged = _pending(question, feasible) if not node else _placed(question, feasible, node)
    except SchedulingError as error:
        judged = Verdict(Agreement.FAILED, reason=str(error))
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
    """The node that is taken without scoring, for room was made for the pod there."""
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
