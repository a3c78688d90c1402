"""The network reader for each source; imported with the first source that is listed."""

from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.feeds.latency_readers import ConfigMapLatencies, FileLatencies
from moorage.feeds.metrics_server import MetricsServerUsage
from moorage.feeds.node_resource_topology import TopologyReader
from moorage.feeds.price_readers import ConfigMapPrices, FilePrices
from moorage.feeds.readings import Reader
from moorage.feeds.strategy_state import StrategyReader
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
from moorage.watch.api_server import ApiServer


def open_reader(source: Source, server: ApiServer, clock: Clock, cache: Cache) -> Reader | None:
    """The reader for a source; None if there is none."""
    match source:
        case UsageSource(provider) if provider.type == PROMETHEUS:
            return _prometheus_reader(source, cache)
        case UsageSource():
            return MetricsServerUsage(server, clock)
        case EnergySource():
            return _prometheus_reader(source, cache)
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


def _prometheus_reader(source: UsageSource | EnergySource, cache: Cache) -> Reader:
    from moorage.feeds import prometheus_feed  # aiohttp: few read Prometheus

    def names() -> dict[str, str]:
        found = cache.table.nodes
        return prometheus_feed.node_names_by_alias(node for node in found if node is not None)

    if isinstance(source, UsageSource):
        return prometheus_feed.PrometheusUsage(source.provider, names)
    return prometheus_feed.PrometheusEnergy(source.provider, names)
