"""What runs beside the scheduler in one process: the HTTP server, feeds, strategy metrics."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, Protocol

from moorage.app import feed_builder
from moorage.app.run_process import RunProcess
from moorage.config.types import SchedulerConfiguration
from moorage.feeds.feeds import Feed, Feeds
from moorage.feeds.strategy_state import StrategyWriter
from moorage.observe.adaptive_strategies import Strategies, strategies_by_profile
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.logs import Logs
from moorage.observe.namespace_costs import NamespaceCosts
from moorage.observe.prometheus_metrics import Metrics
from moorage.rollout.rollback import Canaries
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.configz import ActiveConfiguration
from moorage.serve.gate import Gate
from moorage.serve.health import Check, FailureReason, Health
from moorage.serve.http_server import Pages, Server
from moorage.serve.loop_watchdog import LoopWatchdog
from moorage.serve.questions import Question
from moorage.serve.secure_serving import Listener

LATE_SECONDS: Final = 20.0
"""How long after its lease ran out a process that believes to lead is let live, as in kube."""


def build_server(
    scheduler: Scheduler,
    configuration: SchedulerConfiguration | ActiveConfiguration,
    *,
    metrics: Metrics,
    listeners: Sequence[Listener],
    gate: Gate | None = None,
    logs: Logs | None = None,
    leader: FailureReason | None = None,
    outdated: FailureReason | None = None,
    stopping: Callable[[], bool] = lambda: False,
    decisions: DecisionRecords | None = None,
    questions: Mapping[str, Question] | None = None,
    pages: Callable[[Health], Pages | None] = lambda health: None,
) -> Server:
    """A server for a scheduler that `metrics` observes.

    `gate` tells who may look; `leader` why this replica can neither lead nor stand by, `outdated`
    why it attempts nothing although it leads; `pages` are more to serve, which may tell of its
    health. The caller runs `Server.run` beside the scheduler.
    """
    held = (
        configuration
        if isinstance(configuration, ActiveConfiguration)
        else ActiveConfiguration(configuration)
    )
    held.tell(metrics.configured)
    metrics.configured(held.generation, held.digest, scheduler.feature(Canaries).percents())
    watchdog = LoopWatchdog(scheduler)
    metrics.follow(scheduler)
    metrics.lag = watchdog.lag
    election = [] if leader is None else [Check("leaderElection", leader)]
    freshness = [] if outdated is None else [Check("up-to-date", outdated)]
    health = Health(
        live=[Check("scheduling-loop", watchdog.stuck), *election],
        ready=[
            Check("sched-handler-sync", lambda: _unsynced(scheduler)),
            *freshness,
            *election,
        ],
        stopping=stopping,
    )
    return Server(
        listeners,
        health=health,
        metrics=metrics,
        configz=held.configz,
        gate=gate,
        logs=logs,
        watchdog=watchdog,
        profiling=held.configuration.enable_profiling,
        strategies=lambda: strategies_by_profile(scheduler.profiles),
        decisions=decisions,
        questions=questions,
        pages=pages(health),
    )


def _unsynced(scheduler: Scheduler) -> str | None:
    if scheduler.synced:
        return None
    missing = [plural for plural, found in scheduler.reflectors.items() if not found.synced]
    return f"not listed yet: {', '.join(missing)}"


def _outdated(freshness: "FreshView") -> str | None:
    behind = freshness.behind
    return f"not up to date yet: {', '.join(behind)}" if behind else None


class Elector(Protocol):
    """Whoever takes part in an election."""

    @property
    def leading(self) -> bool: ...
    @property
    def seconds_left(self) -> float: ...


class FreshView(Protocol):
    """Whoever knows what has to be waited for."""

    @property
    def behind(self) -> list[str]: ...


class ServedProcess(Protocol):
    """One `moorage run`, as far as it is looked at."""

    @property
    def scheduler(self) -> Scheduler | None: ...
    @property
    def in_force(self) -> ActiveConfiguration: ...
    @property
    def elector(self) -> Elector | None: ...
    @property
    def freshness(self) -> FreshView: ...
    @property
    def stopping(self) -> bool: ...


def http_service(
    listeners: Sequence[Listener],
    metrics: Metrics,
    logs: Logs | None = None,
    gate: Callable[[], AbstractAsyncContextManager[Gate]] = lambda: nullcontext(Gate(None)),
    decisions: DecisionRecords | None = None,
    questions: Callable[["ServedProcess"], Mapping[str, Question]] = lambda _: {},
    pages: Callable[["ServedProcess", Health], Pages | None] = lambda process, health: None,
) -> Callable[[ServedProcess], Awaitable[None]]:
    """What a process runs beside its scheduler, once it has one, for as long as it lasts."""

    async def serve(process: ServedProcess) -> None:
        if process.scheduler is None:
            raise RuntimeError("the process has no scheduler yet")
        async with gate() as opened:
            await build_server(
                process.scheduler,
                process.in_force,
                metrics=metrics,
                listeners=listeners,
                gate=opened,
                logs=logs,
                leader=lambda: lease_overdue(process.elector),
                outdated=lambda: _outdated(process.freshness),
                stopping=lambda: process.stopping,
                decisions=decisions,
                questions=questions(process),
                pages=lambda health: pages(process, health),
            ).run()

    return serve


def lease_overdue(elector: Elector | None) -> str | None:
    """Why a replica may not go on believing that it leads; None where it may, or stands by."""
    if elector is None or not elector.leading or elector.seconds_left > -LATE_SECONDS:
        return None
    return f"the lease ran out {-elector.seconds_left:.0f} s ago"


class FeedService:
    """A service that reads what the plugins of the process ask for; its ages are in `metrics`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._feeds: Feeds | None = None

    async def __call__(self, process: RunProcess) -> None:
        """Read, for as long as the process lasts."""
        self._feeds = feeds = feed_builder.build_feeds(process.scheduler)
        self._metrics.registry.register(feeds)
        await feed_builder.run_once_synced(process.scheduler, feeds)

    def running(self) -> list[Feed]:
        """What is being read."""
        return [] if self._feeds is None else list(self._feeds.feeds.values())


def client_service(metrics: Metrics) -> Callable[[RunProcess], Awaitable[None]]:
    """A service that shows the requests to the API server in `metrics`."""

    async def show(process: RunProcess) -> None:
        metrics.registry.register(process.server.requests)
        await asyncio.Event().wait()

    return show


def strategy_service(metrics: Metrics) -> Callable[[RunProcess], Awaitable[None]]:
    """A service that says how pods are placed where that is learnt, and tells `metrics`."""

    async def tell(process: RunProcess) -> None:
        strategies = Strategies(lambda: process.scheduler.profiles)
        metrics.registry.register(strategies)
        scheduler = process.scheduler
        metrics.registry.register(NamespaceCosts(lambda: scheduler.profiles, scheduler.cache))
        writer = StrategyWriter(scheduler.server, lambda: scheduler.in_force)
        async with asyncio.TaskGroup() as both:
            both.create_task(strategies.run(process.clock), name="strategies/tell")
            both.create_task(writer.run(process.clock), name="strategies/write")

    return tell
