"""Builds the HTTP server of a scheduler: its health checks, its metrics and its further pages.

It imports aiohttp, so it is itself imported only when a server opens (`moorage.app.services`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from moorage.config.types import SchedulerConfiguration
from moorage.observe.adaptive_strategies import strategies_by_profile
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.logs import Logs
from moorage.observe.prometheus_metrics import Metrics
from moorage.rollout.rollback import Canaries
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.callers import Callers
from moorage.serve.configz import ActiveConfiguration
from moorage.serve.gate import Gate
from moorage.serve.health import Check, FailureReason, Health
from moorage.serve.http_server import Pages, Server
from moorage.serve.loop_watchdog import LoopWatchdog
from moorage.serve.open_listener import OpenListener
from moorage.serve.questions import Question
from moorage.serve.secure_serving import Listener

LATE_SECONDS: Final = 20.0
"""How long, as in kube, a leader whose lease has expired still counts as healthy."""


def build_server(
    scheduler: Scheduler,
    configuration: SchedulerConfiguration | ActiveConfiguration,
    *,
    metrics: Metrics,
    listeners: Sequence[Listener | OpenListener],
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

    `gate` decides which callers may read. `leader` says why this replica can neither lead nor stand
    by, and `outdated` why it attempts no pods although it leads. `pages` makes further pages, given
    the health checks. The caller must run `Server.run` beside the scheduler.
    """
    held = (
        configuration
        if isinstance(configuration, ActiveConfiguration)
        else ActiveConfiguration(configuration)
    )
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
    """The part of an elector that health checks read."""

    @property
    def leading(self) -> bool: ...
    @property
    def seconds_left(self) -> float: ...


class FreshView(Protocol):
    """The part of `Freshness` that health checks read."""

    @property
    def behind(self) -> list[str]: ...


class ServedProcess(Protocol):
    """The part of a `RunProcess` that is served."""

    @property
    def scheduler(self) -> Scheduler: ...
    @property
    def in_force(self) -> ActiveConfiguration: ...
    @property
    def elector(self) -> Elector | None: ...
    @property
    def freshness(self) -> FreshView: ...
    @property
    def stopping(self) -> bool: ...


async def serve_process(
    process: ServedProcess,
    listeners: Sequence[OpenListener],
    callers: Callers,
    *,
    metrics: Metrics,
    logs: Logs | None = None,
    decisions: DecisionRecords | None = None,
    questions: Mapping[str, Question] | None = None,
    pages: Callable[[Health], Pages | None] = lambda health: None,
) -> None:
    """Serve the health, metrics and pages of a process, for as long as it lasts."""
    await build_server(
        process.scheduler,
        process.in_force,
        metrics=metrics,
        listeners=listeners,
        gate=Gate.of(callers),
        logs=logs,
        leader=lambda: lease_overdue(process.elector),
        outdated=lambda: _outdated(process.freshness),
        stopping=lambda: process.stopping,
        decisions=decisions,
        questions=questions,
        pages=pages,
    ).run()


def lease_overdue(elector: Elector | None) -> str | None:
    """Why a leader is unhealthy: its lease has expired long ago; None if it has not."""
    if elector is None or not elector.leading or elector.seconds_left > -LATE_SECONDS:
        return None
    return f"the lease ran out {-elector.seconds_left:.0f} s ago"
