"""AdaptiveSchedulingPlugin: weighs cpu and memory by what the pods of a namespace request."""

from collections.abc import Hashable
from typing import Any, ClassVar, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.config.durations import Duration
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Carried
from moorage.framework.points import Score
from moorage.framework.verdicts import MAX_SCORE
from moorage.policies.argument_types import Count, Percent, Share
from moorage.policies.load import requested_load, workload_patterns
from moorage.policies.load.workload_patterns import ClusterState, WorkloadPattern, WorkloadPatterns
from moorage.policies.telemetry import metric_sources, node_measurements
from moorage.policies.telemetry.metric_sources import Source, UsageProvider, UsageSource

NAME: Final = "AdaptiveSchedulingPlugin"
SPREAD: Final = "spread"
PACK: Final = "pack"

_EVEN = 50
_WHOLE = 100
_HALF = 0.5


class Strategy(msgspec.Struct, frozen=True):
    """How the pods of a namespace are placed, and why."""

    namespace: str
    cpu_weight: int
    memory_weight: int
    goal: Literal["spread", "pack"]
    why: str
    since: float


class LearnedStrategies:
    """What a profile has learnt."""

    def __init__(self) -> None:
        self.workloads = WorkloadPatterns()
        self.strategies: dict[str, Strategy] = {}


class AdaptiveSchedulingPlugin(Score, frozen=True):
    """Learns what the pods of each namespace ask for, and places them accordingly.

    1. The weight of cpu is half cpu's part of what the namespace's pods ask for, half its part of
       what is scarce in the cluster; memory has the rest. Both stay within `minWeight` (20) and
       `maxWeight` (80), and move by no more than `maxStep` (10) each `updateInterval` (1m). What is
       scarce is what most nodes use, if `metricProvider` has told in the last `staleAfter` (5m), or
       else what is asked for.
    2. Pods are spread, to nodes with more left; but packed, to nodes with less left, where most of
       the namespace's pods are jobs', or where the cluster is fuller than `packAbove` (0.8).
    3. With fewer than `minPods` (5) pods to learn from, cpu and memory weigh the same.

    `strategies` tells what is in force, and why.
    """

    min_weight: Percent = 20
    max_weight: Percent = 80
    max_step: Percent = 10
    min_pods: Count = 5
    pack_above: Share = 0.8
    update_interval: Duration = Duration.of_seconds(60)
    metric_provider: UsageProvider = UsageProvider()
    stale_after: Duration = Duration.of_seconds(300)

    aliases = ("AdaptiveScheduling",)
    depends = Depends.USAGE
    carried: ClassVar[Carried] = {node_measurements.USAGE_STORE: None}

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        faults = list(metric_sources.provider_faults(args, "cpuQuery", "memoryQuery"))
        if not args["minWeight"] <= _EVEN <= args["maxWeight"]:
            faults.append("minWeight: 50 must be between minWeight and maxWeight")
        return faults

    def sources(self) -> tuple[Source, ...]:
        nobody = self.metric_provider.type == metric_sources.NO_PROVIDER
        return () if nobody else (UsageSource(self.metric_provider),)

    def sign(self, cycle: Cycle) -> Hashable:
        strategy = self.strategy(cycle)
        return strategy.cpu_weight, strategy.memory_weight, strategy.goal, cycle.incoming.nonzero

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        strategy, (cpu, memory) = self.strategy(cycle), cycle.incoming.nonzero
        weights = strategy.cpu_weight + strategy.memory_weight
        used = strategy.cpu_weight * _used_share_or_full(nodes, "cpu", cpu)
        used += strategy.memory_weight * _used_share_or_full(nodes, "memory", memory)
        share = used / weights
        score_range.write_scores(MAX_SCORE * (share if strategy.goal == PACK else 1.0 - share), out)

    def strategy(self, cycle: Cycle) -> Strategy:
        """How pods of the pod's namespace are placed; looked at again every `updateInterval`."""
        memory: LearnedStrategies = cycle.shared.setdefault(NAME, LearnedStrategies())
        namespace = cycle.pod.namespace
        known = memory.strategies.get(namespace)
        if known is None or cycle.now - known.since >= self.update_interval.seconds:
            memory.workloads.catch_up(cycle.table)
            known = memory.strategies[namespace] = self._learn(cycle, memory.workloads, known)
        return known

    @staticmethod
    def strategies(shared: dict[str, Any]) -> dict[str, Strategy]:
        """What is in force in a profile, by namespace."""
        memory: LearnedStrategies | None = shared.get(NAME)
        return dict(memory.strategies) if memory is not None else {}

    def _learn(self, cycle: Cycle, workloads: WorkloadPatterns, known: Strategy | None) -> Strategy:
        namespace, now = cycle.pod.namespace, cycle.now
        pattern = workloads.pattern(namespace, cycle.table)
        seen = pattern.pods if pattern is not None else 0
        if pattern is None or seen < self.min_pods:
            why = f"{seen} pods seen, {self.min_pods} are needed to tell a pattern"
            return Strategy(namespace, _EVEN, _EVEN, SPREAD, why, now)
        believed = now - self.stale_after.seconds
        state = workload_patterns.cluster_state(
            cycle.table, node_measurements.usage_columns(cycle.table, cycle.shared), believed
        )
        wanted = round(_WHOLE * (pattern.cpu + _cpu_part_of_use(state)) / 2)
        weight = self._bounded(wanted, _EVEN if known is None else known.cpu_weight)
        goal, because = self._goal(pattern, state)
        why = (
            f"{seen} {pattern.name} pods ask for cpu and memory as {pattern.cpu:.0%} to "
            f"{1 - pattern.cpu:.0%}; of the cluster, {state.cpu:.0%} of cpu and {state.memory:.0%} "
            f"of memory are {'in use' if state.measured else 'asked for'}; so cpu should weigh "
            f"{wanted}, and weighs {weight}; {because}"
        )
        return Strategy(namespace, weight, _WHOLE - weight, goal, why, now)

    def _bounded(self, wanted: int, before: int) -> int:
        """One step towards what is wanted, such that neither weight leaves its bounds."""
        step = min(max(wanted, before - self.max_step), before + self.max_step)
        lowest = max(self.min_weight, _WHOLE - self.max_weight)
        return min(max(step, lowest), _WHOLE - lowest)

    def _goal(
        self, pattern: WorkloadPattern, state: ClusterState
    ) -> tuple[Literal["spread", "pack"], str]:
        if pattern.batch > _HALF:
            return PACK, f"packed, because {pattern.batch:.0%} are pods of jobs"
        fullest = max(state.cpu, state.memory)
        if fullest > self.pack_above:
            return PACK, f"packed, because the cluster is {fullest:.0%} full"
        return SPREAD, "spread"


def _cpu_part_of_use(state: ClusterState) -> float:
    """Cpu's part of what is asked for of the cluster, or in use."""
    both = state.cpu + state.memory
    return state.cpu / both if both else _HALF


def _used_share_or_full(nodes: Nodes, resource: str, more: int) -> NDArray[np.float64]:
    """What would be used of each node, all of it where it has none.  float64 (node)"""
    return np.minimum(np.nan_to_num(requested_load.used_share(nodes, resource, more), nan=1.0), 1.0)
