"""Pods that came to a node after its last measurement, so that the measurement lacks them.

1. A pod arrives when the log first shows it on a node. If its status has a start time, that counts
   instead. A pod that was there before the first look, without a start time, counts as measured.
2. It counts until the node is measured after its arrival, or until a measurement from then would no
   longer be believed.
3. A pod that leaves and returns (an update, a trial that is rolled back) keeps its arrival time.
"""

import math
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.cache import Cache
from moorage.cache.follower import Follower
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import PodChange

_LEFT_KEPT = 8_192

Floats = NDArray[np.float64]


class Arrival(NamedTuple):
    at: float
    cpu: int
    memory: int


class UnmeasuredPods:
    """The load of pods that arrived since the measurement.  load: float64 (cpu memory, row)"""

    def __init__(self) -> None:
        self.load: Floats = np.zeros((2, 0))
        self._oldest: Floats = np.zeros(0)
        self._recent: dict[int, dict[str, Arrival]] = {}
        self._left: OrderedDict[str, float] = OrderedDict()
        self._pods: Follower[PodChange] = Follower()

    def since(self, cache: Cache, measured: Floats, now: float) -> Floats:
        """The load of pods that arrived after `measured` (row). Later calls update the array."""
        table = cache.table
        self._grow(len(table.alive))

        def afresh() -> tuple[PodChange, ...]:
            self._recount(cache, now)
            return ()

        def move(change: PodChange) -> None:
            row, pod, sign = change
            if sign > 0:
                self._come(row, pod, self._left.pop(pod.uid, _started(pod, now)))
            else:
                self._leave(row, pod)

        self._pods.apply(table.pod_log, afresh, move)
        for row in np.flatnonzero(self._oldest[: table.rows] < measured[: table.rows]).tolist():
            self._forget(row, float(measured[row]))
        return self.load

    def _come(self, row: int, pod: PodInfo, at: float) -> None:
        if at == -math.inf:
            return
        self._recent.setdefault(row, {})[pod.uid] = Arrival(at, *pod.nonzero)
        self._measure(row)

    def _leave(self, row: int, pod: PodInfo) -> None:
        arrival = self._recent.get(row, {}).pop(pod.uid, None)
        self._left[pod.uid] = -math.inf if arrival is None else arrival.at
        if len(self._left) > _LEFT_KEPT:
            self._left.popitem(last=False)
        if arrival is not None:
            self._measure(row)

    def _forget(self, row: int, measured: float) -> None:
        """Drop the arrivals that a measurement includes."""
        recent = self._recent[row]
        for uid in [uid for uid, arrival in recent.items() if arrival.at < measured]:
            del recent[uid]
        self._measure(row)

    def _measure(self, row: int) -> None:
        recent = self._recent[row].values()
        self.load[0, row] = sum(arrival.cpu for arrival in recent)
        self.load[1, row] = sum(arrival.memory for arrival in recent)
        self._oldest[row] = min((arrival.at for arrival in recent), default=math.inf)

    def _recount(self, cache: Cache, now: float) -> None:
        self.load.fill(0)
        self._oldest.fill(math.inf)
        self._recent.clear()
        self._left.clear()
        for row, pods in enumerate(cache.table.pods):
            for pod in pods.values():
                unsaid = now if pod.uid in cache.assumed else -math.inf
                self._come(row, pod, _started(pod, unsaid))

    def _grow(self, capacity: int) -> None:
        missing = capacity - len(self._oldest)
        if missing:
            self.load = np.concatenate((self.load, np.zeros((2, missing))), axis=1)
            self._oldest = np.concatenate((self._oldest, np.full(missing, math.inf)))


def _started(pod: PodInfo, unsaid: float) -> float:
    started = pod.pod.status.start_time
    return unsaid if started is None else started.timestamp()
