"""Who may be evicted: pods of lower priority, unless others know better.

A plugin may leave a rule of its own in the cycle (`moorage.framework.victims`), and the scheduler's
edge one about whom to spare.
"""

from collections.abc import Callable
from typing import Final

from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.victims import EVICTABLE, Evictable

SPARES: Final = "DefaultPreemption/spares"
"""Where `cycle.shared` has the rule; absent or None where nobody is spared."""

Spares = Callable[[Cycle, PodInfo], bool]


def rule(cycle: Cycle) -> Spares | None:
    """Whom to spare though it may be evicted."""
    found: Spares | None = cycle.shared.get(SPARES)
    return found


def evictable(cycle: Cycle) -> Evictable | None:
    """Who may be evicted, where that is not a matter of priority alone."""
    found: Evictable | None = cycle.state.get(EVICTABLE)
    return found


def is_by_priority(cycle: Cycle) -> bool:
    """Whether exactly the pods of lower priority may be evicted."""
    return rule(cycle) is None and evictable(cycle) is None


def potential_victims(cycle: Cycle, row: int) -> list[PodInfo]:
    """The pods of a row that may be evicted, in the order in which they came."""
    chosen, spares = evictable(cycle), rule(cycle)
    pods = list(cycle.table.pods[row].values())
    if chosen is not None:
        pods = chosen(pods)
    else:
        pods = [info for info in pods if info.priority < cycle.incoming.priority]
    return pods if spares is None else [info for info in pods if not spares(cycle, info)]
