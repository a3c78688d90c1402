"""Which feasible node is best: PreScore, Score, NormalizeScore, times weight, summed.

A column that holds the same value on every row adds the same to every node: it is normalised as
one number and never added up row by row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.cache.columns import Depends
from moorage.cache.view import Nodes
from moorage.cycle.guarding import guard
from moorage.cycle.profile import Profile, ScoreEntry
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import MAX_SCORE, MIN_SCORE, SKIP, PluginError, Rejection

Scores = NDArray[np.int64]


class Scoring:
    """Weighted totals of the feasible rows, and each plugin's part in them.

    `parts` maps a plugin to an array (node) or, where all nodes got the same, to one number.
    """

    __slots__ = ("constant", "nodes", "parts", "totals")

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.totals: Scores = np.zeros(nodes.count, dtype=np.int64)
        self.constant = 0
        self.parts: dict[str, Scores | int] = {}

    def total(self, position: int) -> int:
        return int(self.totals[position]) + self.constant

    def of(self, position: int) -> dict[str, int]:
        """Each plugin's weighted score for one node."""
        return {
            name: part if isinstance(part, int) else int(part[position])
            for name, part in self.parts.items()
        }


def run(profile: Profile, cycle: Cycle, feasible: NDArray[np.bool_], keep: bool = False) -> Scoring:
    """Score the feasible rows. With `keep`, each plugin's part is kept for explanation."""
    nodes = _view(cycle, feasible)
    outcome = Scoring(nodes)
    for entry in active(profile, cycle, nodes):
        part = _weighted(profile, cycle, entry, nodes)
        if isinstance(part, int):
            outcome.constant += part
        else:
            outcome.totals += part
        if keep:
            outcome.parts[entry.name] = part
    return outcome


def _view(cycle: Cycle, feasible: NDArray[np.bool_]) -> Nodes:
    rows = np.flatnonzero(feasible)
    table = cycle.table
    return Nodes.all(table) if len(rows) == table.rows else Nodes(table, rows)


def active(profile: Profile, cycle: Cycle, nodes: Nodes) -> list[ScoreEntry]:
    """Run PreScore plugins; the Score plugins that did not bow out."""
    skipped: set[str] = set()
    for name, plugin in profile.pre_score:
        with guard(name, "PreScore"):
            answer = plugin.pre_score(cycle, cycle.pod, nodes)
        if answer is SKIP:
            skipped.add(name)
        elif isinstance(answer, Rejection):
            raise PluginError(name, "PreScore", answer.message)
    return [entry for entry in profile.score if entry.name not in skipped]


def _weighted(profile: Profile, cycle: Cycle, entry: ScoreEntry, nodes: Nodes) -> Scores | int:
    raw = _raw(profile, cycle, entry, nodes)
    scores = np.full(1, raw, dtype=np.int64) if isinstance(raw, int) else raw
    with guard(entry.name, "NormalizeScore"):
        entry.plugin.normalize(cycle, cycle.pod, nodes, scores)
    if entry.checked:
        _check(entry, scores)
    scores *= entry.weight
    return int(scores[0]) if isinstance(raw, int) else scores


def _raw(profile: Profile, cycle: Cycle, entry: ScoreEntry, nodes: Nodes) -> Scores | int:
    """A fresh array (node), or one number where the column is uniform."""
    if not entry.vector:
        return _scalar(cycle, entry, nodes)
    plugin = entry.plugin

    def compute(some: Nodes, out: NDArray[Any]) -> None:
        with guard(entry.name, "Score"):
            plugin.score_all(cycle, cycle.pod, some, out)

    with guard(entry.name, "Score"):
        sign = plugin.sign(cycle)
    if sign is None or plugin.depends & Depends.EVERYTHING:
        out = np.zeros(nodes.count, dtype=np.int64)
        compute(nodes, out)
        return out
    key = ("score", entry.name, sign)
    column = profile.columns.get(cycle.table, key, plugin.depends, np.int64, compute)
    if column.uniform:
        return int(column.values[0])
    values: Scores = column.values[nodes.rows]
    return values.copy() if isinstance(nodes.rows, slice) else values


def _scalar(cycle: Cycle, entry: ScoreEntry, nodes: Nodes) -> Scores:
    scores = np.zeros(nodes.count, dtype=np.int64)
    for position in range(nodes.count):
        with guard(entry.name, "Score"):
            answer = entry.plugin.score(cycle, cycle.pod, nodes.node(position))
        if not isinstance(answer, int) or isinstance(answer, bool):
            raise PluginError(entry.name, "Score", f"answered {answer!r}, not an int")
        if not -(2**63) <= answer < 2**63:
            raise PluginError(entry.name, "Score", f"answered {answer}, beyond 64 bits")
        scores[position] = answer
    return scores


def _check(entry: ScoreEntry, scores: Scores) -> None:
    wrong = (scores < MIN_SCORE) | (scores > MAX_SCORE)
    if wrong.any():
        found = int(scores[np.flatnonzero(wrong)[0]])
        raise PluginError(
            entry.name,
            "Score",
            f"returned the score {found}; scores must be {MIN_SCORE} to {MAX_SCORE} "
            "after normalisation",
        )
