"""The victims of many rows at once, if only resources decide which pods must leave.

The steps are those of a trial, for one victim of every row at a time: the most important victim of
each row comes back, NodeResourcesFit says on which rows the pod still fits, then the next victims
follow.

A verdict holds for equal pods until the row changes, unless other pods are nominated to the row.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.disruption_budgets import Budgets
from moorage.cycle import promised_rows
from moorage.cycle.promised_rows import Amounts, Rows, Usage
from moorage.framework import eviction
from moorage.framework.eviction import LocalUnit
from moorage.framework.points import Filter
from moorage.preemption import reprieve, unit_victims
from moorage.preemption.imagined_rows import Ground
from moorage.preemption.kept import RankedRow
from moorage.preemption.reprieve import conclude, reprieve_order
from moorage.preemption.victims import Verdict

Mask = NDArray[np.bool_]


class Lineup(NamedTuple):
    """The victims of a row, and the order in which they come back; None for the order given.

    `asked` int64 (victim, resource) and `pods` int64 (victim) are what each uses on the row.
    `conclude` makes the verdict from the node's name and the positions of the evicted victims.
    """

    asked: Amounts
    pods: Amounts
    order: list[int] | None
    conclude: Callable[[str, list[int]], Verdict]


def dry_run(ground: Ground, rows: Rows) -> list[Verdict]:
    """The verdict on each row; equal to a trial of each."""
    cycle, asked = ground.cycle, rows.tolist()
    budgets = ground.kept.budgets(cycle)
    known = ground.kept.verdicts(_sign(ground))
    units = {row: found for row in asked if (found := eviction.units_on(cycle, row)) is not None}
    passing = _crowded(ground, rows) | units.keys()
    tried = {row for row, found in units.items() if not _may_be_summed(ground, found)}
    new = [row for row in asked if row not in tried and (row in passing or row not in known)]
    fresh = _fresh(ground, new, budgets, units)
    fresh |= {row: reprieve.dry_run(cycle, row, budgets) for row in asked if row in tried}
    known.update({row: verdict for row, verdict in fresh.items() if row not in passing})
    return [fresh[row] if row in fresh else known[row] for row in asked]


def _may_be_summed(ground: Ground, units: list[LocalUnit]) -> bool:
    """Whether sums per row are enough for these units: other filters might read more."""
    return not ground.rules.others and unit_victims.all_below(ground.cycle, units)


def _sign(ground: Ground) -> Hashable:
    """What a verdict depends on of the pod."""
    cycle = ground.cycle
    return cycle.incoming.priority, *(plugin.sign(cycle) for plugin in _resource_rules(ground))


def _resource_rules(ground: Ground) -> list[Filter]:
    return [plugin for plugin in ground.rules.imaginable if promised_rows.reads_sums(plugin)]


def _crowded(ground: Ground, rows: Rows) -> set[int]:
    """Rows that other pods are nominated to: a nomination may end without a change of the row."""
    if ground.promised is None:
        return set()
    return set(rows[ground.promised.pods[rows] > 0].tolist())


def _fresh(
    ground: Ground, rows: list[int], budgets: Budgets, units: Mapping[int, list[LocalUnit]]
) -> dict[int, Verdict]:
    if not rows:
        return {}
    lineups = [
        _line_up_units(ground, units[row], budgets)
        if row in units
        else _line_up(ground.kept.ranked(row, ground.cycle.incoming.priority), budgets)
        for row in rows
    ]
    evicted = _reprieve(ground, np.asarray(rows, dtype=np.intp), *_stack(lineups))
    steps: list[list[int]] = [[] for _ in rows]
    for place, step in zip(*(axis.tolist() for axis in np.nonzero(evicted.T)), strict=True):
        steps[place].append(step)
    return {
        row: _conclude(ground.cycle.table.node(row).name, lineup, gone)
        for row, lineup, gone in zip(rows, lineups, steps, strict=True)
    }


def _line_up(row: RankedRow, budgets: Budgets) -> Lineup:
    infos = row.ranking.infos
    violating = budgets.violated_by(infos) if budgets else [False] * len(infos)
    order = reprieve_order(violating) if any(violating) else None
    pods = np.ones(len(infos), dtype=np.int64)

    def conclusion(node: str, evicted: list[int]) -> Verdict:
        return conclude(node, row.ranking, violating, evicted)

    return Lineup(row.amounts, pods, order, conclusion)


def _line_up_units(ground: Ground, units: list[LocalUnit], budgets: Budgets) -> Lineup:
    cycle = ground.cycle
    leaving = [here for here in units if eviction.may_leave(cycle, here.unit)]
    ranked = unit_victims.rank(leaving, budgets)
    asked, pods = unit_victims.amounts(ranked, len(cycle.table.requested))
    return Lineup(asked, pods, ranked.order, ranked.conclude)


def _stack(lineups: list[Lineup]) -> tuple[Amounts, Amounts]:
    """int64 (victim, resource, row) and int64 (victim, row), in the order of coming back."""
    longest = max(len(lineup.asked) for lineup in lineups)
    height = lineups[0].asked.shape[1]
    amounts = np.zeros((longest, height, len(lineups)), dtype=np.int64)
    pods = np.zeros((longest, len(lineups)), dtype=np.int64)
    for place, (asked, count, order, _) in enumerate(lineups):
        amounts[: len(asked), :, place] = asked if order is None else asked[order]
        pods[: len(asked), place] = count if order is None else count[order]
    return amounts, pods


def _reprieve(ground: Ground, rows: Rows, amounts: Amounts, pods: Amounts) -> Mask:
    """bool (victim, row): the victims that are not reprieved."""
    resource_rules = _resource_rules(ground)
    usage = ground.emptied(rows)
    present = pods > 0
    evicted = np.zeros_like(present)
    for step, here in enumerate(present):
        back = usage.plus(Usage(pods[step], amounts[step]))
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
    order = lineup.order
    return lineup.conclude(node, steps if order is None else [order[step] for step in steps])
