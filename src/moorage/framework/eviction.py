"""Eviction as plugins see it: who may be evicted for a pod, who is leaving, who is spared."""

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle

EVICTABLE: Final = "evictable"
"""Where `cycle.state` has the rule that a PreFilter plugin left there, if one did."""

EvictableRule = Callable[[Sequence[PodInfo]], list[PodInfo]]
"""Of the pods on a node, in the order they came, those that may be evicted, in that order. For pods
that are placed together it is asked once, of the pods on all nodes."""

PLACED_TOGETHER: Final = "together"
"""Where `cycle.state` has the pods that are placed together with the cycle's own, it included."""

BEING_EVICTED: Final = "leaving"
"""Where `cycle.shared` has the uids of pods that are being evicted, whatever they look like yet."""


SPARES: Final = "DefaultPreemption/spares"
"""Where `cycle.shared` has the rule; absent or None where nobody is spared."""

Spares = Callable[[Cycle, PodInfo], bool]


def rule(cycle: Cycle) -> Spares | None:
    """Whom to spare though it may be evicted."""
    found: Spares | None = cycle.shared.get(SPARES)
    return found


def evictable(cycle: Cycle) -> EvictableRule | None:
    """Who may be evicted, where that is not a matter of priority alone."""
    found: EvictableRule | None = cycle.state.get(EVICTABLE)
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


class Unit:
    """Pods that are evicted together or not at all, wherever they are; mostly one pod by itself.

    `rank` tells a pod (0) from a group (1) and from a group of groups (2).
    """

    __slots__ = ("_started", "pods", "priority", "rank")

    def __init__(self, pods: tuple[PodInfo, ...], priority: int, rank: int = 0) -> None:
        self.pods = pods
        self.priority = priority
        self.rank = rank
        self._started: float | None = None

    @property
    def started(self) -> float:
        """When the first of its pods started."""
        if self._started is None:
            self._started = min(started(info.pod) for info in self.pods)
        return self._started


class LocalUnit(NamedTuple):
    """A unit, and those of its pods that are on one row."""

    unit: Unit
    pods: list[PodInfo]


UNITS: Final = "units"
"""Where `cycle.shared` has the rule; absent, or false, where every pod may be evicted by itself."""

UnitOf = Callable[[Cycle, PodInfo], Unit | None]
"""The unit that a pod belongs to; None where it stands for itself. One and the same for all of its
pods, as long as the cycle lasts."""


def units_on(cycle: Cycle, row: int) -> list[LocalUnit] | None:
    """Everything that may be evicted, in part or as a whole, from a row; None where those are pods
    by themselves, none of which is worth more for what it belongs to."""
    unit_of: UnitOf | None = cycle.shared.get(UNITS)
    if not unit_of or evictable(cycle) is not None:
        return None
    found: dict[int, LocalUnit] = {}
    for info in cycle.table.pods[row].values():
        unit = unit_of(cycle, info) or Unit((info,), info.priority)
        here = found.get(id(unit))
        if here is None:
            here = found[id(unit)] = LocalUnit(unit, [])
        here.pods.append(info)
    units = list(found.values())
    ranks = {here.unit.rank for here in units}
    alike = len(ranks) < 2 and all(len(here.unit.pods) == 1 for here in units)
    return None if alike else units


def may_leave(cycle: Cycle, unit: Unit) -> bool:
    """Whether a unit may be evicted for the cycle's pod."""
    spares = rule(cycle)
    if unit.priority >= cycle.incoming.priority:
        return False
    return spares is None or not any(spares(cycle, info) for info in unit.pods)


def started(pod: Pod) -> float:
    """Seconds since the epoch, infinite where the pod has not started."""
    start = pod.status.start_time
    return math.inf if start is None else start.timestamp()
