"""What viewers of the dashboard cost the scheduler: its throughput, its CPU, its memory.

.venv/bin/python bench/dashboard.py [--nodes 5000] [--rate 500] [--seconds 20] [--viewers 3]

One JSON line. The scheduler works on the embedded cluster, with records and metrics as in `moorage
run`; the viewers are a process of their own, the last of them reads a kilobyte a second. Pods come
at the rate, and leave after a while; spans without and with viewers alternate. `lost_percent` is
the CPU that the dashboard's own code takes in a second, of the core that decides: the part of its
throughput that it loses; `cpu_percent` is that of the whole process, for comparison on a machine
that does nothing else. `full_speed` compares the CPU of a pod while many wait. `slice_ms` is the
longest that the dashboard held the event loop. For memory: `--rate 1000 --seconds 100`.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp.http_writer import StreamWriter

from moorage import garbage
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.dashboard_sources import scheduler_sources
from moorage.app.profile_builder import build_profiles
from moorage.clock import SystemClock
from moorage.config.loader import load
from moorage.dashboard import slices
from moorage.dashboard.dashboard import Dashboard
from moorage.dashboard.event_stream import EventStream
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.health import Health
from moorage.serve.http_server import Server
from moorage.serve.secure_serving import Listener
from moorage.testing import node, pod
from moorage.watch.api_resources import PODS

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
LIVED_SECONDS = 4.0
SPANS = 6


def look(url: str, slow: bool) -> None:
    """Be a viewer, until terminated: fetch the cluster when told to, read the stream."""
    asyncio.run(_look(url, slow))


async def _look(url: str, slow: bool) -> None:
    async with aiohttp.ClientSession(read_bufsize=1024) as session:
        async with session.get(f"{url}/cluster") as answer:
            await answer.read()
        async with session.get(f"{url}/stream", timeout=aiohttp.ClientTimeout(None)) as stream:
            while True:
                if slow:
                    await stream.content.read(1024)
                    await asyncio.sleep(1.0)
                    continue
                if b'{"snapshot":true}' in await stream.content.readany():
                    async with session.get(f"{url}/cluster") as answer:
                        await answer.read()


class Viewers:
    """Processes that look, for as long as the block lasts."""

    def __init__(self, url: str, count: int) -> None:
        made = multiprocessing.get_context("spawn").Process
        places = range(count)
        self._processes = [made(target=look, args=(url, i == count - 1)) for i in places]

    async def __aenter__(self) -> None:
        await asyncio.gather(*(asyncio.to_thread(each.start) for each in self._processes))
        if self._processes:
            await asyncio.sleep(2.0)

    async def __aexit__(self, *error: Any) -> None:
        for each in self._processes:
            each.terminate()
            await asyncio.to_thread(each.join)


class Spent:
    """CPU that functions of the dashboard take, and the longest call."""

    def __init__(self) -> None:
        self.seconds = self.longest = 0.0

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, counted."""

        def run(*given: Any) -> Any:
            begun = time.thread_time()
            try:
                return function(*given)
            finally:
                took = time.thread_time() - begun
                self.seconds += took
                self.longest = max(self.longest, took)

        return run

    def install(self) -> None:
        """Count slices of views, frames, and their way into sockets."""
        slices._take = self.counted(slices._take)
        frames = EventStream._lacking
        EventStream._lacking = self.counted(lambda *given: list(frames(*given)))
        StreamWriter._write = self.counted(StreamWriter._write)
        StreamWriter._writelines = self.counted(StreamWriter._writelines)


SPENT = Spent()


class Arrivals:
    """Pods that come at a rate and leave after a while."""

    def __init__(self, cluster: MemoryCluster, rate: float) -> None:
        self._cluster = cluster
        self._rate = rate
        self.number = 0
        self._left = 0

    async def come(self, seconds: float) -> None:
        begun, first = time.perf_counter(), self.number
        while (passed := time.perf_counter() - begun) < seconds:
            for _ in range(int(passed * self._rate) - (self.number - first)):
                self.put()
            while self._left < self.number - int(LIVED_SECONDS * self._rate):
                await self._cluster.delete(PODS, "default", f"p{self._left}")
                self._left += 1
            await asyncio.sleep(0.01)

    def put(self) -> None:
        made = pod(f"p{self.number}").requesting(cpu="100m", memory="64Mi")
        made = made.with_spec(terminationGracePeriodSeconds=0)
        self._cluster.apply({"apiVersion": "v1", "kind": "Pod", **made.raw})
        self.number += 1


async def measure(given: argparse.Namespace) -> dict[str, Any]:
    clock, rng = SystemClock(), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    for number in range(given.nodes):
        made = node(f"n{number}").offering(cpu="32", memory="128Gi", pods="500")
        made = made.in_zone(f"z{number % 3}")
        cluster.apply({"apiVersion": "v1", "kind": "Node", **made.raw})
    known = built_in_plugins.built_in()
    loaded = load(CONFIG, known=built_in_plugins.describe_plugins(known))
    metrics, records = Metrics(), DecisionRecords()
    scheduler = assemble(
        cluster,
        build_profiles(loaded.configuration, known),
        clock=clock,
        rng=rng,
        observers=(metrics, records),
    )
    sources = scheduler_sources(scheduler, records, "run", timings=metrics.timings)
    dashboard = Dashboard(sources)
    server = Server(
        [Listener("127.0.0.1", 0, None)],
        health=Health(),
        metrics=metrics,
        configz=dict,
        pages=dashboard,
    )
    garbage.freeze()
    running = asyncio.ensure_future(scheduler.run())
    try:
        async with server.serving():
            url = f"http://127.0.0.1:{server.ports[0]}/dashboard/api"
            return await spans(given, cluster, scheduler, dashboard, url)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def spans(
    given: argparse.Namespace,
    cluster: MemoryCluster,
    scheduler: Scheduler,
    dashboard: Dashboard,
    url: str,
) -> dict[str, Any]:
    """Spans without and with viewers, by turns."""
    arrivals = Arrivals(cluster, given.rate)
    await arrivals.come(LIVED_SECONDS + 1.0)
    cpu: dict[bool, list[float]] = {False: [], True: []}
    memory: list[int] = []
    attempts = seconds = spent = 0.0
    for number in range(SPANS):
        looked = bool(number % 2)
        async with Viewers(url, given.viewers if looked else 0):
            await arrivals.come(1.5)
            before = scheduler.attempts, SPENT.seconds, time.perf_counter()
            cpu[looked].append(await _span(arrivals, given.seconds / SPANS))
            if looked:
                attempts += scheduler.attempts - before[0]
                spent += SPENT.seconds - before[1]
                seconds += time.perf_counter() - before[2]
        memory.append(_rss())
    without, with_viewers = (statistics.median(cpu[each]) for each in (False, True))
    return {
        "nodes": given.nodes,
        "viewers": given.viewers,
        "decisions_per_s": round(attempts / seconds, 1),
        "lost_percent": round(100 * spent / seconds, 2),
        "slice_ms": round(1000 * SPENT.longest, 1),
        "cpu_percent": round(100 * without, 1),
        "cpu_percent_with_viewers": round(100 * with_viewers, 1),
        "full_speed": await _full_speed(given, arrivals, scheduler, url),
        "rss_mb": [each >> 10 for each in memory],
        "snapshots": dashboard.viewers.snapshots,
    }


async def _span(arrivals: Arrivals, seconds: float) -> float:
    """The part of a core that was used."""
    begun, used = time.perf_counter(), time.process_time()
    await arrivals.come(seconds)
    return (time.process_time() - used) / (time.perf_counter() - begun)


async def _full_speed(
    given: argparse.Namespace, arrivals: Arrivals, scheduler: Scheduler, url: str
) -> dict[str, float]:
    """CPU of a pod while many wait, without and with viewers."""
    cpu: dict[bool, list[float]] = {False: [], True: []}
    for number in range(4):
        looked = bool(number % 2)
        async with Viewers(url, given.viewers if looked else 0):
            cpu[looked].append(await _burst(arrivals, scheduler, given.burst))
    without, with_viewers = min(cpu[False]), min(cpu[True])
    return {
        "cpu_ms_per_pod": round(1000 * without, 3),
        "cpu_ms_per_pod_with_viewers": round(1000 * with_viewers, 3),
        "lost_percent": round(100 * (1 - without / with_viewers), 1),
    }


async def _burst(arrivals: Arrivals, scheduler: Scheduler, pods: int) -> float:
    scheduler.active.clear()
    for _ in range(pods):
        arrivals.put()
    await asyncio.sleep(1.0)
    until = scheduler.attempts + pods
    used = time.process_time()
    scheduler.active.set()
    scheduler.wake()
    while True:
        if scheduler.attempts >= until:
            await scheduler.settled()
            return (time.process_time() - used) / pods
        await asyncio.sleep(0.01)


def _rss() -> int:
    """Kilobytes held now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--viewers", type=int, default=3)
    parser.add_argument("--burst", type=int, default=3000)
    SPENT.install()
    print(json.dumps(asyncio.run(measure(parser.parse_args()))))


if __name__ == "__main__":
    main()
