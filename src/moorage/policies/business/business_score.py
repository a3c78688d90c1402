"""BusinessScorePlugin: one score for a node's cost, performance and reliability."""

from functools import cached_property
from typing import Any, ClassVar, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.node_view import Nodes
from moorage.config.durations import Duration
from moorage.config.types import ConfigStruct
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Carried
from moorage.framework.points import Score
from moorage.framework.verdicts import MAX_SCORE
from moorage.policies import label_values
from moorage.policies.argument_types import Amount, Percent
from moorage.policies.business import node_performance, price_list, price_table
from moorage.policies.business.price_list import (
    INSTANCE_TYPE_LABEL,
    SPOT_LABELS,
    CostMetrics,
    PriceList,
)
from moorage.policies.gpu import gpu_resources
from moorage.policies.network_latency import CONFIG_MAP, NetworkLatencyPlugin, PositiveFloat
from moorage.policies.telemetry import metric_sources, node_measurements
from moorage.policies.telemetry.latency_measurements import LATENCY_STORE, LatencyStore
from moorage.policies.telemetry.metric_sources import Source, UsageProvider, UsageSource

_UNHEALTHY: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")

Floats = NDArray[np.float64]


class Weights(ConfigStruct, frozen=True):
    """The weight of each part."""

    cost: Percent = 40
    performance: Percent = 35
    reliability: Percent = 25


class CostStep(ConfigStruct, frozen=True):
    """The score of nodes where the pod costs at most this much per hour."""

    cost: Amount
    score: Percent


COST_STEPS: Final = (CostStep(1.0, 100), CostStep(2.0, 80), CostStep(5.0, 60))


class BusinessScorePlugin(Score, frozen=True):
    """Cost weighs 40, performance 35, reliability 25 hundredths, unless `weights` says otherwise.

    Cost: a node scores 100 if the pod costs up to 1.0 per hour there, 80 up to 2.0, 60 up to 5.0
    (`costSteps`), and `dearScore` (20) beyond. Prices are those of CostOptimizationPlugin.
    Performance: the mean of cpu, network and storage. Each is the node's label among
    `performanceLabels`, 0 to 100, or else is derived from other facts (node_performance.py). If
    nothing is known, it is `unknownScore` (50). Reliability: the node's label `reliabilityLabel`.
    Without the label it is 0 if the node's conditions report trouble, `spotReliability` (30) on
    spot instances, and 100 otherwise.
    """

    weights: Weights = Weights()
    cost_metrics: CostMetrics = CostMetrics()
    instance_prices: dict[str, Amount] = msgspec.field(default_factory=dict)
    instance_type_label: str = INSTANCE_TYPE_LABEL
    cost_steps: tuple[CostStep, ...] = COST_STEPS
    dear_score: Percent = 20
    performance_labels: tuple[str, ...] = (
        "moorage.io/cpu-performance",
        "moorage.io/network-performance",
        "moorage.io/storage-performance",
    )
    unknown_score: Percent = 50
    reliability_label: str = "moorage.io/reliability"
    spot_labels: tuple[str, ...] = SPOT_LABELS
    spot_reliability: Percent = 30
    price_config_map: str = ""
    price_file: str = ""
    latency_targets: dict[str, PositiveFloat] = msgspec.field(default_factory=dict)
    metric_provider: UsageProvider = UsageProvider()
    stale_after: Duration = Duration.of_seconds(300)
    latency_config_map: str = CONFIG_MAP

    aliases = ("BusinessScore",)
    carried: ClassVar[Carried] = {
        node_measurements.USAGE_STORE: None,
        LATENCY_STORE: LatencyStore,
        price_table.PRICES: None,
    }

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        faults = []
        if not sum(args["weights"].values()):
            faults.append("weights: one of them must be above 0")
        costs = [step["cost"] for step in args["costSteps"]]
        if costs != sorted(set(costs)):
            faults.append("costSteps: must be listed from the lowest cost to the highest")
        faults += metric_sources.provider_faults(args, "cpuQuery", "memoryQuery")
        return [*faults, *metric_sources.price_faults(args)]

    def sources(self) -> tuple[Source, ...]:
        """Sources of node usage, latencies and prices."""
        found: list[Source] = list(self.network.sources())
        if self.metric_provider.type != metric_sources.NO_PROVIDER:
            found.append(UsageSource(self.metric_provider))
        return (*found, *metric_sources.price_sources(self.price_config_map, self.price_file))

    @cached_property
    def network(self) -> NetworkLatencyPlugin:
        """The latencies between nodes, as NetworkLatencyPlugin reads them."""
        return NetworkLatencyPlugin(
            latency_targets=self.latency_targets, latency_config_map=self.latency_config_map
        )

    @cached_property
    def prices(self) -> PriceList:
        """The arguments as a price list. A spot instance without a known spot price costs the full
        price here: that it is one counts for reliability instead."""
        return PriceList(
            self.cost_metrics,
            self.instance_prices,
            self.instance_type_label,
            self.spot_labels,
            1.0,
            gpu_resources.GPU_RESOURCE_NAMES,
        )

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        weights = self.weights
        total = weights.cost * self.cost(cycle, nodes)
        total += weights.performance * self.performance(cycle, nodes)
        total += weights.reliability * self.reliability(nodes)
        score_range.write_scores(
            total / (weights.cost + weights.performance + weights.reliability), out
        )

    def cost(self, cycle: Cycle, nodes: Nodes) -> Floats:
        """The score of the cost step that the pod's price falls in.  float64 (node)"""
        steps = self.cost_steps
        limits = np.array([step.cost for step in steps])
        answers = np.array([*(step.score for step in steps), self.dear_score], dtype=np.float64)
        known = price_table.price_table(cycle.shared)
        costs = self.prices.on_nodes(cycle.incoming, nodes, known)
        found: Floats = answers[np.searchsorted(limits, costs, side="left")]
        return found

    def performance(self, cycle: Cycle, nodes: Nodes) -> Floats:
        """The mean of cpu, network and storage: by label, or else as derived.  float64 (node)"""
        total = np.zeros(nodes.count)
        known = self._known(cycle, nodes)
        for at, label in enumerate(self.performance_labels):
            said = _within_score_range(label_values.node_numbers(nodes.table, label)[nodes.rows])
            if at < len(known):
                said = np.where(np.isnan(said), known[at], said)
            total += np.where(np.isnan(said), self.unknown_score, said)
        return total / max(len(self.performance_labels), 1)

    def _known(self, cycle: Cycle, nodes: Nodes) -> tuple[Floats, Floats, Floats]:
        """Derived scores of cpu, network and storage, NaN if nothing is known.  float64 (node)"""
        since = cycle.now - self.stale_after.seconds
        return (
            node_performance.cpu_scores(cycle, nodes, since),
            node_performance.network_scores(self.network, cycle, nodes),
            node_performance.storage_scores(nodes),
        )

    def reliability(self, nodes: Nodes) -> Floats:
        """By label, or else by the node's conditions and purchase option.  float64 (node)"""
        said = _within_score_range(
            label_values.node_numbers(nodes.table, self.reliability_label)[nodes.rows]
        )
        spot = price_list.is_spot(self.spot_labels, nodes)
        trouble = label_values.node_column(nodes.table, "trouble", _is_unhealthy)[nodes.rows] > 0
        guessed = np.where(trouble, 0, np.where(spot, self.spot_reliability, MAX_SCORE))
        return np.where(np.isnan(said), guessed, said)


def _within_score_range(values: Floats) -> Floats:
    return np.clip(values, 0, MAX_SCORE)


def _is_unhealthy(node: Node) -> float:
    """1 if the node is not ready or under pressure, else 0."""
    for condition in node.status.conditions:
        wrong = condition.type in _UNHEALTHY and condition.status == "True"
        if wrong or (condition.type == "Ready" and condition.status != "True"):
            return 1.0
    return 0.0
