"""Candidate nodes for preemption: which are tried, and when enough are found.

1. Only rows refused as Unschedulable: on the others no eviction helps.
2. The walk over them starts at a drawn row, so that no node is always the first to lose pods.
3. It ends when there are enough candidates and one of them violates no budget.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from moorage.cycle import promised_rows
from moorage.cycle.promised_rows import Rows
from moorage.framework import eviction
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.draws import FIRST_CANDIDATE
from moorage.framework.points import Filter
from moorage.framework.verdicts import Code, Rejection
from moorage.preemption import columnwise, imagined_rows, kept, reprieve
from moorage.preemption.eligibility import Explanation
from moorage.preemption.imagined_rows import Ground, Mask
from moorage.preemption.victims import NO_VICTIMS, Verdict, Victims


def promising(ground: Ground, rows: Rows, explanation: Explanation) -> Rows:
    """The rows where evictions may help, in the order given; refusals of others are recorded."""
    bare = ground.lower.pods[rows] == 0
    explanation.refuse(rows[bare], NO_VICTIMS)
    return _accepted(ground, ground.rules.leading, rows[~bare], explanation)


def _accepted(
    ground: Ground, plugins: Iterable[Filter], rows: Rows, explanation: Explanation
) -> Rows:
    """The rows that none of the plugins refuses once all pods of lower priority are gone."""
    cycle = ground.cycle
    for plugin in plugins:
        if not len(rows):
            break
        codes = promised_rows.codes(cycle, plugin, rows, ground.emptied(rows), ground.promised)
        refused = codes != 0
        explanation.refuse_by(cycle, plugin, rows[refused], codes[refused])
        rows = rows[~refused]
    return rows


_LATER_CHUNK = 64


class Search:
    """What a walk has found so far; candidates that violate no budget come first."""

    def __init__(self, cycle: Cycle) -> None:
        self._table = cycle.table
        self._gentle: dict[str, Victims] = {}
        self._violating: dict[str, Victims] = {}
        self.explanation = Explanation(cycle.table)
        self.errors: list[str] = []

    @property
    def found(self) -> dict[str, Victims]:
        return {**self._gentle, **self._violating}

    def add(self, row: int, verdict: Verdict, wanted: int) -> None:
        if isinstance(verdict, Victims):
            target = self._violating if verdict.violations else self._gentle
            if len(target) < wanted:
                target[self._table.node(row).name] = verdict
        elif isinstance(verdict, Rejection):
            self.explanation.refuse_one(row, verdict)
        else:
            self.errors.append(str(verdict))

    def is_over(self, wanted: int) -> bool:
        return bool(self._gentle) and len(self._gentle) + len(self._violating) >= wanted


def enough(nodes: int, percentage: int, absolute: int) -> int:
    """How many candidates end the search (kube's calculateNumCandidates)."""
    return min(max(nodes * percentage // 100, absolute), nodes)


def find(cycle: Cycle, diagnosis: Diagnosis, percentage: int, absolute: int) -> Search:
    """As many candidates as kube-scheduler would look for."""
    rows = diagnosis.rows_with(Code.UNSCHEDULABLE)
    if len(rows):
        rows = np.roll(rows, -cycle.draw(FIRST_CANDIDATE, len(rows)))
    return _search(cycle, rows, enough(len(rows), percentage, absolute))


def find_all(cycle: Cycle, diagnosis: Diagnosis) -> Search:
    """Every candidate there is."""
    rows = diagnosis.rows_with(Code.UNSCHEDULABLE)
    return _search(cycle, rows, len(rows))


def _search(cycle: Cycle, rows: Rows, wanted: int) -> Search:
    search = Search(cycle)
    if not len(rows):
        return search
    known = kept.of(cycle)
    try:
        for row, verdict in _verdicts(imagined_rows.survey(cycle, known), rows, wanted, search):
            search.add(row, verdict, wanted)
            if search.is_over(wanted):
                break
    finally:
        known.pass_over()
    return search


def _verdicts(on: Ground, rows: Rows, wanted: int, search: Search) -> Iterator[tuple[int, Verdict]]:
    """The verdict of a dry run on each row where evictions may help, in order."""
    if eviction.evictable(on.cycle) is None:
        rows = promising(on, rows, search.explanation)
    if not len(rows):
        return
    at_once = np.zeros(len(rows), dtype=bool)
    if eviction.is_by_priority(on.cycle):
        at_once = on.without_trial(rows)
        left = _accepted(on, on.rules.later, rows[at_once], search.explanation)
        stays = ~at_once | np.isin(rows, left)
        rows, at_once = rows[stays], at_once[stays]
    start, size = 0, max(wanted, _LATER_CHUNK)
    while start < len(rows):
        chunk = slice(start, start + size)
        yield from _try_chunk(on, rows[chunk], at_once[chunk])
        start, size = start + size, _LATER_CHUNK


def _try_chunk(on: Ground, rows: Rows, at_once: Mask) -> Iterator[tuple[int, Verdict]]:
    """The verdicts on some rows, in order; trials run lazily, one row at a time."""
    together = rows[at_once]
    known = dict(zip(together.tolist(), columnwise.dry_run(on, together), strict=True))
    for row in rows.tolist():
        verdict = known.get(row)
        if verdict is None:
            verdict = reprieve.dry_run(on.cycle, row, on.kept.budgets(on.cycle))
        yield row, verdict


def least_harmful(candidates: Mapping[str, Victims]) -> list[str]:
    """The nodes with the least cost; of several kube-scheduler takes any."""
    if not candidates:
        return []
    costs = [victims.cost for victims in candidates.values()]
    least = min(costs)
    return [name for name, cost in zip(candidates, costs, strict=True) if cost == least]
