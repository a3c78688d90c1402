"""The candidate that hurts least.

Rule after rule, the nodes that it likes best are kept:

1. the fewest evictions against a budget's will;
2. the lowest priority of the most important victim;
3. the lowest sum of the victims' priorities, each raised above zero;
4. the fewest victims;
5. the latest start of the victims that share the highest priority.
"""

from collections.abc import Callable, Mapping

from moorage.plugins.preemption import importance
from moorage.plugins.preemption.victims import Victims

_ABOVE_ZERO = 2**31


def _violations(victims: Victims) -> int:
    return victims.violations


def _first_priority(victims: Victims) -> int:
    return victims.pods[0].priority


def _sum_of_priorities(victims: Victims) -> int:
    return sum(pod.priority for pod in victims.pods) + _ABOVE_ZERO * len(victims.pods)


def _count(victims: Victims) -> int:
    return len(victims.pods)


def _earliest_start(victims: Victims) -> float:
    highest = max(pod.priority for pod in victims.pods)
    return -min(importance.started(pod) for pod in victims.pods if pod.priority == highest)


_RULES: tuple[Callable[[Victims], float], ...] = (
    _violations,
    _first_priority,
    _sum_of_priorities,
    _count,
    _earliest_start,
)


def tied(candidates: Mapping[str, Victims]) -> list[str]:
    """The nodes that no rule tells apart; kube-scheduler takes any of them."""
    names = list(candidates)
    for rule in _RULES:
        if len(names) <= 1:
            break
        costs = [rule(candidates[name]) for name in names]
        least = min(costs)
        names = [name for name, cost in zip(names, costs, strict=True) if cost == least]
    return names
