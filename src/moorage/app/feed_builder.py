"""Builds the feeds of a scheduler's profiles: which reader serves which source."""

from collections.abc import Iterable
from typing import Final, Protocol

from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.feeds.feeds import Feeds, OpenReader
from moorage.feeds.latency_readers import ConfigMapLatencies, FileLatencies
from moorage.feeds.metrics_server import MetricsServerUsage
from moorage.feeds.node_resource_topology import TopologyReader
from moorage.feeds.price_readers import ConfigMapPrices, FilePrices
from moorage.feeds.readings import Reader
from moorage.feeds.strategy_state import StrategyReader
from moorage.framework.events import MEASURED
from moorage.policies.telemetry.metric_sources import (
    PROMETHEUS,
    EnergySource,
    LatencyConfigMap,
    LatencyFile,
    PriceConfigMap,
    PriceFile,
    Source,
    StrategyConfigMap,
    TopologySource,
    UsageSource,
)
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.watch.api_server import ApiServer

SYNC_LOOK_SECONDS: Final = 0.05


class Scheduler(Protocol):
    """As much of a scheduler as feeds need."""

    @property
    def in_force(self) -> Iterable[Profile]: ...
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


async def run_once_synced(scheduler: Scheduler, feeds: Feeds) -> None:
    """Feed for ever, once the nodes are known whose names and addresses measurements go by."""
    while not scheduler.synced:
        await scheduler.clock.sleep(SYNC_LOOK_SECONDS)
    await feeds.run()


def build_feeds(
    scheduler: Scheduler, open: OpenReader | None = None, beside: Iterable[Profile] = ()
) -> Feeds:
    """The feeds of a scheduler's profiles, canaries included, and of some beside them.

    `open` reads in place of the network.
    """
    others = tuple(beside)

    def arrived() -> None:
        scheduler.queue.move(MEASURED, None, None, scheduler.clock.now())
        scheduler.wake()

    reading = network_readers(scheduler) if open is None else open
    return Feeds(lambda: (*scheduler.in_force, *others), reading, scheduler.clock, arrived)


def network_readers(scheduler: Scheduler) -> OpenReader:
    """Who reads a source for real."""
    server, clock = scheduler.server, scheduler.clock

    def open(source: Source) -> Reader | None:
        match source:
            case UsageSource(provider) if provider.type == PROMETHEUS:
                return _prometheus_reader(source, scheduler.cache)
            case UsageSource():
                return MetricsServerUsage(server, clock)
            case EnergySource():
                return _prometheus_reader(source, scheduler.cache)
            case LatencyConfigMap():
                return ConfigMapLatencies(source, server, clock)
            case LatencyFile():
                return FileLatencies(source, clock)
            case PriceFile():
                return FilePrices(source)
            case PriceConfigMap():
                return ConfigMapPrices(source, server)
            case TopologySource():
                return TopologyReader(server)
            case StrategyConfigMap():
                return StrategyReader(source, server)
        return None

    return open


def _prometheus_reader(source: UsageSource | EnergySource, cache: Cache) -> Reader:
    from moorage.feeds import prometheus_feed  # aiohttp: few read Prometheus

    def names() -> dict[str, str]:
        found = cache.table.nodes
        return prometheus_feed.node_names_by_alias(node for node in found if node is not None)

    if isinstance(source, UsageSource):
        return prometheus_feed.PrometheusUsage(source.provider, names)
    return prometheus_feed.PrometheusEnergy(source.provider, names)
