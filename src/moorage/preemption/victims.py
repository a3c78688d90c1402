"""The pods that would have to leave one node, and how much that hurts."""

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
    """Pods that may have to go, the most important first, and by what that was told."""

    infos: list[PodInfo]
    keys: list[Key]

    def in_order(self, positions: list[int]) -> list[int]:
        """Some of the positions, sorted anew."""
        order = go_sort.order([self.keys[position] for position in positions])
        return [positions[place] for place in order]


def rank(pods: Iterable[PodInfo]) -> Ranking:
    """Put pods in order that stand as they came to their node."""
    infos = list(pods)
    keys = [_key(info, arrival) for arrival, info in enumerate(infos)]
    order = go_sort.order(keys)
    return Ranking([infos[place] for place in order], [keys[place] for place in order])


def _key(info: PodInfo, arrival: int) -> Key:
    """The smaller, the more important; equal for pods that `sort.Slice` may exchange."""
    start = info.pod.status.start_time
    if start is None:
        return -info.priority, math.inf, arrival
    return -info.priority, start.timestamp(), 0


NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")

Cost = tuple[int, int, int, int, float]

_ABOVE_ZERO = 2**31


class Victims:
    """Who would be evicted, the most important first, and how many against a budget's will."""

    __slots__ = ("_cost", "pods", "violations")

    def __init__(self, pods: tuple[Pod, ...], violations: int = 0) -> None:
        self.pods = pods
        self.violations = violations
        self._cost: Cost | None = None

    @property
    def cost(self) -> Cost:
        """The less, the better: what tells one node from another, in this order.

        Evictions against a budget's will; the priority of the most important victim; the sum of
        priorities, each raised above zero so that more victims never cost less; the number of
        victims; and how long the oldest of the highest priority has been running.
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
    """A dry run that cannot be right: the node would take the pod without any eviction."""

    def __init__(self, node: str) -> None:
        super().__init__(f'expected at least one victim pod on node "{node}"')


Verdict = Victims | Rejection | Exception
"""What a dry run says of a row: who must go, why that would not help, or what went wrong."""


def verdict(node: str, evicted: list[PodInfo], violations: int) -> Verdict:
    if not evicted:
        return DryRunError(node)
    return Victims(tuple([info.pod for info in evicted]), violations)
