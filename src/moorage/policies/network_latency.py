"""NetworkLatencyPlugin: prefers nodes with low latency to the pods that a pod talks to."""

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.node import ZONE_LABEL
from moorage.api.pod import Pod
from moorage.cache.label_columns import MISSING
from moorage.cache.node_view import Nodes
from moorage.cache.pod_counters import PodCounters
from moorage.config.durations import Duration
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.events import MEASURED, Action, ClusterEvent, EventHint, Resource
from moorage.framework.plugin import Carried
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import Rejection, unresolvable
from moorage.policies import latency_peers as peers
from moorage.policies.argument_types import Amount, Percent
from moorage.policies.telemetry import latency_measurements
from moorage.policies.telemetry.latency_measurements import (
    LATENCY_STORE,
    LatencyMatrix,
    LatencyMatrixCache,
    LatencyStore,
)
from moorage.policies.telemetry.metric_sources import LatencyConfigMap, LatencyFile, Source

TOO_FAR: Final = "node(s) were more than {:g} ms away from the pods that the pod talks to"
NAME: Final = "NetworkLatencyPlugin"

CONFIG_MAP: Final = "moorage-system/moorage-latencies"

_BELIEVED_INTERVALS = 2
_READ_SECONDS = 30.0
_ROUNDING_MARGIN = 1 + 1e-9
"""A mean of numbers at the limit may be slightly above it because of rounding."""

Floats = NDArray[np.float64]
PositiveFloat = Annotated[float, msgspec.Meta(gt=0)]


class NetworkLatencyPlugin(Filter, Score, frozen=True):
    """A node scores `latencyWeight` (100) at no distance from the pods that the pod talks to,
    falling to 0 at `maxLatencyMs` (10). The filter refuses nodes beyond that.

    The pod's annotation `peersAnnotation` lists its peers, separated by commas: names of Services
    (`db`, `other-namespace/db`), or labels of pods in its namespace (`app=cache`). `latencyTargets`
    lists peers by the same names, with the milliseconds allowed to each. If neither names any,
    peers are inferred (latency_peers.py) unless `inferPeers` is off; the filter ignores inferred
    peers. The distance to a peer of several pods is their mean. The farthest peer counts. A peer
    without pods does not count. `latencies` has milliseconds between zones (values of
    `topologyLabel`) and between nodes. Within a zone the latency is `sameZoneMs` (0.5), on the same
    node 0, and between places with no known latency `maxLatencyMs`: such a node scores 0 and is not
    refused. Latencies measured every `measurementInterval` (5m) take precedence over the table, and
    are believed for two intervals. They are read from `latencyConfigMap`, where `moorage probe`
    writes them, and from `latencyFile`.
    """

    max_latency_ms: PositiveFloat = 10.0
    latency_weight: Percent = 100
    measurement_interval: Duration = Duration.of_seconds(300)
    latencies: dict[str, dict[str, Amount]] = msgspec.field(default_factory=dict)
    topology_label: str = ZONE_LABEL
    same_zone_ms: Amount = 0.5
    peers_annotation: str = "moorage.io/talks-to"
    latency_config_map: str = CONFIG_MAP
    latency_file: str = ""
    latency_targets: dict[str, PositiveFloat] = msgspec.field(default_factory=dict)
    infer_peers: bool = True

    aliases = ("NetworkLatency",)
    carried: ClassVar[Carried] = {LATENCY_STORE: LatencyStore}

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        faults = []
        if Duration.parse(args["measurementInterval"]) <= 0:
            faults.append("measurementInterval: must be above 0s")
        namespace, _, name = args["latencyConfigMap"].partition("/")
        if args["latencyConfigMap"] and not (namespace and name):
            faults.append("latencyConfigMap: NAMESPACE/NAME, or nothing")
        return faults

    @cached_property
    def atlas(self) -> LatencyMatrixCache:
        """The latencies from the table and from measurements."""
        return LatencyMatrixCache(self.latencies, self.topology_label, self.believed_seconds)

    @property
    def believed_seconds(self) -> float:
        """How long a measurement is believed, in seconds."""
        return _BELIEVED_INTERVALS * self.measurement_interval.seconds

    def sources(self) -> tuple[Source, ...]:
        """Read at least once per measurement interval."""
        seconds = min(self.measurement_interval.seconds, _READ_SECONDS)
        namespace, _, name = self.latency_config_map.partition("/")
        found: list[Source] = []
        if name:
            found.append(LatencyConfigMap(namespace, name, seconds, self.believed_seconds))
        if self.latency_file:
            found.append(LatencyFile(self.latency_file, seconds, self.believed_seconds))
        return tuple(found)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        distances = self.distances(cycle, told_only=True)
        if distances is not None:
            out[distances[nodes.rows] > self.max_latency_ms * _ROUNDING_MARGIN] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(TOO_FAR.format(self.max_latency_ms))

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        distances = self.distances(cycle)
        if distances is not None:
            share = distances[nodes.rows] / self.max_latency_ms
            score_range.write_scores(self.latency_weight * (1.0 - share), out)

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        moved = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL
        peers = ClusterEvent(Resource.ASSIGNED_POD, moved)
        own = ClusterEvent(Resource.TARGET_POD, Action.UPDATE)
        return EventHint(node), EventHint(peers), EventHint(own), EventHint(MEASURED)

    def distances(self, cycle: Cycle, *, told_only: bool = False) -> Floats | None:
        """Milliseconds to the farthest peer; None if the pod talks to nobody.  float64 (row)

        A peer with a target counts in proportion: at its target it is `maxLatencyMs` away. With
        `told_only`, inferred peers do not count. Computed once per attempt and plugin instance,
        because tables and targets differ, and again when a trial moves pods.
        """
        version = cycle.table.pod_log.version
        key = f"{NAME}/{id(self)}/{'told' if told_only else 'all'}"
        known: tuple[int, Floats | None] | None = cycle.state.get(key)
        if known is None or known[0] != version:
            known = cycle.state[key] = (version, self._distances(cycle, told_only))
        return known[1]

    def _distances(self, cycle: Cycle, told_only: bool) -> Floats | None:
        chart = self.atlas.chart(
            cycle.table, latency_measurements.latency_store(cycle.shared), cycle.now
        )
        found = [
            scale * self._mean(chart, cycle, counts)
            for counts, scale in self._counted(cycle, told_only)
        ]
        if not found and not told_only and self._infers(cycle) and chart.is_known:
            found = [self._mean(chart, cycle, _each_node(cycle))]
        return np.max(found, axis=0) if found else None

    def _infers(self, cycle: Cycle) -> bool:
        """Whether to infer peers: neither the pod nor the configuration names any."""
        told = self.latency_targets or self.peers_annotation in cycle.pod.annotations
        return self.infer_peers and not told

    def _counted(self, cycle: Cycle, told_only: bool) -> Iterator[tuple[Floats, float]]:
        """For each peer with pods: their number by row, and the factor of its distance."""
        told = list(peers.told_peers(cycle, self.peers_annotation, self.latency_targets))
        if not told_only and self._infers(cycle):
            told = list(peers.inferred_peers(cycle))
        counters, rows = PodCounters.of(cycle.table), cycle.table.rows
        for peer in told:
            counts = counters.selected(peer.pods).count[:rows].astype(np.float64)
            if counts.any():
                yield counts, self.max_latency_ms / (peer.target_ms or self.max_latency_ms)

    def _mean(self, chart: LatencyMatrix, cycle: Cycle, counts: Floats) -> Floats:
        """The mean distance to the pods of one peer.  float64 (row)"""
        table = cycle.table
        zone = table.label(self.topology_label).ids[: table.rows]
        between = np.where(np.isnan(chart.zones), self.max_latency_ms, chart.zones)
        inside = np.isnan(chart.zones.diagonal()) & (np.arange(len(between)) != MISSING)
        between[inside, inside] = self.same_zone_ms
        per_zone = np.bincount(zone, weights=counts, minlength=len(between)).astype(np.float64)
        distance = (between @ per_zone)[zone]
        distance -= counts * between[zone, zone]
        start, end, milliseconds = chart.pairs
        np.add.at(distance, start, counts[end] * (milliseconds - between[zone[start], zone[end]]))
        mean: Floats = distance / counts.sum()
        return mean


def _each_node(cycle: Cycle) -> Floats:
    """1 for every node.  float64 (row)"""
    return cycle.table.alive[: cycle.table.rows].astype(np.float64)
