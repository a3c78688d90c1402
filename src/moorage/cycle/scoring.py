"""Which feasible node is best: PreScore, Score, NormalizeScore, weights, a draw among ties.

A column that holds the same value on every row adds the same to every node: it is normalised as
one number and never added up row by row.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage import kernels
from moorage.api import resource_amounts
from moorage.cache.column_cache import Column, Rule
from moorage.cache.node_view import Nodes
from moorage.cycle.profile import POINT_DISABLED, Profile, ScoreEntry
from moorage.framework.cycle import Cycle
from moorage.framework.draws import NODE
from moorage.framework.plugin_errors import as_plugin_error, end_attempt
from moorage.framework.verdicts import (
    MAX_SCORE,
    MIN_SCORE,
    SKIP,
    PluginError,
    Rejection,
    ScoreRangeError,
)

_LOWEST = -(1 << 62)
Scores = NDArray[np.int64]


class Scoring:
    """Weighted totals of the feasible rows, and each plugin's part in them.

    `parts` maps a plugin to an array (node) or, if all nodes got the same score, to one number.
    `columns` holds (scores of all rows, weight); `totals` cuts them to the feasible rows and adds
    them to `own`, the sum (node) over the feasible nodes. `constant` is what every node got.
    """

    __slots__ = ("columns", "constant", "nodes", "own", "parts", "said", "said_by_row", "said_here")

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.columns: list[tuple[Scores, int]] = []
        self.own: Scores | None = None
        self.constant = 0
        self.parts: dict[str, Scores | int] = {}
        self.said: dict[str, int] = {}
        """Plugin -> weighted score if it is the same on all nodes; else `shares_of` fills it in."""
        self.said_by_row: list[tuple[str, Scores, int]] = []
        self.said_here: list[tuple[str, Scores]] = []

    @property
    def totals(self) -> Scores:
        """The nodes' weighted scores without `constant`.  int64 (node)"""
        for values, weight in self.columns:
            part = values[self.nodes.rows]
            self.add(part if weight == 1 else part * weight)
        self.columns = []
        if self.own is None:
            self.own = np.zeros(self.nodes.count, dtype=np.int64)
        return self.own

    def add(self, part: Scores) -> None:
        """Add scores of the feasible nodes.  int64 (node)"""
        self.own = part if self.own is None else self.own + part

    def add_column(self, name: str, column: Column, weight: int) -> None:
        """Add a plugin's scores of all rows."""
        if column.is_zero or column.is_uniform:
            alike = self.said[name] = column.values.item(0) * weight
            self.constant += alike
        else:
            self.said[name] = 0
            self.said_by_row.append((name, column.values, weight))
            self.columns.append((column.values, weight))

    def total(self, position: int) -> int:
        return int(self.totals[position]) + self.constant

    def shares_of(self, position: int) -> tuple[tuple[str, int], ...]:
        """Each plugin's weighted score for one node.

        Call it before the columns change: it reads them, and they are not copies.
        """
        found = self.said
        if self.said_by_row:
            rows = self.nodes.rows
            row = position if isinstance(rows, slice) else rows.item(position)
            for name, values, weight in self.said_by_row:
                found[name] = values.item(row) * weight
        for name, part in self.said_here:
            found[name] = part.item(position)
        return tuple(found.items())

    def of(self, position: int) -> dict[str, int]:
        """Each plugin's weighted score for one node, from the `parts` that were kept."""
        return {
            name: part if isinstance(part, int) else int(part[position])
            for name, part in self.parts.items()
        }


def run(
    profile: Profile,
    cycle: Cycle,
    feasible: NDArray[np.bool_],
    keep: bool = False,
    found: int | None = None,
) -> Scoring:
    """Score the feasible rows, of which there are `found`.

    With `keep`, each plugin's part is kept for explanation.
    """
    nodes = _view(cycle, feasible, found)
    outcome = Scoring(nodes)
    cycle.timer.step("PreScore")
    entries = active(profile, cycle, nodes)
    cycle.timer.step("Score")
    raw_counts = not keep and cycle.table.is_ordinary and cycle.incoming.cls.is_ordinary
    for entry in cycle.timer.each(entries):
        rule = entry.plain_rule if raw_counts else None
        column = None if rule is None else _column(profile, cycle, entry, rule)
        if column is not None:
            outcome.add_column(entry.name, column, entry.weight)
            continue
        part = _weighted(profile, cycle, entry, nodes)
        if isinstance(part, int):
            outcome.said[entry.name] = part
            outcome.constant += part
        else:
            outcome.said[entry.name] = 0
            outcome.said_here.append((entry.name, part))
            outcome.add(part)
        if keep:
            outcome.parts[entry.name] = part if isinstance(part, int) else part.copy()
    return outcome


def _column(profile: Profile, cycle: Cycle, entry: ScoreEntry, rule: Rule) -> Column | None:
    """The kept column of scores; None if the plugin does not sign this pod."""
    try:
        sign = entry.plugin.sign(cycle)
        if sign is None:
            return None
        return profile.columns.get(rule, sign, cycle.table, cycle, cycle.pod)
    except Exception as error:
        end_attempt(entry.name, "Score", error)


def _view(cycle: Cycle, feasible: NDArray[np.bool_], found: int | None) -> Nodes:
    table = cycle.table
    if found == table.rows:
        return Nodes.all(table)
    rows = feasible.nonzero()[0]
    return Nodes.all(table) if len(rows) == table.rows else Nodes(table, rows)


def active(profile: Profile, cycle: Cycle, nodes: Nodes) -> list[ScoreEntry]:
    """Run the PreScore plugins; the Score plugins that they did not skip."""
    if profile.unscorable is not None:
        name, lacking = profile.unscorable
        raise PluginError(name, "Score", POINT_DISABLED.format(lacking))
    plan = profile.plan(cycle.incoming)
    skipped: set[str] = set()
    pod, name = cycle.pod, ""
    try:
        for name, plugin in cycle.timer.each(plan.pre_score):
            answer = plugin.pre_score(cycle, pod, nodes)
            if answer is SKIP:
                skipped.add(name)
            elif isinstance(answer, Rejection):
                raise PluginError(name, "PreScore", answer.message)
    except Exception as error:
        end_attempt(name, "PreScore", error)
    return [entry for entry in plan.score if entry.name not in skipped]


def _weighted(profile: Profile, cycle: Cycle, entry: ScoreEntry, nodes: Nodes) -> Scores | int:
    raw = _raw(profile, cycle, entry, nodes)
    ordinary = cycle.table.is_ordinary and cycle.incoming.cls.is_ordinary
    checked = entry.checked or not ordinary
    if isinstance(raw, int):
        if not entry.normalizes and not checked:
            return raw * entry.weight
        if entry.levels is not None and raw in entry.levels:
            return entry.levels[raw]
        scores = np.full(1, raw, dtype=np.int64)
    else:
        scores = raw
    if entry.normalizes:
        if scores.base is not None or not scores.flags.owndata:
            scores = scores.copy()
        with as_plugin_error(entry.name, "NormalizeScore"):
            entry.plugin.normalize(cycle, cycle.pod, nodes, scores)
    if checked:
        _check(cycle, entry, scores)
    if isinstance(raw, int):
        level = int(scores[0]) * entry.weight
        if entry.levels is not None:
            entry.levels[raw] = level
        return level
    return scores * entry.weight if entry.weight != 1 else scores


def _raw(profile: Profile, cycle: Cycle, entry: ScoreEntry, nodes: Nodes) -> Scores | int:
    """The raw scores (node), or one number if all rows of a kept column are equal.

    An array from a kept column may be a view of that column: callers must not write to it.
    """
    if not entry.vector:
        return _scalar(cycle, entry, nodes)
    column = None if entry.rule is None else _column(profile, cycle, entry, entry.rule)
    if column is not None:
        if column.is_zero or column.is_uniform:
            return column.values.item(0)  # type: ignore[no-any-return]  # int64
        values: Scores = column.values[nodes.rows]
        return values
    out = np.zeros(nodes.count, dtype=np.int64)
    try:
        entry.plugin.score_all(cycle, cycle.pod, nodes, out)
    except Exception as error:
        end_attempt(entry.name, "Score", error)
    return out


def _scalar(cycle: Cycle, entry: ScoreEntry, nodes: Nodes) -> Scores:
    asked = [nodes.node(position) for position in range(nodes.count)]
    with as_plugin_error(entry.name, "Score"):
        answers = entry.plugin.score_each(cycle, cycle.pod, asked)
    for answer in answers:
        if type(answer) is not int:
            raise PluginError(entry.name, "Score", f"answered {answer!r}, not an int")
        if not -(2**63) <= answer < 2**63:
            raise PluginError(entry.name, "Score", f"answered {answer}, beyond 64 bits")
    return np.array(answers, dtype=np.int64)


def _check(cycle: Cycle, entry: ScoreEntry, scores: Scores) -> None:
    wrong = (scores < MIN_SCORE) | (scores > MAX_SCORE)
    if wrong.any():
        found = int(scores[np.flatnonzero(wrong)[0]])
        raise ScoreRangeError(
            entry.name,
            "Score",
            f"returned the score {found}; scores must be {MIN_SCORE} to {MAX_SCORE} "
            f"after normalisation{_likely_cause(cycle)}",
        )


def _likely_cause(cycle: Cycle) -> str:
    """A hint that requests overflow 64 bits, as in kube-scheduler; empty if none does."""
    wrong = resource_amounts.uncountable_requests(cycle.pod)
    if not wrong:
        return ""
    asked = ", ".join(f"{amount} of {name}" for name, amount in sorted(wrong.items()))
    return f"; likely because the pod requests {asked}, which 64 bits cannot count"


def best_positions(scoring: Scoring) -> NDArray[np.intp]:
    """Positions of the nodes with the highest total."""
    totals = scoring.totals
    return np.flatnonzero(totals == totals.max())


def runners_up(scoring: Scoring, position: int, count: int) -> list[int]:
    """Positions of the next best nodes after the one at `position`, the best first."""
    totals, found = scoring.totals.copy(), list[int]()
    for _ in range(min(count, len(totals) - 1)):
        totals[position] = _LOWEST
        position = int(totals.argmax())
        found.append(position)
    return found


IN_ORDER: Final = "ties in order"
"""Key in `cycle.state`: if present, ties are broken by taking the first node."""


def select_host(scoring: Scoring, cycle: Cycle) -> tuple[int, int]:
    """One of the best nodes, each equally likely: its position, and its total."""
    whole = scoring.nodes.is_contiguous
    if not (scoring.columns and (whole or scoring.own is None)):
        return _pick_of_totals(scoring, cycle)
    # two compiled passes, without materialising the sum of the columns
    own = () if scoring.own is None else ((scoring.own, 1),)
    columns = (*scoring.columns, *own)
    rows = None if whole else scoring.nodes.rows
    found = kernels.run("highest", columns, rows)
    if found is None:
        return _pick_of_totals(scoring, cycle)
    total, tied = found
    chosen = _pick(cycle, tied)
    position = kernels.run("nth_of", columns, rows, total, chosen)
    if position is None:
        position = int(best_positions(scoring)[chosen])
    return position, total + scoring.constant


def _pick_of_totals(scoring: Scoring, cycle: Cycle) -> tuple[int, int]:
    tied = best_positions(scoring)
    position = int(tied[_pick(cycle, len(tied))])
    return position, scoring.total(position)


def _pick(cycle: Cycle, tied: int) -> int:
    """Which of so many equally good nodes is taken."""
    return 0 if tied == 1 or IN_ORDER in cycle.state else cycle.draw(NODE, tied)
