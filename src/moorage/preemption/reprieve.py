"""Finds the victims on one node by trial: all leave, and those that can stay are reprieved.

1. Every pod of lower priority leaves. If the incoming pod is refused even then, the row does not
   help.
2. The pods come back one by one: first those whose eviction violates a budget, then the others, the
   most important first. A pod with which the incoming pod is refused again is a victim.
3. Pods of a group that is disrupted as a whole leave and come back together, on whatever nodes.

All of this happens on the live table, in a trial that is rolled back.
"""

from itertools import chain

from moorage.cache.disruption_budgets import Budgets
from moorage.framework import eviction
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import LocalUnit
from moorage.framework.verdicts import SchedulingError
from moorage.preemption import unit_victims, victims
from moorage.preemption.unit_victims import Placed
from moorage.preemption.victims import NO_VICTIMS, Ranking, Verdict, verdict


def dry_run(cycle: Cycle, row: int, budgets: Budgets) -> Verdict:
    """The pods that must leave a row so that no plugin refuses the incoming pod there.

    As in kube-scheduler, a plugin that raises costs this row only.
    """
    try:
        return _dry_run(cycle, row, budgets)
    except SchedulingError as error:
        return error


def _dry_run(cycle: Cycle, row: int, budgets: Budgets) -> Verdict:
    units = eviction.units_on(cycle, row)
    if units is not None:
        return _dry_run_of_units(cycle, row, units, budgets)
    lower = eviction.potential_victims(cycle, row)
    if not lower:
        return NO_VICTIMS
    with cycle.trial():
        for info in lower:
            cycle.displace(row, info)
        refused = cycle.refuses(row)
        if refused is not None:
            return refused
        ranking = victims.rank(lower)
        violating = budgets.violated_by(ranking.infos)
        evicted = [
            position
            for position in reprieve_order(violating)
            if not _may_stay(cycle, row, [(row, ranking.infos[position])])
        ]
    return conclude(cycle.table.node(row).name, ranking, violating, evicted)


def _dry_run_of_units(cycle: Cycle, row: int, units: list[LocalUnit], budgets: Budgets) -> Verdict:
    leaving = [here for here in units if eviction.may_leave(cycle, here.unit)]
    if not leaving:
        return NO_VICTIMS
    ranked = unit_victims.rank(leaving, budgets)
    placed = [unit_victims.placed(cycle, here.unit) for here in ranked.units]
    with cycle.trial():
        for where, info in chain.from_iterable(placed):
            cycle.displace(where, info)
        refused = cycle.refuses(row)
        if refused is not None:
            return refused
        evicted = [place for place in ranked.order if not _may_stay(cycle, row, placed[place])]
    return ranked.conclude(cycle.table.node(row).name, evicted)


def _may_stay(cycle: Cycle, row: int, pods: Placed) -> bool:
    """Put these pods back on their rows; whether the incoming pod still fits on `row`.

    If it does not, or a plugin raises, they are taken off again.
    """
    for where, info in pods:
        cycle.place(where, info)
    try:
        fits = cycle.refuses(row) is None
    except SchedulingError:
        fits = False
    if not fits:
        for where, info in pods:
            cycle.displace(where, info)
    return fits


def reprieve_order(violating: list[bool]) -> list[int]:
    """Positions of the victims: those whose eviction violates a budget first."""
    first = [position for position, violates in enumerate(violating) if violates]
    return first + [position for position, violates in enumerate(violating) if not violates]


def conclude(node: str, ranking: Ranking, violating: list[bool], evicted: list[int]) -> Verdict:
    """The verdict on a row, given the positions of the evicted pods.

    If budgets split the candidates in two groups, the evicted must be put in order again.
    """
    if any(violating) and not all(violating):
        evicted = ranking.in_order(evicted)
    violations = sum(violating[position] for position in evicted)
    return verdict(node, [ranking.infos[position] for position in evicted], violations)
