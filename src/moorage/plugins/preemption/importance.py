"""Which of two victims is more important, and so spared first.

The higher priority; of equal priorities the earlier start. A pod that has not started counts as
starting now, later than any that has; of two such pods the one that came to the node first is
the more important.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.plugins.preemption import go_sort

Key = tuple[int, float, int]


class Ranking(NamedTuple):
    """Pods that may have to go, the most important first, and by what that was told."""

    infos: list[PodInfo]
    keys: list[Key]

    def in_order(self, positions: list[int]) -> list[int]:
        """Some of the positions, sorted anew."""
        order = go_sort.order([self.keys[position] for position in positions])
        return [positions[place] for place in order]


def started(pod: Pod) -> float:
    """Seconds since the epoch, infinite where the pod has not started."""
    start = pod.status.start_time
    return math.inf if start is None else start.timestamp()


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
