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


class Victim(NamedTuple):
    """A pod that may have to go; the smaller the key, the more important it is."""

    key: Key
    info: PodInfo


def started(pod: Pod) -> float:
    """Seconds since the epoch, infinite where the pod has not started."""
    start = pod.status.start_time
    return math.inf if start is None else start.timestamp()


def ranked(pods: Iterable[PodInfo]) -> list[Victim]:
    """Pods as they came to their node, put in order: the most important first."""
    return sort(
        [Victim(_key(info, arrival), info) for arrival, info in enumerate(pods)],
    )


def sort(victims: list[Victim]) -> list[Victim]:
    return [victims[position] for position in go_sort.order([victim.key for victim in victims])]


def _key(info: PodInfo, arrival: int) -> Key:
    start = info.pod.status.start_time
    if start is None:
        return -info.priority, math.inf, arrival
    return -info.priority, start.timestamp(), 0
