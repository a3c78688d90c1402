"""All that is served, for one scheduler."""

from collections.abc import Iterable

from moorage.config.types import SchedulerConfiguration
from moorage.observe.logs import Logs
from moorage.observe.metrics import Metrics
from moorage.scheduler import Scheduler
from moorage.serve.authorizing import Authorizer, Create
from moorage.serve.configuring import InForce
from moorage.serve.health import Check, Health, Why
from moorage.serve.listening import Listener
from moorage.serve.server import Server
from moorage.serve.watchdog import Watchdog


def server(
    scheduler: Scheduler,
    configuration: SchedulerConfiguration,
    *,
    metrics: Metrics,
    listeners: Iterable[Listener],
    create: Create | None = None,
    logs: Logs | None = None,
    leader: Why | None = None,
) -> Server:
    """A server for a scheduler that `metrics` observes.

    `create` is the API server's, to ask who may look; `leader` tells why this replica can neither
    lead nor stand by. The caller runs `Server.run` beside the scheduler.
    """
    watchdog = Watchdog(scheduler)
    metrics.follow(scheduler)
    metrics.lag = watchdog.lag
    election = [] if leader is None else [Check("leaderElection", leader)]
    return Server(
        listeners,
        health=Health(
            live=[Check("scheduling-loop", watchdog.stuck), *election],
            ready=[Check("sched-handler-sync", lambda: _unsynced(scheduler)), *election],
        ),
        metrics=metrics,
        configz=InForce(configuration, metrics.configured).configz,
        authorizer=None if create is None else Authorizer(create),
        logs=logs,
        watchdog=watchdog,
        profiling=configuration.enable_profiling,
    )


def _unsynced(scheduler: Scheduler) -> str | None:
    if scheduler.synced:
        return None
    missing = [plural for plural, found in scheduler.reflectors.items() if not found.synced]
    return f"not listed yet: {', '.join(missing)}"
