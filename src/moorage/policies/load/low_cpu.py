"""LowCpuScheduler: scores nodes by measured cpu and memory usage; refuses those above a limit."""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU, MEMORY
from moorage.config.durations import Duration
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.events import MEASURED, Action, ClusterEvent, EventHint, Resource
from moorage.framework.plugin import Carried
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MAX_SCORE, Rejection, unresolvable
from moorage.policies.argument_types import Percent, Share
from moorage.policies.load import requested_load
from moorage.policies.load.unmeasured_pods import UnmeasuredPods
from moorage.policies.telemetry import metric_sources, node_measurements
from moorage.policies.telemetry.metric_sources import Source, UsageProvider, UsageSource

CPU_TOO_HIGH: Final = "cpu usage too high"
MEMORY_TOO_HIGH: Final = "memory usage too high"
NAME: Final = "LowCpuScheduler"

_BITS: Final = {CPU: 1, MEMORY: 2}
_NAMES: Final = {CPU: "cpu", MEMORY: "memory"}

Floats = NDArray[np.float64]


class MeasuredLoad(NamedTuple):
    """The share of a resource in use, and how far the measurement is trusted.  (node)"""

    measured: Floats
    trust: Floats


class LowCpuScheduler(Filter, Score, frozen=True):
    """A node scores 100 less the percentage of it that is in use: (1 - usage) * 100.

    Usage is the measured usage (`policies.telemetry.node_measurements`) plus the requests of pods
    that arrived since. It is the mean of cpu and memory, weighted by `cpuWeight` and
    `memoryWeight`; with `memoryWeight: 0`, that of cpu alone. A measurement is fully trusted for
    `freshFor` (1m), then less and less, and after `staleAfter` (5m) not at all. The requests of the
    node's pods count for the rest. A measurement without a time is always fresh. The filter refuses
    nodes that use more than `cpuThreshold` (0.8) or `memoryThreshold` (0.8), unless no measurement
    is trusted. `metricProvider` names the source, by default metrics.k8s.io.
    """

    cpu_threshold: Share = 0.8
    memory_threshold: Share = 0.8
    cpu_weight: Percent = 1
    memory_weight: Percent = 1
    fresh_for: Duration = Duration.of_seconds(60)
    stale_after: Duration = Duration.of_seconds(300)
    metric_provider: UsageProvider = UsageProvider()

    aliases = ("LowCpu", "LowUsage")
    carried: ClassVar[Carried] = {node_measurements.USAGE_STORE: None, NAME: UnmeasuredPods}

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        faults = []
        if not args["cpuWeight"] + args["memoryWeight"]:
            faults.append("cpuWeight: must be above 0, or memoryWeight")
        fresh, stale = (Duration.parse(args[name]) for name in ("freshFor", "staleAfter"))
        if not 0 <= fresh < stale:
            faults.append("staleAfter: must be above freshFor")
        return [*faults, *metric_sources.provider_faults(args, "cpuQuery", "memoryQuery")]

    def sources(self) -> tuple[Source, ...]:
        nobody = self.metric_provider.type == metric_sources.NO_PROVIDER
        return () if nobody else (UsageSource(self.metric_provider),)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        """Codes are sets of bits, one for each reason."""
        thresholds = {CPU: self.cpu_threshold, MEMORY: self.memory_threshold}
        for resource, load in self.loads(cycle, nodes).items():
            beyond = (load.trust > 0) & (load.measured > thresholds[resource])
            out[beyond] |= np.int32(_BITS[resource])

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        reasons = ((_BITS[CPU], CPU_TOO_HIGH), (_BITS[MEMORY], MEMORY_TOO_HIGH))
        return unresolvable(*(reason for bit, reason in reasons if code & bit))

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        weights = {CPU: self.cpu_weight, MEMORY: self.memory_weight}
        used = np.zeros(nodes.count)
        for resource, (measured, trust) in self.loads(cycle, nodes).items():
            requested = np.nan_to_num(requested_load.used_share(nodes, _NAMES[resource]), nan=1.0)
            estimate = np.where(trust > 0, trust * measured, 0.0) + (1.0 - trust) * requested
            used += weights[resource] * np.clip(estimate, 0.0, 1.0)
        score_range.write_scores(MAX_SCORE * (1.0 - used / sum(weights.values())), out)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_ANNOTATION
        node = ClusterEvent(Resource.NODE, changed)
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        return EventHint(node), EventHint(gone), EventHint(MEASURED)

    def loads(self, cycle: Cycle, nodes: Nodes) -> dict[int, MeasuredLoad]:
        """The share of cpu and of memory that each node uses."""
        columns = node_measurements.usage_columns(cycle.table, cycle.shared)
        undated = cycle.now - self.fresh_for.seconds
        at = np.where(np.isnan(columns.at), undated, columns.at)
        arrived = self._arrived(cycle, at)
        fading = self.stale_after.seconds - self.fresh_for.seconds
        age = cycle.now - at[nodes.rows]
        trust = np.clip((self.stale_after.seconds - age) / fading, 0.0, 1.0)
        found = {}
        for resource, usage in ((CPU, columns.cpu), (MEMORY, columns.memory)):
            used = usage[nodes.rows] + arrived[resource, nodes.rows]
            share = used / np.maximum(nodes.allocatable[resource], 1)
            found[resource] = MeasuredLoad(share, np.where(np.isnan(share), 0.0, trust))
        return found

    def _arrived(self, cycle: Cycle, at: Floats) -> Floats:
        arrivals: UnmeasuredPods = cycle.shared.setdefault(NAME, UnmeasuredPods())
        believed = np.maximum(at, cycle.now - self.stale_after.seconds)
        return arrivals.since(cycle.cache, believed, cycle.now)
