"""What runs beside the scheduler in one process: the HTTP server, feeds, strategy metrics."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from moorage.app import feed_builder
from moorage.app.run_process import RunProcess
from moorage.clock import within
from moorage.feeds.feeds import Feed, Feeds
from moorage.feeds.strategy_state import StrategyWriter
from moorage.observe.adaptive_strategies import Strategies
from moorage.observe.namespace_costs import NamespaceCosts
from moorage.observe.prometheus_metrics import Metrics
from moorage.serve.callers import Callers
from moorage.serve.loop_watchdog import LoopWatchdog
from moorage.serve.open_listener import OpenListener, open_listeners
from moorage.serve.secure_serving import Listener

SERVE_WITHIN_SECONDS: Final = 1.0
"""How long requests for health may have to wait for the first lists."""

Serve = Callable[[RunProcess, Sequence[OpenListener], Callers], Awaitable[None]]
"""Serves a process, for as long as it lasts."""


def http_service(
    listeners: Sequence[Listener],
    callers: Callable[[], AbstractAsyncContextManager[Callers]],
    load: Callable[[], Serve],
) -> Callable[[RunProcess], Awaitable[None]]:
    """A service that answers at `listeners`, with what `load` imports.

    1. Ports are opened, and certificates read, at once, so that their errors are reported first.
    2. Wait until everything is listed, or for `SERVE_WITHIN_SECONDS`: importing a server takes as
       long as listing.
    3. `load` runs in a thread, so that pods are scheduled meanwhile. Then requests are answered,
       those that have been waiting too.
    """

    async def serve(process: RunProcess) -> None:
        if not listeners:
            await LoopWatchdog(process.scheduler).run()
        with open_listeners(listeners) as opened:
            async with callers() as known:
                with suppress(TimeoutError):
                    await within(process.clock, SERVE_WITHIN_SECONDS, process.listed())
                serving = await asyncio.to_thread(load)
                await serving(process, opened, known)

    return serve


class FeedService:
    """A service that runs the feeds of the process's plugins; their ages are in `metrics`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._feeds: Feeds | None = None

    async def __call__(self, process: RunProcess) -> None:
        """Run the feeds for as long as the process lasts."""
        self._feeds = feeds = feed_builder.build_feeds(process.scheduler)
        self._metrics.register(feeds)
        await feed_builder.run_once_synced(process.scheduler, feeds)

    def running(self) -> list[Feed]:
        """The feeds that are running."""
        return [] if self._feeds is None else list(self._feeds.feeds.values())


def client_service(metrics: Metrics) -> Callable[[RunProcess], Awaitable[None]]:
    """A service that adds the requests to the API server to `metrics`."""

    async def show(process: RunProcess) -> None:
        metrics.register(process.server.requests)
        await asyncio.Event().wait()

    return show


def strategy_service(metrics: Metrics) -> Callable[[RunProcess], Awaitable[None]]:
    """A service that reports learnt placement strategies, also in `metrics`."""

    async def tell(process: RunProcess) -> None:
        strategies = Strategies(lambda: process.scheduler.profiles)
        metrics.register(strategies)
        scheduler = process.scheduler
        metrics.register(NamespaceCosts(lambda: scheduler.profiles, scheduler.cache))
        leads = scheduler.active.is_set
        writer = StrategyWriter(scheduler.server, lambda: scheduler.in_force if leads() else ())
        async with asyncio.TaskGroup() as both:
            both.create_task(strategies.run(process.clock), name="strategies/tell")
            both.create_task(writer.run(process.clock), name="strategies/write")

    return tell
