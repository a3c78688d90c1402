"""A scheduler that has worked for a while, its dashboard, and somebody who asks it."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import aiohttp

from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.dashboard_sources import scheduler_sources
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.dashboard.dashboard import Dashboard
from moorage.dashboard.sources import Sources
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.prometheus_metrics import Metrics
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.health import Health
from moorage.serve.http_server import Server
from moorage.serve.secure_serving import Listener
from moorage.testing import NodeBuilder, PodBuilder

T = TypeVar("T")
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}}}],
}


class Finished(NamedTuple):
    """A scheduler whose time has ended, and what there is to see of it."""

    scheduler: Scheduler
    sources: Sources
    records: DecisionRecords


async def explained(pod: str) -> Any:
    """Stands for whoever explains."""
    if pod != "default/huge":
        raise LookupError(f"no pod {pod}")
    return {"state": "pending", "pod": pod}


def finished(
    *objects: NodeBuilder | PodBuilder | dict[str, Any],
    seconds: float = 30,
    config: dict[str, Any] = CONFIG,
) -> Finished:
    """Run the scheduler for a while."""
    clock = VirtualClock(1_800_000_000.0)
    cluster = MemoryCluster(clock=clock, rng=random.Random(1))
    for obj in objects:
        if isinstance(obj, dict):
            cluster.apply(obj)
            continue
        kind = "Node" if isinstance(obj, NodeBuilder) else "Pod"
        cluster.apply({"apiVersion": "v1", "kind": kind, **obj.raw})
    known = built_in_plugins.built_in()
    loaded = load(config, known=built_in_plugins.describe_plugins(known))
    profiles = build_profiles(loaded.configuration, known)
    metrics, records = Metrics(sampled=1.0), DecisionRecords()

    async def main() -> Scheduler:
        scheduler = assemble(
            cluster, profiles, clock=clock, rng=random.Random(0), observers=(metrics, records)
        )
        running = asyncio.ensure_future(scheduler.run())
        await clock.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return scheduler

    scheduler = run_virtual(main(), clock)
    sources = scheduler_sources(
        scheduler, records, "simulate", live=False, explain=explained, timings=metrics.timings
    )
    return Finished(scheduler, sources, records)


class Asker:
    """Asks a dashboard that is being served."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url

    async def json(self, path: str) -> Any:
        """The answer to `api/PATH`, which has to be JSON."""
        async with self.session.get(f"{self.url}/dashboard/api/{path}") as answer:
            assert answer.status == 200, await answer.text()
            assert answer.content_type == "application/json"
            return await answer.json()

    async def refused(self, path: str) -> tuple[int, str]:
        """How a question is refused."""
        async with self.session.get(f"{self.url}/dashboard/api/{path}") as answer:
            return answer.status, await answer.text()


def asking(sources: Sources, ask: Callable[[Asker], Awaitable[T]]) -> T:
    """Serve a dashboard while somebody asks it."""

    async def main() -> T:
        async with serving(Dashboard(sources)) as asker:
            return await ask(asker)

    return asyncio.run(main())


class serving:
    """A dashboard that is served for as long as the block lasts."""

    def __init__(self, dashboard: Dashboard) -> None:
        listener = Listener("127.0.0.1", 0, None)
        self._server = Server(
            [listener], health=Health(), metrics=Metrics(), configz=dict, pages=dashboard
        )

    async def __aenter__(self) -> Asker:
        self._serving = self._server.serving()
        await self._serving.__aenter__()
        self._session = aiohttp.ClientSession()
        return Asker(self._session, f"http://127.0.0.1:{self._server.ports[0]}")

    async def __aexit__(self, *error: Any) -> None:
        await self._session.close()
        await self._serving.__aexit__(None, None, None)


def get(sources: Sources, path: str) -> Any:
    """The JSON of one view."""
    return asking(sources, lambda asker: asker.json(path))
