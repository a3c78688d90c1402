"""The pods that must leave one node, and what that costs."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.framework.eviction import started
from moorage.framework.verdicts import Rejection, unresolvable
from moorage.preemption import go_sort

Key = tuple[int, float, int]


class Ranking(NamedTuple):
    """Potential victims, the most important first, and their sort keys."""

    infos: list[PodInfo]
    keys: list[Key]

    def in_order(self, positions: list[int]) -> list[int]:
        """Sort some of the positions anew, as Go would."""
        order = go_sort.order([self.keys[position] for position in positions])
        return [positions[place] for place in order]


def rank(pods: Iterable[PodInfo]) -> Ranking:
    """Rank pods, which must be given in the order in which they came to the node."""
    infos = list(pods)
    keys = [_key(info, arrival) for arrival, info in enumerate(infos)]
    order = go_sort.order(keys)
    return Ranking([infos[place] for place in order], [keys[place] for place in order])


def _key(info: PodInfo, arrival: int) -> Key:
    """A sort key: smaller is more important; equal for pods that `sort.Slice` may exchange."""
    start = info.pod.status.start_time
    if start is None:
        return -info.priority, math.inf, arrival
    return -info.priority, start.timestamp(), 0


NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")

Cost = tuple[int, int, int, int, float]

_ABOVE_ZERO = 2**31


class Victims:
    """The pods to evict, the most important first, and how many evictions violate a budget."""

    __slots__ = ("_cost", "pods", "violations")

    def __init__(self, pods: tuple[Pod, ...], violations: int = 0) -> None:
        self.pods = pods
        self.violations = violations
        self._cost: Cost | None = None

    @property
    def cost(self) -> Cost:
        """What nodes are compared by; less is better. In this order:

        1. the number of evictions that violate a budget,
        2. the priority of the most important victim,
        3. the sum of priorities, each raised above zero so that more victims never cost less,
        4. the number of victims,
        5. the earliest start of a victim of the highest priority, negated: later is better.
        """
        if self._cost is None:
            priorities = [pod.priority for pod in self.pods]
            count = len(priorities)
            total = sum(priorities) + _ABOVE_ZERO * count
            self._cost = self.violations, priorities[0], total, count, -self._oldest(priorities)
        return self._cost

    def _oldest(self, priorities: list[int]) -> float:
        highest = max(priorities)
        return min(
            started(pod)
            for pod, priority in zip(self.pods, priorities, strict=True)
            if priority == highest
        )

    def __repr__(self) -> str:
        names = ", ".join(pod.key for pod in self.pods)
        return f"Victims([{names}], violations={self.violations})"


class DryRunError(Exception):
    """A dry run whose result is impossible: the pod would fit without any eviction."""

    def __init__(self, node: str) -> None:
        super().__init__(f'expected at least one victim pod on node "{node}"')


Verdict = Victims | Rejection | Exception
"""The result of a dry run on a row: the victims, the refusal if none help, or an error."""


def verdict(node: str, evicted: list[PodInfo], violations: int) -> Verdict:
    if not evicted:
        return DryRunError(node)
    return Victims(tuple([info.pod for info in evicted]), violations)
