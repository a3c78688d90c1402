"""What the dashboard of a scheduler shows: its cache, its queue, its records and its features."""

from collections.abc import Callable
from typing import Any

from moorage import __version__
from moorage.api.pod import Pod
from moorage.dashboard.compare_view import CompareSource, canary_row
from moorage.dashboard.gang_rows import gang_rows
from moorage.dashboard.health_view import HealthSource
from moorage.dashboard.node_measures import ProfileMeasures
from moorage.dashboard.plugin_rows import plugin_rows
from moorage.dashboard.pod_verdicts import PodVerdicts
from moorage.dashboard.sources import (
    About,
    ClusterSource,
    Explain,
    KnownPod,
    QueueSource,
    Sources,
)
from moorage.dashboard.tenant_rows import tenant_rows
from moorage.gang.feature import Gangs
from moorage.observe.adaptive_strategies import strategies_by_profile
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.step_timings import Timings
from moorage.rollout.rollback import Canaries
from moorage.scheduler.feature import F
from moorage.scheduler.scheduler import Scheduler
from moorage.tenancy.feature import ElasticQuotas


def scheduler_sources(
    scheduler: Scheduler,
    records: DecisionRecords,
    mode: str,
    *,
    now: Callable[[], float] | None = None,
    instance: str = "",
    live: bool = True,
    leader: Callable[[], bool] = lambda: True,
    generation: Callable[[], int] = lambda: 1,
    explain: Explain | None = None,
    timings: Timings | None = None,
    health: HealthSource | None = None,
) -> Sources:
    """The dashboard's sources for one scheduler; `records` must observe it.

    Filters are asked about pods only if `explain` is given.
    """
    tell_time = scheduler.clock.now if now is None else now
    cache = scheduler.cache

    def about() -> About:
        return About(
            mode=mode,
            version=__version__,
            instance=instance,
            profiles=tuple(scheduler.profiles),
            generation=generation(),
            now=tell_time(),
            live=live,
            leader=leader(),
            can={
                "explain": explain is not None,
                "compare": True,
                "timeline": True,
            },
        )

    def plugins() -> list[dict[str, Any]]:
        return plugin_rows(scheduler.profiles, timings)

    verdicts = PodVerdicts(cache, lambda: scheduler.profiles, tell_time)
    gangs, quotas = _feature(scheduler, Gangs), _feature(scheduler, ElasticQuotas)
    told = HealthSource() if health is None else health
    return Sources(
        about=about,
        now=tell_time,
        cluster=ClusterSource(
            cache,
            scheduler.gate.later,
            _known_pod(scheduler),
            None if explain is None else verdicts,
            ProfileMeasures(lambda: scheduler.profiles),
        ),
        queue=QueueSource(
            scheduler.queue,
            scheduler.waiting,
            list if gangs is None else gang_rows(cache, gangs.groups, records),
            list if quotas is None else tenant_rows(cache, quotas),
        ),
        records=records,
        explain=explain,
        compare=_compared(scheduler, plugins),
        health=told._replace(plugins=plugins),
        timings=timings,
    )


def _compared(scheduler: Scheduler, plugins: Callable[[], list[dict[str, Any]]]) -> CompareSource:
    canaries = _feature(scheduler, Canaries)
    return CompareSource(
        canaries=lambda: (
            [] if canaries is None else [canary_row(each) for each in canaries.shown()]
        ),
        strategies=lambda: strategies_by_profile(scheduler.profiles),
        plugins=plugins,
    )


def _feature(scheduler: Scheduler, kind: type[F]) -> F | None:
    try:
        return scheduler.feature(kind)
    except LookupError:
        return None


def _known_pod(scheduler: Scheduler) -> KnownPod:
    def find(key: str) -> Pod | None:
        found = scheduler.reflectors["pods"].known.get(key)
        return found if isinstance(found, Pod) else None

    return find
