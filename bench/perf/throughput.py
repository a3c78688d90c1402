"""Pods scheduled over time, counted as upstream counts them.

Once a second the pods that were scheduled since the last sample are divided by the time since then;
the first sample is left out, and seconds without any are spread over. Average and percentiles are
of those samples. A workload that ends sooner has none: its average is from the first to the last.
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
    average: float
    p50: float
    p90: float
    p99: float


class Collector:
    """Counts pods of some namespaces, with some labels, as they are scheduled."""

    def __init__(self, namespaces: frozenset[str], labels: Mapping[str, str]) -> None:
        self._namespaces = namespaces
        self._labels = labels.items()
        self._count = 0
        self._first = self._last = 0.0
        self._samples: list[float] = []

    def scheduled(self, pod: Pod) -> None:
        """A pod that had no node has one."""
        if pod.namespace in self._namespaces and self._labels <= pod.metadata.labels.items():
            self._last = time.monotonic()
            self._first = self._first or self._last
            self._count += 1

    async def run(self) -> None:
        """Take samples until cancelled."""
        counted = skipped = 0
        since = 0.0
        while True:
            await asyncio.sleep(INTERVAL)
            now, count = time.monotonic(), self._count
            if not count:
                continue
            if since and count == counted:
                skipped += 1
                continue
            if since:
                self._samples += [(count - counted) / (now - since)] * (skipped + 1)
            counted, since, skipped = count, now, 0

    def result(self) -> Throughput:
        found = sorted(self._samples)
        if not found:
            span = self._last - self._first
            rate = (self._count - 1) / span if span else 0.0
            return Throughput(self._count, rate, 0.0, 0.0, 0.0)
        p50, p90, p99 = (found[math.ceil(len(found) * part / 100) - 1] for part in (50, 90, 99))
        return Throughput(self._count, sum(found) / len(found), p50, p90, p99)
