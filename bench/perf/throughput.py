"""Pods scheduled over time, counted as upstream counts them.

Once a second the pods that were scheduled since the last sample are divided by the time since then;
the first sample is left out, and seconds without any are spread over. Average and percentiles are
of those samples, and a workload that ends sooner has none.

A few samples tell little: the last one ends when somebody looks, not when the last pod has its
node. So both are compared by `overall`: pods by the time from when the first came to when the last
was scheduled, the leaving of victims included. Beside that, how fast pods came: nobody schedules
more than there are.
"""

import asyncio
import math
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from moorage.api.pod import Pod

INTERVAL: Final = 1.0


class Throughput(NamedTuple):
    """Pods per second, and how many pods that is about."""

    pods: int
    overall: float
    average: float
    p50: float
    p90: float
    p99: float


class Count:
    """How many there were, and how fast they came after each other."""

    def __init__(self) -> None:
        self.total = 0
        self.first = self.last = 0.0

    def add(self) -> None:
        self.last = time.monotonic()
        self.first = self.first or self.last
        self.total += 1

    @property
    def rate(self) -> float:
        span = self.last - self.first
        return (self.total - 1) / span if span else 0.0


class Collector:
    """Counts pods of some namespaces, with some labels, as they come and as they are scheduled."""

    def __init__(self, namespaces: frozenset[str], labels: Mapping[str, str]) -> None:
        self._namespaces = namespaces
        self._labels = labels.items()
        self._came, self._scheduled = Count(), Count()
        self._samples: list[float] = []
        self.waited = 0.0
        """Seconds in which the workload did nothing but wait for the scheduler."""
        self.gone = 0
        """Pods of any namespace that were deleted meanwhile."""
        self._began = time.monotonic()

    def came(self, pod: Pod) -> None:
        """A pod that was not there is there."""
        if self._counts(pod):
            self._came.add()

    def scheduled(self, pod: Pod) -> None:
        """A pod that had no node has one."""
        if self._counts(pod):
            self._scheduled.add()

    def _counts(self, pod: Pod) -> bool:
        return pod.namespace in self._namespaces and self._labels <= pod.metadata.labels.items()

    @property
    def arriving(self) -> float:
        """Pods per second that came, from the first to the last."""
        return self._came.rate

    @property
    def idle_share(self) -> float:
        """The part of the time in which the workload waited for the scheduler."""
        span = self._scheduled.last - (self._came.first or self._began)
        return min(self.waited / span, 1.0) if span > 0 else 0.0

    async def run(self) -> None:
        """Take samples until cancelled."""
        counted = skipped = 0
        since = 0.0
        while True:
            await asyncio.sleep(INTERVAL)
            now, count = time.monotonic(), self._scheduled.total
            if not count:
                continue
            if since and count == counted:
                skipped += 1
                continue
            if since:
                self._samples += [(count - counted) / (now - since)] * (skipped + 1)
            counted, since, skipped = count, now, 0

    def result(self) -> Throughput:
        found, pods = sorted(self._samples), self._scheduled.total
        span = self._scheduled.last - (self._came.first or self._began)
        overall = pods / span if pods and span > 0 else 0.0
        if not found:
            return Throughput(pods, overall, 0.0, 0.0, 0.0, 0.0)
        p50, p90, p99 = (found[math.ceil(len(found) * part / 100) - 1] for part in (50, 90, 99))
        return Throughput(pods, overall, sum(found) / len(found), p50, p90, p99)
