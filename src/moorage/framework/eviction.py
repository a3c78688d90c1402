"""Eviction as plugins see it: which pods may be evicted, which are leaving, which are spared."""

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle

EVICTABLE: Final = "evictable"
"""Key in `cycle.state` of the `EvictableRule`, if a PreFilter plugin left one there."""

EvictableRule = Callable[[Sequence[PodInfo]], list[PodInfo]]
"""Selects from the pods on a node those that may be evicted, and keeps their order. For pods that
are placed together it is called once, with the pods on all nodes."""

PLACED_TOGETHER: Final = "together"
"""Key in `cycle.state` of the pods that are placed together, the cycle's own included."""

BEING_EVICTED: Final = "leaving"
"""Key in `cycle.shared` of the uids of pods being evicted, even if not yet seen terminating."""


SPARES: Final = "DefaultPreemption/spares"
"""Key in `cycle.shared` of the `Spares` rule; absent or None if no pod is spared."""

Spares = Callable[[Cycle, PodInfo], bool]


def rule(cycle: Cycle) -> Spares | None:
    """The rule that spares pods which could be evicted otherwise; None if there is none."""
    found: Spares | None = cycle.shared.get(SPARES)
    return found


def evictable(cycle: Cycle) -> EvictableRule | None:
    """The rule that says which pods may be evicted; None if priority alone decides."""
    found: EvictableRule | None = cycle.state.get(EVICTABLE)
    return found


def is_by_priority(cycle: Cycle) -> bool:
    """Whether exactly the pods of lower priority may be evicted."""
    return rule(cycle) is None and evictable(cycle) is None


def potential_victims(cycle: Cycle, row: int) -> list[PodInfo]:
    """The pods on a row that may be evicted, in the order in which they came."""
    chosen, spares = evictable(cycle), rule(cycle)
    pods = list(cycle.table.pods[row].values())
    if chosen is not None:
        pods = chosen(pods)
    else:
        pods = [info for info in pods if info.priority < cycle.incoming.priority]
    return pods if spares is None else [info for info in pods if not spares(cycle, info)]


class Unit:
    """Pods that are evicted together or not at all, on any nodes; mostly a single pod.

    `rank` is 0 for a pod, 1 for a pod group, 2 for a composite pod group.
    """

    __slots__ = ("_started", "pods", "priority", "rank")

    def __init__(self, pods: tuple[PodInfo, ...], priority: int, rank: int = 0) -> None:
        self.pods = pods
        self.priority = priority
        self.rank = rank
        self._started: float | None = None

    @property
    def started(self) -> float:
        """When the first of its pods started, in seconds since the epoch."""
        if self._started is None:
            self._started = min(started(info.pod) for info in self.pods)
        return self._started


class LocalUnit(NamedTuple):
    """A unit, and its pods on one row."""

    unit: Unit
    pods: list[PodInfo]


UNITS: Final = "units"
"""Key in `cycle.shared` of the `UnitOf` rule; absent or false if every pod is a unit of its own."""

UnitOf = Callable[[Cycle, PodInfo], Unit | int]
"""The unit that a pod belongs to: the same object for all of its pods while the cycle lasts. For a
pod that is a unit of its own, the rank of that unit."""


def units_on(cycle: Cycle, row: int) -> list[LocalUnit] | None:
    """The units that have pods on a row; None if each is a single pod, and all ranks are equal.

    None also if an `EvictableRule` is in force. The caller must check `may_leave`.
    """
    unit_of: UnitOf | None = cycle.shared.get(UNITS)
    if not unit_of or evictable(cycle) is not None:
        return None
    pods = cycle.table.pods[row].values()
    kinds = [unit_of(cycle, info) for info in pods]
    if len(set(kinds)) < 2 and not any(isinstance(kind, Unit) for kind in kinds[:1]):
        return None
    found: dict[int, LocalUnit] = {}
    for info, kind in zip(pods, kinds, strict=True):
        unit = kind if isinstance(kind, Unit) else Unit((info,), info.priority, kind)
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
    """Start time in seconds since the epoch; infinite if the pod has not started."""
    start = pod.status.start_time
    return math.inf if start is None else start.timestamp()
