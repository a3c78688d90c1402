"""Whom preemption spares though its priority is lower: a rule from outside, if there is one."""

from collections.abc import Callable
from typing import Final

from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle

SPARES: Final = "DefaultPreemption/spares"
"""Where `cycle.shared` has the rule; absent or None where nobody is spared."""

Spares = Callable[[Cycle, PodInfo], bool]


def rule(cycle: Cycle) -> Spares | None:
    found: Spares | None = cycle.shared.get(SPARES)
    return found
