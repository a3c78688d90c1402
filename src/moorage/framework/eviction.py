"""Eviction as plugins see it: who may be evicted for a pod, who is leaving, who is spared."""

import math
from collections.abc import Callable, Sequence
from typing import Final

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


def started(pod: Pod) -> float:
    """Seconds since the epoch, infinite where the pod has not started."""
    start = pod.status.start_time
    return math.inf if start is None else start.timestamp()
