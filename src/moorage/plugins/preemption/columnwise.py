"""The victims of many rows at once, where nothing but resources can refuse the pod.

The same steps as a trial, one victim of every row at a time: the most important comes back on all
rows, the rule about resources says on which of them the pod still fits, then the next one comes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.framework.cycle import Cycle
from moorage.framework.points import Filter
from moorage.plugins.preemption import imagined, settling
from moorage.plugins.preemption.budgets import Budgets
from moorage.plugins.preemption.imagined import Rows, Rules
from moorage.plugins.preemption.kept import Kept, RankedRow
from moorage.plugins.preemption.lower import Amounts, Usage
from moorage.plugins.preemption.reprieving import in_order, reprieve_order
from moorage.plugins.preemption.victims import Verdict, verdict

Mask = NDArray[np.bool_]


class Lineup(NamedTuple):
    """The victims of a row in the order in which they may come back."""

    row: RankedRow
    order: list[int] | None
    violating: list[bool]


def dry_run(cycle: Cycle, kept: Kept, rules: Rules, rows: Rows) -> list[Verdict]:
    """Who must leave each row; equal to a trial of each."""
    priority = cycle.incoming.priority
    budgets = kept.budgets(cycle)
    lineups = [_line_up(kept.ranked(row, priority), budgets) for row in rows.tolist()]
    amounts, present = _stack(lineups, len(cycle.table.requested))
    usage = settling.without(cycle, kept.lower.below(priority), rows)
    resources = [plugin for plugin in rules.leading if imagined.reads_sums(plugin)]
    evicted = _reprieve(cycle, resources, rows, usage, amounts, present)
    return _verdicts(cycle, rows, lineups, evicted)


def _line_up(row: RankedRow, budgets: Budgets) -> Lineup:
    if budgets:
        violating = budgets.violated_by(victim.info for victim in row.victims)
        if any(violating):
            return Lineup(row, reprieve_order(violating), violating)
    return Lineup(row, None, [])


def _stack(lineups: list[Lineup], height: int) -> tuple[Amounts, Mask]:
    """int64 (victim, resource, row) and bool (victim, row): who comes back at which step."""
    longest = max(len(lineup.row.victims) for lineup in lineups)
    amounts = np.zeros((longest, height, len(lineups)), dtype=np.int64)
    present = np.zeros((longest, len(lineups)), dtype=bool)
    for position, (row, order, _) in enumerate(lineups):
        count = len(row.victims)
        amounts[:count, :, position] = row.amounts if order is None else row.amounts[order]
        present[:count, position] = True
    return amounts, present


def _reprieve(
    cycle: Cycle,
    resources: list[Filter],
    rows: Rows,
    usage: Usage,
    amounts: Amounts,
    present: Mask,
) -> Mask:
    """bool (victim, row): who has to leave for good."""
    others = imagined.promised(cycle, rows)
    evicted = np.zeros_like(present)
    for step, here in enumerate(present):
        back = Usage(usage.pods + here, usage.requested + amounts[step])
        stays = here.copy()
        for plugin in resources:
            stays &= imagined.codes(cycle, plugin, rows, back, others) == 0
        usage = Usage(
            np.where(stays, back.pods, usage.pods),
            np.where(stays, back.requested, usage.requested),
        )
        evicted[step] = here & ~stays
    return evicted


def _verdicts(cycle: Cycle, rows: Rows, lineups: list[Lineup], evicted: Mask) -> list[Verdict]:
    steps: list[list[int]] = [[] for _ in lineups]
    for position, step in zip(*(axis.tolist() for axis in np.nonzero(evicted.T)), strict=True):
        steps[position].append(step)
    names = (cycle.table.node(row).name for row in rows.tolist())
    return [_verdict(*of_row) for of_row in zip(names, lineups, steps, strict=True)]


def _verdict(name: str, lineup: Lineup, steps: list[int]) -> Verdict:
    victims, order = lineup.row.victims, lineup.order
    if order is None:
        return verdict(name, [victims[step] for step in steps], 0)
    positions = [order[step] for step in steps]
    gone = in_order([victims[position] for position in positions], lineup.violating)
    return verdict(name, gone, sum(lineup.violating[position] for position in positions))
