"""What viewers of the dashboard cost the scheduler: its throughput, its CPU, its memory.

.venv/bin/python bench/dashboard.py [--nodes 5000] [--rate 500] [--seconds 20] [--viewers 3]

One JSON line. The scheduler works on the embedded cluster, with records and metrics as in `moorage
run`; the viewers are a process of their own and look at every view by turns, the last of them reads
a kilobyte a second. Pods come at the rate, and leave after a while; spans without and with viewers
alternate. `lost_percent` is the CPU that the dashboard's tasks take in a second, of the core that
decides: the part of its throughput that it loses; `cpu_percent` is that of the whole process, for
comparison on a machine that does nothing else. `full_speed` is the CPU of a pod while many wait,
medians of bursts; `dashboard_ms_per_beat` is the dashboard's own, and `lost_percent` what four
beats a second take of a core, however slow the machine is. `slice_ms` is the longest that the
dashboard held the event loop, without garbage collections: those fall upon whoever makes the next
object, and the longest is told as `collection_ms`. For memory over minutes, of the scheduler and of
the page: bench/dashboard_memory.py.
"""

import argparse
import asyncio
import gc
import json
import multiprocessing
import random
import resource
import statistics
import time
from asyncio.events import Handle
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import aiohttp

from moorage import garbage
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.dashboard_sources import scheduler_sources
from moorage.app.profile_builder import build_profiles
from moorage.clock import SystemClock
from moorage.config.loader import load
from moorage.dashboard.dashboard import Dashboard
from moorage.dashboard.viewers import BEAT_SECONDS
from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
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
HISTORY = 5000
"""Changes that the embedded cluster keeps for watches; an API server keeps them elsewhere."""
SPANS = 6
BURSTS = 3
OTHERS = ("decisions?limit=200", "compare", "health")


def view(url: str, slow: bool) -> None:
    """Be a viewer, until terminated: fetch the cluster when told to, read the stream."""
    asyncio.run(_view(url, slow))


async def _view(url: str, slow: bool) -> None:
    async with aiohttp.ClientSession(read_bufsize=1024) as session, asyncio.TaskGroup() as tasks:
        async with session.get(f"{url}/cluster") as answer:
            await answer.read()
        if not slow:
            tasks.create_task(_ask(session, url))
        async with session.get(f"{url}/stream", timeout=aiohttp.ClientTimeout(None)) as stream:
            while True:
                if slow:
                    await stream.content.read(1024)
                    await asyncio.sleep(1.0)
                    continue
                if b'{"snapshot":true}' in await stream.content.readany():
                    async with session.get(f"{url}/cluster") as answer:
                        await answer.read()


async def _ask(session: aiohttp.ClientSession, url: str) -> None:
    """Every view by turns, each as often as the page asks for it."""
    while True:
        for view in ("queue?limit=200", "decisions?limit=1", "queue?limit=200", *OTHERS):
            async with session.get(f"{url}/{view}") as answer:
                await answer.read()
            await asyncio.sleep(1.0)


class Viewers:
    """Processes that look, for as long as the block lasts."""

    def __init__(self, dashboard: Dashboard, url: str, count: int) -> None:
        made = multiprocessing.get_context("spawn").Process
        self._processes = [made(target=view, args=(url, i == count - 1)) for i in range(count)]
        self._looking = dashboard.viewers

    async def __aenter__(self) -> None:
        await asyncio.gather(*(asyncio.to_thread(each.start) for each in self._processes))
        while self._looking.count < len(self._processes):  # noqa: ASYNC110 # nobody tells
            await asyncio.sleep(0.1)

    async def __aexit__(self, *error: Any) -> None:
        for each in self._processes:
            each.terminate()
            await asyncio.to_thread(each.join)


class Spent:
    """CPU that the dashboard takes of the event loop, and the longest it held it at once."""

    def __init__(self) -> None:
        self.seconds = self.longest = self.collection = 0.0
        self.collected = self._began = 0.0
        self._counting = False

    def counted(self, call: Callable[[], None]) -> None:
        """Make one call, without the collections that fall into it."""
        if self._counting:
            call()
            return
        self._counting = True
        before, begun = self.collected, time.thread_time()
        try:
            call()
        finally:
            took = time.thread_time() - begun - (self.collected - before)
            self._counting = False
            self.seconds += took
            self.longest = max(self.longest, took)

    def install(self) -> None:
        """Count every step of the dashboard's tasks, and its way into sockets."""
        gc.callbacks.append(self._collects)
        plain = Handle._run

        def run(handle: Handle) -> None:
            if _is_dashboard(handle._callback):
                self.counted(lambda: plain(handle))
            else:
                plain(handle)

        Handle._run = run

    def _collects(self, phase: str, _: Any) -> None:
        if phase == "start":
            self._began = time.thread_time()
            return
        took = time.thread_time() - self._began
        self.collected += took
        self.collection = max(self.collection, took)


def _is_dashboard(callback: Any) -> bool:
    """Whether a step is of a request, of the beat, or of a socket: there are no others."""
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        name = getattr(owner.get_coro(), "__qualname__", "")
        return name.startswith("RequestHandler.") or owner.get_name() == "dashboard/beat"
    return isinstance(owner, asyncio.Transport)


SPENT = Spent()
Look = Callable[
    [argparse.Namespace, MemoryCluster, Scheduler, Dashboard, str], Awaitable[dict[str, Any]]
]


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


async def measure(given: argparse.Namespace, look: Look) -> dict[str, Any]:
    """Run a scheduler with a dashboard, for as long as somebody looks at it."""
    clock, rng = SystemClock(), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng, options=ClusterOptions(history=HISTORY))
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
    later = sources.cluster.later
    cluster_source = sources.cluster._replace(later=lambda work: later(lambda: SPENT.counted(work)))
    dashboard = Dashboard(sources._replace(cluster=cluster_source))
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
            return await look(given, cluster, scheduler, dashboard, url)
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
        async with Viewers(dashboard, url, given.viewers if looked else 0):
            await arrivals.come(1.5)
            before = scheduler.attempts, SPENT.seconds, time.perf_counter()
            cpu[looked].append(await _span(arrivals, given.seconds / SPANS))
            if looked:
                attempts += scheduler.attempts - before[0]
                spent += SPENT.seconds - before[1]
                seconds += time.perf_counter() - before[2]
        memory.append(resident_kilobytes())
    without, with_viewers = (statistics.median(cpu[each]) for each in (False, True))
    return {
        "nodes": given.nodes,
        "viewers": given.viewers,
        "decisions_per_s": round(attempts / seconds, 1),
        "lost_percent": round(100 * spent / seconds, 2),
        "slice_ms": round(1000 * SPENT.longest, 1),
        "collection_ms": round(1000 * SPENT.collection, 1),
        "cpu_percent": round(100 * without, 1),
        "cpu_percent_with_viewers": round(100 * with_viewers, 1),
        "full_speed": await _full_speed(given, arrivals, scheduler, dashboard, url),
        "rss_mb": [each >> 10 for each in memory],
        "snapshots": dashboard.viewers.snapshots,
    }


async def _span(arrivals: Arrivals, seconds: float) -> float:
    """The part of a core that was used."""
    begun, used = time.perf_counter(), time.process_time()
    await arrivals.come(seconds)
    return (time.process_time() - used) / (time.perf_counter() - begun)


async def _full_speed(
    given: argparse.Namespace,
    arrivals: Arrivals,
    scheduler: Scheduler,
    dashboard: Dashboard,
    url: str,
) -> dict[str, float]:
    """CPU of a pod while many wait: all of it without and with viewers, and the dashboard's own."""
    found: dict[bool, list[Burst]] = {False: [], True: []}
    for number in range(2 * BURSTS):
        looked = bool(number % 2)
        async with Viewers(dashboard, url, given.viewers if looked else 0):
            found[looked].append(await _burst(arrivals, scheduler, given.burst))
    without, looked_at = [
        Burst(*map(statistics.median, zip(*found[each], strict=True))) for each in (False, True)
    ]
    return {
        "cpu_ms_per_pod": round(without.cpu, 3),
        "cpu_ms_per_pod_with_viewers": round(looked_at.cpu, 3),
        "collections_ms_per_pod": round(without.collections, 3),
        "collections_ms_per_pod_with_viewers": round(looked_at.collections, 3),
        "dashboard_ms_per_beat": round(looked_at.per_beat, 2),
        "lost_percent": round(looked_at.per_beat / (10 * BEAT_SECONDS), 1),
    }


class Burst(NamedTuple):
    """Milliseconds of CPU: of a pod, and of the dashboard from beat to beat."""

    cpu: float
    collections: float
    per_beat: float


async def _burst(arrivals: Arrivals, scheduler: Scheduler, pods: int) -> Burst:
    scheduler.active.clear()
    for _ in range(pods):
        arrivals.put()
    await asyncio.sleep(1.0)
    until = scheduler.attempts + pods
    cpu, collected, spent = time.process_time(), SPENT.collected, SPENT.seconds
    begun = time.perf_counter()
    scheduler.active.set()
    scheduler.wake()
    while scheduler.attempts < until:  # noqa: ASYNC110 # nobody tells
        await asyncio.sleep(0.01)
    await scheduler.settled()
    beats = (time.perf_counter() - begun) / BEAT_SECONDS
    return Burst(
        1000 * (time.process_time() - cpu) / pods,
        1000 * (SPENT.collected - collected) / pods,
        1000 * (SPENT.seconds - spent) / beats,
    )


def resident_kilobytes() -> int:
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
    print(json.dumps(asyncio.run(measure(parser.parse_args(), spans))))


if __name__ == "__main__":
    main()
