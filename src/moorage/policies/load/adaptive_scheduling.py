"""AdaptiveSchedulingPlugin: a strategy for each namespace, learnt from its pods' outcomes."""

import math
from collections.abc import Hashable
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api import label_requirements
from moorage.api.label_requirements import Requirement, SelectorError
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache import selector_masks
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.config.durations import Duration
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Carried
from moorage.framework.points import Reserve, Score
from moorage.framework.verdicts import MAX_SCORE
from moorage.policies import network_latency
from moorage.policies.argument_types import Amount, Count, Percent, Share
from moorage.policies.business import price_list, price_table
from moorage.policies.business.price_list import CostMetrics, PriceList
from moorage.policies.gpu import gpu_resources
from moorage.policies.load import (
    outcomes,
    requested_load,
    strategy_goals,
    strategy_learner,
    workload_patterns,
)
from moorage.policies.load.outcomes import NodeKind, Outcomes, Window
from moorage.policies.load.strategy_goals import NamespaceStrategy
from moorage.policies.load.strategy_learner import Learner
from moorage.policies.load.workload_patterns import ClusterState, WorkloadPattern, WorkloadPatterns
from moorage.policies.network_latency import NetworkLatencyPlugin
from moorage.policies.telemetry import metric_sources, node_measurements
from moorage.policies.telemetry.latency_measurements import LATENCY_STORE, LatencyStore
from moorage.policies.telemetry.metric_sources import (
    Source,
    StrategyConfigMap,
    UsageProvider,
    UsageSource,
)

NAME: Final = "AdaptiveSchedulingPlugin"
SPREAD: Final = "spread"
PACK: Final = "pack"

CONFIG_MAP: Final = "moorage-system/moorage-strategies"
ANY_NAMESPACE: Final = "*"

_SPOT_RATIO = 0.35
_LEAST_COST = 1e-9
_RESOURCES = 100
_READ_SECONDS = 300.0
_EVEN = 50
_WHOLE = 100
_HALF = 0.5
_OUT_OF_REACH = 2


class Strategy(msgspec.Struct, frozen=True):
    """How the pods of a namespace are placed, and why.

    Resources weigh 100. `cost` is the weight of cheap nodes, `safety` of kinds of nodes that lost
    few pods, `nearness` of near nodes. `packing` tells how far pods are packed, in hundredths.
    """

    namespace: str
    cpu_weight: int
    memory_weight: int
    goal: Literal["spread", "pack"]
    why: str
    since: float
    pattern_cpu: int = _EVEN
    packing: int = 0
    cost: int = 0
    safety: int = 0
    nearness: int = 0
    loss_rates: dict[NodeKind, float] = msgspec.field(default_factory=dict)


class LearnedStrategies:
    """What a profile has learnt."""

    def __init__(self) -> None:
        self.workloads = WorkloadPatterns()
        self.strategies: dict[str, Strategy] = {}
        self.learners: dict[str, Learner] = {}

    def restore(self, learners: dict[str, Learner]) -> None:
        """Restore what was learnt earlier; what was learnt since the start takes precedence."""
        for namespace, learner in learners.items():
            if not self.learner(namespace).windows:
                self.learners[namespace] = learner

    def learner(self, namespace: str) -> Learner:
        return self.learners.setdefault(namespace, Learner())


def learned_strategies(shared: dict[str, Any]) -> LearnedStrategies:
    """What a profile has learnt, created on first use."""
    found: LearnedStrategies = shared.setdefault(NAME, LearnedStrategies())
    return found


class AdaptiveSchedulingPlugin(Score, Reserve, frozen=True):
    """Learns from what the pods of each namespace request and from their outcomes.

    1. A strategy begins with a pattern. The weight of cpu is the mean of two shares: cpu's share of
       what the namespace's pods request, and cpu's share of what the cluster uses. Memory has the
       rest. Both weights stay within `minWeight` (20) and `maxWeight` (80), and move by at most
       `maxStep` (10) each `updateInterval` (1m). The cluster's usage is measured if at least half
       of its nodes have a measurement of `metricProvider` within `staleAfter` (5m). Otherwise the
       requests of pods count.
    2. Pods are spread: nodes with more left score higher. They are packed instead (nodes with less
       left score higher) if most of the namespace's pods belong to Jobs, or the cluster is fuller
       than `packAbove` (0.8).
    3. With fewer than `minPods` (5) pods to learn from, cpu and memory weigh the same. If the
       namespace's strategy has `resourceWeights`, those apply from the beginning.
    4. When at least `minOutcomes` (20) pods were placed since the last time, the first of them
       `outcomeDelay` (5m) ago, their outcomes are compared with the goals of `strategies`, and one
       setting moves by one step (strategy_learner.py): the weights of cost, safety and nearness,
       packing, or the weight of cpu.

    `/debug/strategies` shows the current strategies, and why. `stateConfigMap` keeps what was
    learnt. If a goal is a latency, measurements are read from `latencyConfigMap`.
    """

    min_weight: Percent = 20
    max_weight: Percent = 80
    max_step: Percent = 10
    min_pods: Count = 5
    pack_above: Share = 0.8
    update_interval: Duration = Duration.of_seconds(60)
    metric_provider: UsageProvider = UsageProvider()
    stale_after: Duration = Duration.of_seconds(300)
    strategies: dict[str, NamespaceStrategy] = msgspec.field(default_factory=dict)
    min_outcomes: Count = 20
    outcome_delay: Duration = Duration.of_seconds(300)
    cost_metrics: CostMetrics = CostMetrics()
    instance_prices: dict[str, Amount] = msgspec.field(default_factory=dict)
    price_config_map: str = ""
    price_file: str = ""
    state_config_map: str = CONFIG_MAP
    latency_config_map: str = network_latency.CONFIG_MAP

    aliases = ("AdaptiveScheduling",)
    depends = Depends.USAGE
    carried: ClassVar[Carried] = {
        node_measurements.USAGE_STORE: None,
        LATENCY_STORE: LatencyStore,
        NAME: None,
        outcomes.OUTCOMES: None,
    }

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        faults = list(metric_sources.provider_faults(args, "cpuQuery", "memoryQuery"))
        if not args["minWeight"] <= _EVEN <= args["maxWeight"]:
            faults.append("minWeight: 50 must be between minWeight and maxWeight")
        for field in ("stateConfigMap", "latencyConfigMap"):
            namespace, _, name = args[field].partition("/")
            if args[field] and not (namespace and name):
                faults.append(f"{field}: NAMESPACE/NAME, or nothing")
        faults += metric_sources.price_faults(args)
        return [*faults, *_rule_faults(args["strategies"])]

    def sources(self) -> tuple[Source, ...]:
        """Sources of node usage, what was learnt, latencies if one is a goal, and prices."""
        found: list[Source] = list(self._networks[0.0].sources()) if self._aims_at_latency else []
        if self.metric_provider.type != metric_sources.NO_PROVIDER:
            found.append(UsageSource(self.metric_provider))
        namespace, _, name = self.state_config_map.partition("/")
        if name:
            found.append(StrategyConfigMap(namespace, name, _READ_SECONDS))
        return (*found, *metric_sources.price_sources(self.price_config_map, self.price_file))

    @cached_property
    def prices(self) -> PriceList:
        """What pods cost; a spot instance without a spot price costs a third of the price."""
        return PriceList(
            self.cost_metrics,
            self.instance_prices,
            price_list.INSTANCE_TYPE_LABEL,
            price_list.SPOT_LABELS,
            _SPOT_RATIO,
        )

    def network(self, namespace: str) -> NetworkLatencyPlugin:
        """The latencies between nodes, with the namespace's goal."""
        return self._networks[self.wanted(namespace).performance_goals.latency_ms or 0.0]

    @cached_property
    def _networks(self) -> dict[float, NetworkLatencyPlugin]:
        """By goal; a multiple of the goal, or an unknown latency, is out of reach."""
        found = {0.0: NetworkLatencyPlugin(latency_config_map=self.latency_config_map)}
        for each in self.strategies.values():
            if goal := each.performance_goals.latency_ms:
                found[goal] = NetworkLatencyPlugin(
                    max_latency_ms=_OUT_OF_REACH * goal, latency_config_map=self.latency_config_map
                )
        return found

    @property
    def _aims_at_latency(self) -> bool:
        goals = (wanted.performance_goals for wanted in self.strategies.values())
        return any(each.latency_ms is not None for each in goals)

    @cached_property
    def rules(self) -> dict[str, tuple[tuple[tuple[Requirement, ...], int], ...]]:
        """The compiled affinity rules of each namespace."""
        return {
            namespace: tuple(
                (tuple(_requirement(each) for each in rule.nodes), rule.weight)
                for rule in wanted.affinity_rules
            )
            for namespace, wanted in self.strategies.items()
        }

    def wanted(self, namespace: str) -> NamespaceStrategy:
        """The configured strategy of a namespace, or else that of any namespace."""
        anywhere = self.strategies.get(ANY_NAMESPACE, NamespaceStrategy())
        return self.strategies.get(namespace, anywhere)

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        """Record where a pod goes and how long it waited."""
        row = cycle.table.row_of[node.name]
        alone = Nodes.some(cycle.table, [row])
        created = pod.metadata.creation_timestamp
        aims = self.wanted(pod.namespace).performance_goals.latency_ms is not None
        distances = self.network(pod.namespace).distances(cycle) if aims else None
        outcomes.outcomes(cycle.shared).placed(
            pod,
            self._kinds(alone)[0],
            now=cycle.now,
            waited=0.0 if created is None else cycle.now - created.timestamp(),
            cost=float(self._costs(cycle, alone)[0]),
            latency=math.nan if distances is None else float(distances[row]),
        )

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        outcomes.outcomes(cycle.shared).taken_back(pod)

    def sign(self, cycle: Cycle) -> Hashable:
        strategy = self.strategy(cycle)
        if strategy.nearness:
            return None
        known = (strategy.cpu_weight, strategy.packing, strategy.cost, strategy.safety)
        rates = tuple(strategy.loss_rates.items()) if strategy.safety else ()
        rules = self.rules.get(self._strategy_name(cycle.pod.namespace))
        costs = self._cost_sign(cycle) if strategy.cost else ()
        return known, rates, rules, costs, cycle.incoming.nonzero

    def _cost_sign(self, cycle: Cycle) -> Hashable:
        """What costs depend on besides cpu and memory."""
        gpus = gpu_resources.requested_gpus(cycle.incoming, cycle.table, self.prices.gpu_names)
        return self._cheapest(cycle), gpus, price_table.price_table(cycle.shared).version

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        strategy = self.strategy(cycle)
        total = _RESOURCES * _by_resources(strategy, cycle, nodes)
        weight = float(_RESOURCES)
        if strategy.cost:
            costs = np.maximum(self._costs(cycle, nodes), _LEAST_COST)
            total += strategy.cost * self._cheapest(cycle) / costs
            weight += strategy.cost
        if strategy.safety:
            total += strategy.safety * self._safety(strategy, nodes)
            weight += strategy.safety
        if strategy.nearness:
            total += strategy.nearness * self._nearness(cycle, nodes)
            weight += strategy.nearness
        for wanted, points in self.rules.get(self._strategy_name(pod.namespace), ()):
            total += points * selector_masks.all_labels_match(wanted, nodes)
            weight += points
        score_range.write_scores(MAX_SCORE * total / weight, out)

    def _strategy_name(self, namespace: str) -> str:
        return namespace if namespace in self.strategies else ANY_NAMESPACE

    def _costs(self, cycle: Cycle, nodes: Nodes) -> NDArray[np.float64]:
        """What the pod costs on each node, per hour.  float64 (node)"""
        return self.prices.on_nodes(cycle.incoming, nodes, price_table.price_table(cycle.shared))

    def _cheapest(self, cycle: Cycle) -> float:
        """What the pod costs on the cheapest node."""
        alive = cycle.table.alive[: cycle.table.rows]
        costs = self._costs(cycle, Nodes.all(cycle.table))[alive]
        return max(float(costs.min(initial=math.inf)), _LEAST_COST)

    def _safety(self, strategy: Strategy, nodes: Nodes) -> NDArray[np.float64]:
        """1 for kinds of nodes that lost no pod, 0 for the kind that lost most.  float64 (node)"""
        most = max(strategy.loss_rates.values(), default=0.0)
        if not most:
            return np.ones(nodes.count)
        rates = [strategy.loss_rates.get(kind, 0.0) for kind in self._kinds(nodes)]
        return 1.0 - np.array(rates) / most

    def _nearness(self, cycle: Cycle, nodes: Nodes) -> NDArray[np.float64]:
        network = self.network(cycle.pod.namespace)
        distances = network.distances(cycle)
        if distances is None:
            return np.ones(nodes.count)
        return np.clip(1.0 - distances[nodes.rows] / network.max_latency_ms, 0.0, 1.0)

    def _kinds(self, nodes: Nodes) -> list[NodeKind]:
        """The kind of each node: its instance type, and whether it is a spot instance."""
        label = self.prices.instance_type_label
        types = nodes.table.label(label).values.values
        spot = price_list.is_spot(self.prices.spot_labels, nodes)
        ids = nodes.label(label)
        return [
            f"{types[each] or ''}{'/spot' if taken else ''}"
            for each, taken in zip(ids.tolist(), spot.tolist(), strict=True)
        ]

    def strategy(self, cycle: Cycle) -> Strategy:
        """The strategy of the pod's namespace, renewed every `updateInterval`."""
        memory = learned_strategies(cycle.shared)
        namespace = cycle.pod.namespace
        known = memory.strategies.get(namespace)
        if known is None or cycle.now - known.since >= self.update_interval.seconds:
            memory.workloads.catch_up(cycle.table)
            begun = self._learn(cycle, memory.workloads, known)
            known = memory.strategies[namespace] = self._corrected(cycle, begun, memory)
        return known

    @staticmethod
    def in_force(shared: dict[str, Any]) -> dict[str, Strategy]:
        """The current strategies of a profile, by namespace."""
        memory: LearnedStrategies | None = shared.get(NAME)
        return dict(memory.strategies) if memory is not None else {}

    def _corrected(self, cycle: Cycle, begun: Strategy, memory: LearnedStrategies) -> Strategy:
        """The strategy of the pattern, corrected by what was learnt from outcomes."""
        namespace, seen = begun.namespace, outcomes.outcomes(cycle.shared)
        learner, why = memory.learner(namespace), begun.why
        if self._is_judged(seen.window(namespace), cycle.now):
            why = f"{why}; {self._judge(cycle, learner, seen)}"
        elif learner.reasons:
            why = f"{why}; learnt: {learner.reasons[-1]}"
        lowest = self._lowest
        cpu = begun.cpu_weight + learner.value(strategy_learner.CPU)
        cpu = min(max(cpu, lowest), _WHOLE - lowest)
        packing = (_WHOLE if begun.goal == PACK else 0) + learner.value(strategy_learner.PACKING)
        packing = min(max(packing, 0), _WHOLE)
        return msgspec.structs.replace(
            begun,
            pattern_cpu=begun.cpu_weight,
            cpu_weight=cpu,
            memory_weight=_WHOLE - cpu,
            goal=PACK if packing > _EVEN else SPREAD,
            why=why,
            packing=packing,
            cost=learner.value(strategy_learner.COST),
            safety=learner.value(strategy_learner.SAFETY),
            nearness=learner.value(strategy_learner.NEARNESS),
            loss_rates=seen.loss_rates(namespace),
        )

    def _is_judged(self, window: Window, now: float) -> bool:
        """Whether enough pods were placed, and the first of them long enough ago."""
        enough = window.placed >= max(self.min_outcomes, 1)
        return enough and now - window.since >= self.outcome_delay.seconds

    def _judge(self, cycle: Cycle, learner: Learner, seen: Outcomes) -> str:
        namespace = cycle.pod.namespace
        state = self._cluster_state(cycle)
        found = strategy_goals.shortfalls(
            self.wanted(namespace), seen.window(namespace), max(state.cpu, state.memory)
        )
        seen.close_window(namespace)
        return learner.judge(found)

    def _cluster_state(self, cycle: Cycle) -> ClusterState:
        return workload_patterns.cluster_state(
            cycle.table,
            node_measurements.usage_columns(cycle.table, cycle.shared),
            cycle.now - self.stale_after.seconds,
        )

    def _learn(self, cycle: Cycle, workloads: WorkloadPatterns, known: Strategy | None) -> Strategy:
        namespace, now = cycle.pod.namespace, cycle.now
        pattern = workloads.pattern(namespace, cycle.table)
        told = self._told_cpu_weight(namespace)
        seen = pattern.pods if pattern is not None else 0
        if pattern is None or seen < self.min_pods:
            why = (
                f"{seen} pod{'s' * (seen != 1)} seen, {self.min_pods} are needed to tell a pattern"
            )
            weight = _EVEN if told is None else told
            return Strategy(
                namespace, weight, _WHOLE - weight, SPREAD, f"{why}{_as_told(told)}", now
            )
        state = self._cluster_state(cycle)
        wanted = round(_WHOLE * (pattern.cpu + _cpu_part_of_use(state)) / 2)
        weight = self._step(wanted, _EVEN if known is None else known.pattern_cpu)
        goal, because = self._goal(pattern, state)
        why = (
            f"{seen} {pattern.name} pods ask for cpu and memory as {pattern.cpu:.0%} to "
            f"{1 - pattern.cpu:.0%}; of the cluster, {state.cpu:.0%} of cpu and {state.memory:.0%} "
            f"of memory are {'in use' if state.measured else 'asked for'}"
        )
        why += _as_told(told) or f"; so cpu should weigh {wanted}, and weighs {weight}"
        weight = weight if told is None else told
        return Strategy(namespace, weight, _WHOLE - weight, goal, f"{why}; {because}", now)

    def _told_cpu_weight(self, namespace: str) -> int | None:
        """The configured weight of cpu, or None."""
        given = self.wanted(namespace).resource_weights
        if given is None or not given.cpu + given.memory:
            return None
        return self._bounded(round(_WHOLE * given.cpu / (given.cpu + given.memory)))

    def _step(self, wanted: int, before: int) -> int:
        """One step towards `wanted`, within the bounds of both weights."""
        return self._bounded(min(max(wanted, before - self.max_step), before + self.max_step))

    def _bounded(self, weight: int) -> int:
        return min(max(weight, self._lowest), _WHOLE - self._lowest)

    @property
    def _lowest(self) -> int:
        return max(self.min_weight, _WHOLE - self.max_weight)

    def _goal(
        self, pattern: WorkloadPattern, state: ClusterState
    ) -> tuple[Literal["spread", "pack"], str]:
        if pattern.batch > _HALF:
            return PACK, f"packed, because {pattern.batch:.0%} are pods of jobs"
        fullest = max(state.cpu, state.memory)
        if fullest > self.pack_above:
            return PACK, f"packed, because the cluster is {fullest:.0%} full"
        return SPREAD, "spread"


def _as_told(told: int | None) -> str:
    return "" if told is None else f"; cpu weighs {told}, as it is told to"


def _cpu_part_of_use(state: ClusterState) -> float:
    """Cpu's share of what the cluster uses, or of what pods request."""
    both = state.cpu + state.memory
    return state.cpu / both if both else _HALF


def _used_share_or_full(nodes: Nodes, resource: str, more: int) -> NDArray[np.float64]:
    """The share of each node that would be used; 1 for a node without it.  float64 (node)"""
    return np.minimum(np.nan_to_num(requested_load.used_share(nodes, resource, more), nan=1.0), 1.0)


def _by_resources(strategy: Strategy, cycle: Cycle, nodes: Nodes) -> NDArray[np.float64]:
    """The share left over, blended with the share in use as far as packed.  float64 (node)"""
    cpu, memory = cycle.incoming.nonzero
    used = strategy.cpu_weight * _used_share_or_full(nodes, "cpu", cpu)
    used += strategy.memory_weight * _used_share_or_full(nodes, "memory", memory)
    share = used / (strategy.cpu_weight + strategy.memory_weight)
    packed = strategy.packing / _WHOLE
    blended: NDArray[np.float64] = packed * share + (1.0 - packed) * (1.0 - share)
    return blended


def _requirement(given: Any) -> Requirement:
    return label_requirements.check_requirement(given.key, given.operator, given.values)


def _rule_faults(strategies: dict[str, Any]) -> list[str]:
    faults = []
    for namespace, wanted in strategies.items():
        for at, rule in enumerate(wanted["affinityRules"]):
            for each in rule["nodes"]:
                try:
                    label_requirements.check_requirement(
                        each["key"], each.get("operator", ""), tuple(each.get("values", ()))
                    )
                except SelectorError as error:
                    faults.append(f"strategies.{namespace}.affinityRules[{at}].nodes: {error}")
    return faults
