"""CostOptimizationPlugin: the less a pod costs per hour on a node, the higher the node's score."""

from collections.abc import Hashable
from functools import cached_property
from typing import Any, ClassVar, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import MEASURED, Action, ClusterEvent, EventHint, Resource
from moorage.framework.plugin import Carried
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MAX_SCORE, Rejection, unresolvable
from moorage.policies.argument_types import Amount, Share
from moorage.policies.business import price_table
from moorage.policies.business.price_list import (
    INSTANCE_TYPE_LABEL,
    SPOT_LABELS,
    CostMetrics,
    PriceList,
)
from moorage.policies.gpu import gpu_resources
from moorage.policies.telemetry import metric_sources
from moorage.policies.telemetry.metric_sources import Source

TOO_EXPENSIVE: Final = "node(s) would cost the pod more than {} per hour"

_MICROS = 1_000_000
_OVER_THRESHOLD = 1 << 62
"""The raw score of a node above `maxCostThreshold`."""


class CostOptimizationPlugin(Filter, Score, frozen=True):
    """The cheapest node scores 100, one that costs twice as much 50.

    A pod's cost per hour is the node's price times the largest share of a resource of the node that
    the pod requests. The node's price comes from the table in `priceConfigMap` or `priceFile`, or
    else from `instancePrices`, or else from its resources at `costMetrics` (per core, GB and GPU).
    With `preferSpotInstances`, the price of nodes with one of `spotLabels` is multiplied by
    `spotPriceRatio` unless a spot price is known. A node where the pod would cost more than
    `maxCostThreshold` scores 0, and the filter refuses it.
    """

    cost_metrics: CostMetrics = CostMetrics()
    instance_prices: dict[str, Amount] = msgspec.field(default_factory=dict)
    prefer_spot_instances: bool = False
    max_cost_threshold: Amount | None = None
    instance_type_label: str = INSTANCE_TYPE_LABEL
    spot_labels: tuple[str, ...] = SPOT_LABELS
    spot_price_ratio: Share = 0.35
    gpu_resource_names: tuple[str, ...] = gpu_resources.GPU_RESOURCE_NAMES
    price_config_map: str = ""
    price_file: str = ""

    aliases = ("CostOptimization",)
    depends = Depends.NODE
    carried: ClassVar[Carried] = {price_table.PRICES: None}

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        return metric_sources.price_faults(args)

    def sources(self) -> tuple[Source, ...]:
        return metric_sources.price_sources(self.price_config_map, self.price_file)

    @cached_property
    def prices(self) -> PriceList:
        """The arguments as a price list."""
        return PriceList(
            self.cost_metrics,
            self.instance_prices,
            self.instance_type_label,
            self.spot_labels,
            self.spot_price_ratio if self.prefer_spot_instances else 1.0,
            self.gpu_resource_names,
        )

    def sign(self, cycle: Cycle) -> Hashable:
        asked = self.prices.of_pod(cycle.incoming, cycle.table)
        gpus = gpu_resources.requested_gpus(cycle.incoming, cycle.table, self.gpu_resource_names)
        return asked, cycle.incoming.nonzero, gpus, price_table.price_table(cycle.shared).version

    def costs(self, cycle: Cycle, nodes: Nodes) -> NDArray[np.float64]:
        """What the pod costs on each node, per hour.  float64 (node)"""
        known = price_table.price_table(cycle.shared)
        return self.prices.on_nodes(cycle.incoming, nodes, known)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        if self.max_cost_threshold is not None:
            costs = self.costs(cycle, nodes)
            out[costs > self.max_cost_threshold] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(TOO_EXPENSIVE.format(self.max_cost_threshold))

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        """The cost in millionths, at least 1."""
        costs = self.costs(cycle, nodes)
        out[:] = np.clip(costs * _MICROS, 1, _OVER_THRESHOLD >> 8)
        if self.max_cost_threshold is not None:
            out[costs > self.max_cost_threshold] = _OVER_THRESHOLD

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        """100 for the lowest cost, and half of that for twice the cost."""
        cheapest = int(scores.min(initial=_OVER_THRESHOLD))
        if cheapest < _OVER_THRESHOLD:
            np.floor_divide(MAX_SCORE * cheapest, scores, out=scores)
        else:
            scores.fill(0)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        smaller = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN)
        node = ClusterEvent(Resource.NODE, changed)
        return EventHint(node), EventHint(smaller), EventHint(MEASURED)
