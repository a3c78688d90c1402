"""The victims of many rows at once, where nothing but resources decides who has to leave.

The same steps as a trial, one victim of every row at a time: the most important comes back on all
rows, the rule about resources says on which of them the pod still fits, then the next one comes.

A verdict holds for equal pods until the row changes, unless other pods were promised the row.
"""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.disruption_budgets import Budgets
from moorage.cycle import promised_rows
from moorage.cycle.promised_rows import Amounts, Rows, Usage
from moorage.framework.points import Filter
from moorage.preemption.imagined_rows import Ground
from moorage.preemption.kept import RankedRow
from moorage.preemption.reprieve import conclude, reprieve_order
from moorage.preemption.victims import Verdict

Mask = NDArray[np.bool_]


class Lineup(NamedTuple):
    """The victims of a row, who of them a budget protects, and the order to come back in."""

    row: RankedRow
    violating: list[bool]
    order: list[int] | None = None


def dry_run(ground: Ground, rows: Rows) -> list[Verdict]:
    """Who must leave each row; equal to a trial of each."""
    budgets = ground.kept.budgets(ground.cycle)
    known = ground.kept.verdicts(_sign(ground))
    crowded = _crowded(ground, rows)
    asked = rows.tolist()
    new = [row for row in asked if row in crowded or row not in known]
    fresh = _fresh(ground, new, budgets)
    known.update({row: verdict for row, verdict in fresh.items() if row not in crowded})
    return [fresh[row] if row in fresh else known[row] for row in asked]


def _sign(ground: Ground) -> Hashable:
    """What of the pod a verdict depends on."""
    cycle = ground.cycle
    return cycle.incoming.priority, *(plugin.sign(cycle) for plugin in _resource_rules(ground))


def _resource_rules(ground: Ground) -> list[Filter]:
    return [plugin for plugin in ground.rules.imaginable if promised_rows.reads_sums(plugin)]


def _crowded(ground: Ground, rows: Rows) -> set[int]:
    """Rows promised to other pods: that may end without a change of the row."""
    if ground.promised is None:
        return set()
    return set(rows[ground.promised.pods[rows] > 0].tolist())


def _fresh(ground: Ground, rows: list[int], budgets: Budgets) -> dict[int, Verdict]:
    if not rows:
        return {}
    priority = ground.cycle.incoming.priority
    lineups = [_line_up(ground.kept.ranked(row, priority), budgets) for row in rows]
    evicted = _reprieve(ground, np.asarray(rows, dtype=np.intp), *_stack(lineups))
    steps: list[list[int]] = [[] for _ in rows]
    for place, step in zip(*(axis.tolist() for axis in np.nonzero(evicted.T)), strict=True):
        steps[place].append(step)
    return {
        row: _conclude(ground.cycle.table.node(row).name, lineup, gone)
        for row, lineup, gone in zip(rows, lineups, steps, strict=True)
    }


def _line_up(row: RankedRow, budgets: Budgets) -> Lineup:
    violating = budgets.violated_by(row.ranking.infos) if budgets else []
    return Lineup(row, violating, reprieve_order(violating) if any(violating) else None)


def _stack(lineups: list[Lineup]) -> tuple[Amounts, Mask]:
    """int64 (victim, resource, row) and bool (victim, row): who comes back at which step."""
    longest = max(len(lineup.row.amounts) for lineup in lineups)
    height = lineups[0].row.amounts.shape[1]
    amounts = np.zeros((longest, height, len(lineups)), dtype=np.int64)
    present = np.zeros((longest, len(lineups)), dtype=bool)
    for place, ((_, _, asked), _, order) in enumerate(lineups):
        amounts[: len(asked), :, place] = asked if order is None else asked[order]
        present[: len(asked), place] = True
    return amounts, present


def _reprieve(ground: Ground, rows: Rows, amounts: Amounts, present: Mask) -> Mask:
    """bool (victim, row): who has to leave for good."""
    resource_rules = _resource_rules(ground)
    usage = ground.emptied(rows)
    evicted = np.zeros_like(present)
    for step, here in enumerate(present):
        back = usage.plus(Usage(here.astype(np.int64), amounts[step]))
        stays = here.copy()
        for plugin in resource_rules:
            stays &= promised_rows.codes(ground.cycle, plugin, rows, back, ground.promised) == 0
        usage = Usage(
            np.where(stays, back.pods, usage.pods),
            np.where(stays, back.requested, usage.requested),
        )
        evicted[step] = here & ~stays
    return evicted


def _conclude(node: str, lineup: Lineup, steps: list[int]) -> Verdict:
    ranking, order = lineup.row.ranking, lineup.order
    evicted = steps if order is None else [order[step] for step in steps]
    return conclude(node, ranking, lineup.violating or [False] * len(ranking.infos), evicted)
