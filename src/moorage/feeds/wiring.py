"""Feeds for a scheduler: who reads what, and who hears of it."""

from collections.abc import Iterable
from typing import Final, Protocol

from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.feeds import node_names
from moorage.feeds.feeds import Feeds, Open
from moorage.feeds.kube_metrics import KubeMetrics
from moorage.feeds.latency_readers import ConfigMapLatencies, FileLatencies
from moorage.feeds.prometheus_readers import PrometheusEnergy, PrometheusUsage
from moorage.feeds.readings import Reader
from moorage.framework.events import MEASURED
from moorage.policies.providers import PROMETHEUS
from moorage.policies.sources import (
    EnergySource,
    LatencyConfigMap,
    LatencyFile,
    Source,
    UsageSource,
)
from moorage.queue.queue import SchedulingQueue
from moorage.watch.surface import ApiServer

SYNC_LOOK_SECONDS: Final = 0.05


class Scheduler(Protocol):
    """As much of a scheduler as feeds need."""

    @property
    def lineup(self) -> Iterable[Profile]: ...
    @property
    def server(self) -> ApiServer: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def cache(self) -> Cache: ...
    @property
    def queue(self) -> SchedulingQueue: ...
    @property
    def synced(self) -> bool: ...
    def wake(self) -> None: ...


async def run(scheduler: Scheduler, feeds: Feeds) -> None:
    """Feed for ever, once the nodes are known whose names and addresses measurements go by."""
    while not scheduler.synced:
        await scheduler.clock.sleep(SYNC_LOOK_SECONDS)
    await feeds.run()


def feeds(scheduler: Scheduler, open: Open | None = None, beside: Iterable[Profile] = ()) -> Feeds:
    """The feeds of a scheduler's profiles, canaries included, and of some beside them.

    `open` reads in place of the network.
    """
    others = tuple(beside)

    def arrived() -> None:
        scheduler.queue.move(MEASURED, None, None, scheduler.clock.now())
        scheduler.wake()

    reading = reader_for(scheduler) if open is None else open
    return Feeds(lambda: (*scheduler.lineup, *others), reading, scheduler.clock, arrived)


def reader_for(scheduler: Scheduler) -> Open:
    """Who reads a source for real."""
    server, clock = scheduler.server, scheduler.clock

    def names() -> dict[str, str]:
        found = scheduler.cache.table.nodes
        return node_names.by_any_name(node for node in found if node is not None)

    def open(source: Source) -> Reader | None:
        match source:
            case UsageSource(provider) if provider.type == PROMETHEUS:
                return PrometheusUsage(provider, names)
            case UsageSource():
                return KubeMetrics(server, clock)
            case EnergySource(provider):
                return PrometheusEnergy(provider, names)
            case LatencyConfigMap():
                return ConfigMapLatencies(source, server, clock)
            case LatencyFile():
                return FileLatencies(source, clock)
        return None

    return open
