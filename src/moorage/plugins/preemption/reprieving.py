"""The victims of one row, by trial.

1. Every pod of lower priority leaves. Where the pod is refused even then, the row does not help.
2. One by one they come back, most important first and those that a budget protects before all
   others; whoever makes the row refuse the pod again leaves for good.

All of it on the live table, and all of it undone.
"""

from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import Rejection, SchedulingError
from moorage.plugins.preemption import importance
from moorage.plugins.preemption.budgets import Budgets
from moorage.plugins.preemption.importance import Victim
from moorage.plugins.preemption.victims import NO_VICTIMS, Verdict, verdict


def dry_run(cycle: Cycle, row: int, budgets: Budgets) -> Verdict:
    """Who must leave a row so that nobody refuses the pod there.

    A rule that fails costs this row only, as with kube-scheduler.
    """
    try:
        return _dry_run(cycle, row, budgets)
    except SchedulingError as error:
        return error


def _dry_run(cycle: Cycle, row: int, budgets: Budgets) -> Verdict:
    priority = cycle.incoming.priority
    lower = [info for info in cycle.table.pods[row].values() if info.priority < priority]
    if not lower:
        return NO_VICTIMS
    with cycle.cache.trial():
        # Last come, first out: the rollback puts them back in the order in which they came.
        for info in reversed(lower):
            cycle.cache.displace(info)
        refused = cycle.refuses(row)
        if refused is not None:
            return refused
        candidates = importance.ranked(lower)
        violating = budgets.violated_by(victim.info for victim in candidates)
        evicted, violations = _reprieve(cycle, row, candidates, violating)
    return verdict(cycle.table.node(row).name, evicted, violations)


def _reprieve(
    cycle: Cycle, row: int, candidates: list[Victim], violating: list[bool]
) -> tuple[list[Victim], int]:
    evicted, violations = [], 0
    for position in reprieve_order(violating):
        victim = candidates[position]
        if not _may_stay(cycle, row, victim):
            evicted.append(victim)
            violations += violating[position]
    return in_order(evicted, violating), violations


def _may_stay(cycle: Cycle, row: int, victim: Victim) -> bool:
    cycle.cache.place_on(row, victim.info)
    refused: Rejection | None = cycle.refuses(row)
    if refused is not None:
        cycle.cache.displace(victim.info)
    return refused is None


def reprieve_order(violating: list[bool]) -> list[int]:
    """Positions of the victims: those whose eviction violates a budget first."""
    first = [position for position, violates in enumerate(violating) if violates]
    return first + [position for position, violates in enumerate(violating) if not violates]


def in_order(evicted: list[Victim], violating: list[bool]) -> list[Victim]:
    """The evicted by importance; only where two groups were gone through are they out of order."""
    mixed = any(violating) and not all(violating)
    return importance.sort(evicted) if mixed else evicted
