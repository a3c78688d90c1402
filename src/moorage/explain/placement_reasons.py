"""Why a pod goes where it goes: scores by plugin, the runner-up, and who decided it."""

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cycle import scoring
from moorage.cycle.scoring import Scoring
from moorage.explain.world import Question


class PlacementReasons(NamedTuple):
    """The scores of the best nodes and of the chosen one, and the plugins that decided.

    Without one of the plugins in `decided_by`, another node would have been better. `margin` is
    the score of the chosen node less that of the runner-up; it is negative if another node is
    better now.
    """

    runner_up: str
    margin: int
    scores: dict[str, dict[str, int]]
    decided_by: tuple[str, ...]


def placement_reasons(question: Question, node: str, best: int = 5) -> PlacementReasons:
    """Explain the choice of a node; the pod itself must not be counted on any node."""
    feasible = question.feasible()
    row = question.cycle.table.row_of.get(node)
    if row is not None and not feasible[row]:
        feasible = feasible.copy()
        feasible[row] = True
    if not feasible.any():  # its node is gone, and no other would take it
        return PlacementReasons("", 0, {}, ())
    scored = scoring.run(question.profile, question.cycle, feasible, keep=True)
    own = None if row is None else int(np.flatnonzero(scored.nodes.index == row)[0])
    others = _best(scored, own, best)
    shown = others if own is None else [own, *others]
    margin = int(scored.totals[own] - scored.totals[others[0]]) if own is not None and others else 0
    deciding = (*_deciding_scores(scored, own), *_deciding_filters(question, feasible, node))
    return PlacementReasons(
        _name(scored, others[0]) if others else "",
        margin,
        {_name(scored, position): scored.of(position) for position in shown},
        tuple(dict.fromkeys(deciding)),
    )


def _best(scored: Scoring, own: int | None, count: int) -> list[int]:
    """The positions of the best nodes except the chosen one; ties are sorted by name."""
    totals = scored.totals
    if not len(totals):
        return []
    rank = max(0, len(totals) - count - 1)
    least = np.partition(totals, rank)[rank]
    near = [int(position) for position in np.flatnonzero(totals >= least) if position != own]
    return heapq.nsmallest(count, near, key=lambda p: (-int(totals[p]), _name(scored, p)))


def _name(scored: Scoring, position: int) -> str:
    return scored.nodes.node(position).name


def _deciding_scores(scored: Scoring, own: int | None) -> list[str]:
    """Score plugins without which another node would have been better."""
    if own is None or scored.nodes.count < 2:
        return []
    found = []
    for name, part in scored.parts.items():
        if isinstance(part, int):
            continue
        without = scored.totals - part
        if without[own] < without.max():
            found.append(name)
    return found


def _deciding_filters(question: Question, feasible: NDArray[np.bool_], node: str) -> list[str]:
    """Filter plugins that are the only one to refuse a node that would have been better."""
    refusing = {entry.name: question.refusing(entry) for entry in question.asked}
    refusing = {name: rows for name, rows in refusing.items() if rows.any()}
    if not refusing:
        return []
    counts = np.sum(list(refusing.values()), axis=0)
    found = []
    for name, rows in refusing.items():
        alone = rows & (counts == 1) & question.searched & ~feasible
        if alone.any() and not _stays_best(question, feasible | alone, node):
            found.append(name)
    return found


def _stays_best(question: Question, feasible: NDArray[np.bool_], node: str) -> bool:
    scored = scoring.run(question.profile, question.cycle, feasible, keep=True)
    best = scoring.best_positions(scored)
    return any(scored.nodes.node(int(position)).name == node for position in best)
