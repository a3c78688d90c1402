"""CostOptimizationPlugin: the less the pod costs per hour on a node, the higher the score."""

from collections.abc import Hashable
from functools import cached_property
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import MAX_SCORE, Rejection, unresolvable
from moorage.policies.argument_types import Amount, Share
from moorage.policies.business.price_list import (
    INSTANCE_TYPE_LABEL,
    SPOT_LABELS,
    CostMetrics,
    PriceList,
)
from moorage.policies.gpu import gpu_resources

TOO_EXPENSIVE: Final = "node(s) would cost the pod more than {} per hour"

_MICROS = 1_000_000
_OVER_THRESHOLD = 1 << 62
"""The raw score of a node that is too dear."""


class CostOptimizationPlugin(Filter, Score, frozen=True, dict=True):
    """The cheapest node scores 100, one that costs twice as much 50.

    What a pod costs per hour: what it asks for at `costMetrics` (per core, GB and GPU), times what
    the node's instance type costs by `instancePrices` over what it would at those metrics. With
    `preferSpotInstances`, nodes with one of `spotLabels` count at `spotPriceRatio` of that. A node
    where the pod would cost more than `maxCostThreshold` scores 0 and, as a filter, is refused.
    """

    cost_metrics: CostMetrics = CostMetrics()
    instance_prices: dict[str, Amount] = msgspec.field(default_factory=dict)
    prefer_spot_instances: bool = False
    max_cost_threshold: Amount | None = None
    instance_type_label: str = INSTANCE_TYPE_LABEL
    spot_labels: tuple[str, ...] = SPOT_LABELS
    spot_price_ratio: Share = 0.35
    gpu_resource_names: tuple[str, ...] = gpu_resources.GPU_RESOURCE_NAMES

    aliases = ("CostOptimization",)
    depends = Depends.NODE

    @cached_property
    def prices(self) -> PriceList:
        """The arguments as prices."""
        return PriceList(
            self.cost_metrics,
            self.instance_prices,
            self.instance_type_label,
            self.spot_labels,
            self.spot_price_ratio if self.prefer_spot_instances else 1.0,
            self.gpu_resource_names,
        )

    def sign(self, cycle: Cycle) -> Hashable:
        return self.prices.of_pod(cycle.incoming, cycle.table)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        if self.max_cost_threshold is not None:
            costs = self.prices.on_nodes(cycle.incoming, nodes)
            out[costs > self.max_cost_threshold] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(TOO_EXPENSIVE.format(self.max_cost_threshold))

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        """Millionths of the price, at least one."""
        costs = self.prices.on_nodes(cycle.incoming, nodes)
        out[:] = np.clip(costs * _MICROS, 1, _OVER_THRESHOLD >> 8)
        if self.max_cost_threshold is not None:
            out[costs > self.max_cost_threshold] = _OVER_THRESHOLD

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        """100 for the cheapest, half of that for what costs twice as much."""
        cheapest = int(scores.min(initial=_OVER_THRESHOLD))
        if cheapest < _OVER_THRESHOLD:
            np.floor_divide(MAX_SCORE * cheapest, scores, out=scores)
        else:
            scores.fill(0)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        return (EventHint(ClusterEvent(Resource.NODE, changed)),)
