"""Feeds of a simulation: NodeMetrics and latencies from manifests, not the network.

NodeMetrics objects among the manifests replace every usage source that the plugins configure; one
without a timestamp counts as measured now. A ConfigMap of latencies is read from the embedded
cluster, a file of latencies from the disk.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from moorage.api import mismatch
from moorage.clock import Clock
from moorage.config.field_errors import InputError
from moorage.feeds import metrics_server
from moorage.feeds.feeds import OpenReader
from moorage.feeds.latency_readers import ConfigMapLatencies, FileLatencies
from moorage.feeds.metrics_server import NODE_METRICS, NodeMetrics
from moorage.feeds.price_readers import ConfigMapPrices, FilePrices
from moorage.feeds.readings import CONFIG_MAPS, FeedError, Reader, Usages
from moorage.feeds.strategy_state import StrategyReader
from moorage.memory.memory_cluster import MemoryCluster
from moorage.policies.telemetry.metric_sources import (
    LatencyConfigMap,
    LatencyFile,
    PriceConfigMap,
    PriceFile,
    Source,
    StrategyConfigMap,
    UsageSource,
)
from moorage.simulate.manifest_files import Manifest


def is_measurement(raw: dict[str, Any]) -> bool:
    """Whether an object is a NodeMetrics, which is not stored in the cluster."""
    group = str(raw.get("apiVersion") or "").partition("/")[0]
    return raw.get("kind") == NODE_METRICS.kind and group == NODE_METRICS.group


def is_read_by_feeds(raw: dict[str, Any]) -> bool:
    """Whether feeds may read an object."""
    return is_measurement(raw) or (raw.get("kind"), raw.get("apiVersion")) == ("ConfigMap", "v1")


def split_measurements(manifests: Iterable[Manifest]) -> tuple[list[Manifest], list[NodeMetrics]]:
    """The manifests of the cluster's objects, and the NodeMetrics."""
    objects: list[Manifest] = []
    measured: list[NodeMetrics] = []
    problems: list[str] = []
    for manifest in manifests:
        if is_measurement(manifest.raw):
            try:
                measured.append(_node_metrics(manifest.raw))
            except msgspec.ValidationError as error:
                misfit = mismatch.explain_mismatch(str(error), manifest.raw)
                problems.append(f"{manifest.place}: NodeMetrics: {misfit.path}: {misfit.problem}")
            except FeedError as error:
                problems.append(f"{manifest.place}: NodeMetrics: {error}")
        else:
            objects.append(manifest)
    if problems:
        raise InputError(problems)
    return objects, measured


def manifest_readers(
    measured: list[NodeMetrics], cluster: MemoryCluster, clock: Clock
) -> OpenReader:
    """The function that opens the reader of a source in a simulation."""
    maps = {found.key for found in cluster.objects(CONFIG_MAPS)}

    def open(source: Source) -> Reader | None:
        match source:
            case UsageSource() if measured:
                return _ManifestReader(measured, clock.now)
            case LatencyConfigMap(namespace, name) if f"{namespace}/{name}" in maps:
                return ConfigMapLatencies(source, cluster, clock)
            case LatencyFile():
                return FileLatencies(source, clock)
            case PriceFile():
                return FilePrices(source)
            case PriceConfigMap(namespace, name) if f"{namespace}/{name}" in maps:
                return ConfigMapPrices(source, cluster)
            case StrategyConfigMap(namespace, name) if f"{namespace}/{name}" in maps:
                return StrategyReader(source, cluster)
        return None

    return open


class _ManifestReader:
    """Returns the same measurements on every read."""

    def __init__(self, measured: list[NodeMetrics], now: Callable[[], float]) -> None:
        self._measured = measured
        self._now = now

    async def read(self) -> Usages:
        now = self._now()
        return Usages(
            {item.metadata.name: metrics_server.usage_of_node(item, now) for item in self._measured}
        )

    async def close(self) -> None:
        """Do nothing: nothing is open."""


def _node_metrics(raw: dict[str, Any]) -> NodeMetrics:
    found = msgspec.convert(raw, NodeMetrics)
    metrics_server.usage_of_node(found, 0.0)
    return found
