"""What is measured of a workload, from where it starts to collect to where it stops."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from bench.perf.attempts import Histogram
from bench.perf.client import Client
from bench.perf.contention import machine_seconds
from bench.perf.pods import Pods
from bench.perf.schedulers import SchedulerProcess, cpu_seconds
from bench.perf.throughput import Collector, Throughput
from moorage.watch.api_resources import EVENTS


class Figures(NamedTuple):
    """What one collection has found; CPU in milliseconds per pod, latencies in milliseconds.

    `arriving` is the pods per second that came, which nobody can be faster than; `waited` the part
    of the time in which the workload waited for the scheduler; `rest_per_pod` is what everybody but
    the scheduler used: API server, etcd, and the workload. `events_per_pod` are the events that
    were stored meanwhile, each of them a request: not everybody tells of each pod. `gone_per_pod`
    are the pods that were deleted meanwhile: where pods preempt, so many had to leave for each.
    """

    throughput: Throughput
    arriving: float
    waited: float
    events_per_pod: float
    gone_per_pod: float
    attempts_per_pod: float
    attempt_p50: float
    attempt_p99: float
    cpu_per_pod: float
    rest_per_pod: float
    memory_mb: float


class Measurement:
    """Collects what a scheduler does while it is asked to."""

    def __init__(self, scheduler: SchedulerProcess, pods: Pods, client: Client) -> None:
        self._scheduler = scheduler
        self._pods = pods
        self._client = client
        self._sampling: asyncio.Task[None] | None = None
        self._attempts = Histogram({})
        self._cpu = self._all = 0.0
        self._events = 0
        self.found: list[Figures] = []

    async def start(self, namespaces: frozenset[str], labels: Mapping[str, str]) -> None:
        self._attempts = await self._scraped()
        self._events = await self._client.count(EVENTS.path())
        self._pods.collector = collector = Collector(namespaces, labels)
        self._sampling = asyncio.ensure_future(collector.run())
        self._cpu, self._all = cpu_seconds(self._scheduler.pid), machine_seconds()

    async def stop(self) -> None:
        collector, sampling = self._pods.collector, self._sampling
        assert collector is not None
        assert sampling is not None
        cpu = cpu_seconds(self._scheduler.pid) - self._cpu
        rest = machine_seconds() - self._all - cpu
        self._pods.collector = None
        sampling.cancel()
        await asyncio.gather(sampling, return_exceptions=True)
        attempts = (await self._scraped()).since(self._attempts)
        events = await self._client.count(EVENTS.path()) - self._events
        result = collector.result()
        self.found.append(
            Figures(
                throughput=result,
                arriving=collector.arriving,
                waited=collector.idle_share,
                events_per_pod=events / max(result.pods, 1),
                gone_per_pod=collector.gone / max(result.pods, 1),
                attempts_per_pod=attempts.total / max(result.pods, 1),
                attempt_p50=attempts.quantile(0.5),
                attempt_p99=attempts.quantile(0.99),
                cpu_per_pod=cpu * 1000 / max(result.pods, 1),
                rest_per_pod=rest * 1000 / max(result.pods, 1),
                memory_mb=self._scheduler.peak_mb(),
            )
        )

    async def _scraped(self) -> Histogram:
        return await asyncio.to_thread(self._scheduler.attempts)
