"""All that is served, for one scheduler; and for a process that holds one."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from moorage.config.types import SchedulerConfiguration
from moorage.observe.logs import Logs
from moorage.observe.metrics import Metrics
from moorage.observe.strategies import in_force
from moorage.scheduler import Scheduler
from moorage.serve.authorizing import Authorizer, Create
from moorage.serve.configuring import InForce
from moorage.serve.health import Check, Health, Why
from moorage.serve.listening import Listener
from moorage.serve.server import Server
from moorage.serve.watchdog import Watchdog

LATE_SECONDS: Final = 20.0
"""How long after its lease ran out a process that believes to lead is let live, as in kube."""


def server(
    scheduler: Scheduler,
    configuration: SchedulerConfiguration | InForce,
    *,
    metrics: Metrics,
    listeners: Sequence[Listener],
    create: Create | None = None,
    logs: Logs | None = None,
    leader: Why | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Server:
    """A server for a scheduler that `metrics` observes.

    `create` is the API server's, to ask who may look; `leader` tells why this replica can neither
    lead nor stand by. The caller runs `Server.run` beside the scheduler.
    """
    held = configuration if isinstance(configuration, InForce) else InForce(configuration)
    held.tell(metrics.configured)
    metrics.configured(held.generation, held.digest, scheduler.canarying.percents())
    watchdog = Watchdog(scheduler)
    metrics.follow(scheduler)
    metrics.lag = watchdog.lag
    election = [] if leader is None else [Check("leaderElection", leader)]
    return Server(
        listeners,
        health=Health(
            live=[Check("scheduling-loop", watchdog.stuck), *election],
            ready=[Check("sched-handler-sync", lambda: _unsynced(scheduler)), *election],
            stopping=stopping,
        ),
        metrics=metrics,
        configz=held.configz,
        authorizer=None if create is None else Authorizer(create),
        logs=logs,
        watchdog=watchdog,
        profiling=held.configuration.enable_profiling,
        strategies=lambda: in_force(scheduler.profiles),
    )


def _unsynced(scheduler: Scheduler) -> str | None:
    if scheduler.synced:
        return None
    missing = [plural for plural, found in scheduler.reflectors.items() if not found.synced]
    return f"not listed yet: {', '.join(missing)}"


class Elector(Protocol):
    """Whoever takes part in an election."""

    @property
    def leading(self) -> bool: ...
    @property
    def seconds_left(self) -> float: ...


class ApiServer(Protocol):
    """Whoever can be asked."""

    async def create(self, resource: Any, object: dict[str, Any], /) -> dict[str, Any]: ...


class Process(Protocol):
    """One `moorage run`, as far as it is looked at."""

    @property
    def scheduler(self) -> Scheduler | None: ...
    @property
    def in_force(self) -> InForce: ...
    @property
    def server(self) -> ApiServer: ...
    @property
    def elector(self) -> Elector | None: ...
    @property
    def stopping(self) -> bool: ...


def service(
    listeners: Sequence[Listener], metrics: Metrics, logs: Logs | None = None
) -> Callable[[Process], Awaitable[None]]:
    """What a process runs beside its scheduler, once it has one, for as long as it lasts."""

    async def serve(process: Process) -> None:
        if process.scheduler is None:
            raise RuntimeError("the process has no scheduler yet")
        await server(
            process.scheduler,
            process.in_force,
            metrics=metrics,
            listeners=listeners,
            create=process.server.create,
            logs=logs,
            leader=lambda: late(process.elector),
            stopping=lambda: process.stopping,
        ).run()

    return serve


def late(elector: Elector | None) -> str | None:
    """Why a replica may not go on believing that it leads; None where it may, or stands by."""
    if elector is None or not elector.leading or elector.seconds_left > -LATE_SECONDS:
        return None
    return f"the lease ran out {-elector.seconds_left:.0f} s ago"
