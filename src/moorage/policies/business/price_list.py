"""What it costs per hour to run a pod on a node.

1. A node's price is that of its instance in the price table (price_table.py), or else that of its
   type in `instancePrices`, or else the sum of its resources at the metrics: a price per core, per
   GB and per GPU. If the node is a spot instance and the price is not a spot price, the price is
   multiplied by the spot ratio.
2. A pod pays for the largest share of any resource of the node that it requests. A pod that takes
   half of the cores pays half of the price, because the memory left beside them is of little use to
   others. So a pod without GPUs also pays for the GPUs that it makes unusable.
"""

import math
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.resource_amounts import DEFAULT_MEMORY, DEFAULT_MILLI_CPU
from moorage.cache import selector_masks
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU, MEMORY, PodInfo
from moorage.cache.table import NodeTable
from moorage.config.types import ConfigStruct
from moorage.policies import label_values
from moorage.policies.argument_types import Amount
from moorage.policies.business.price_table import NO_PRICES, ON_DEMAND, PriceTable, instance_of
from moorage.policies.gpu import gpu_resources

INSTANCE_TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
SPOT_LABELS: Final = (
    "node-type=spot",
    "spot-instance=true",
    "karpenter.sh/capacity-type=spot",
    "eks.amazonaws.com/capacityType=SPOT",
    "cloud.google.com/gke-spot=true",
    "kubernetes.azure.com/scalesetpriority=spot",
)

_MILLICORES = 1000
_GB = 2**30

Floats = NDArray[np.float64]


class CostMetrics(ConfigStruct, frozen=True):
    """Prices per hour: of a core, of a GB of memory, of a GPU."""

    cpu: Amount = 0.05
    memory: Amount = 0.01
    gpu: Amount = 2.0


class PriceList(msgspec.Struct, frozen=True):
    """The prices and labels that costs depend on, besides the pod and the nodes."""

    metrics: CostMetrics
    instance_prices: dict[str, float]
    instance_type_label: str
    spot_labels: tuple[str, ...]
    spot_price_ratio: float
    """The factor for a spot instance without a spot price; 1 changes nothing."""
    gpu_names: tuple[str, ...] = gpu_resources.GPU_RESOURCE_NAMES

    def of_pod(self, pod: PodInfo, table: NodeTable) -> float:
        """A pod's price at the metrics; missing requests get kube-scheduler's defaults."""
        cpu, memory = pod.nonzero
        asked = gpu_resources.requested_gpus(pod, table, self.gpu_names)
        return float(self._worth(cpu or DEFAULT_MILLI_CPU, memory or DEFAULT_MEMORY, asked))

    def on_nodes(self, pod: PodInfo, nodes: Nodes, known: PriceTable = NO_PRICES) -> Floats:
        """What the pod costs on each node.  float64 (node)"""
        asked = self.of_pod(pod, nodes.table)
        shares = self._shares(pod, nodes)
        return np.where(np.isnan(shares), asked, self.prices(nodes, known) * shares)

    def prices(self, nodes: Nodes, known: PriceTable = NO_PRICES) -> Floats:
        """What each node costs per hour.  float64 (node)"""
        offered, spot = nodes.allocatable, is_spot(self.spot_labels, nodes)
        listed: Floats = self._worth(
            offered[CPU], offered[MEMORY], gpu_resources.offered_gpus(nodes, self.gpu_names)
        )
        typed = self._type_prices(nodes)
        prices = np.where(np.isnan(typed), listed, typed)
        prices[spot] *= self.spot_price_ratio
        if not len(known):
            return prices
        table = self._table_prices(nodes, known)
        return np.where(np.isnan(table), prices, table)

    def _table_prices(self, nodes: Nodes, known: PriceTable) -> Floats:
        """Prices by the table, NaN for nodes it does not have.  float64 (node)"""

        def read(node: Node) -> float:
            spot = any(node.labels.get(key) == value for key, value in self._spot_pairs)
            instance = instance_of(node, self.instance_type_label, spot)
            found = known.find(instance)
            if math.isnan(found) and spot:
                return known.find(instance._replace(purchase=ON_DEMAND)) * self.spot_price_ratio
            return found

        told = self.instance_type_label, self.spot_labels, self.spot_price_ratio
        key = ("price", known.version, *told)
        return label_values.node_column(nodes.table, key, read)[nodes.rows]

    @property
    def _spot_pairs(self) -> list[tuple[str, str]]:
        return [
            (key, value) for key, _, value in (each.partition("=") for each in self.spot_labels)
        ]

    def _shares(self, pod: PodInfo, nodes: Nodes) -> Floats:
        """The largest share of a resource that the pod requests, by node; NaN if it has none."""
        cpu, memory = pod.nonzero
        gpus = gpu_resources.requested_gpus(pod, nodes.table, self.gpu_names)
        parts = [
            (cpu or DEFAULT_MILLI_CPU, nodes.allocatable[CPU]),
            (memory or DEFAULT_MEMORY, nodes.allocatable[MEMORY]),
        ]
        if gpus:
            parts.append((gpus, gpu_resources.offered_gpus(nodes, self.gpu_names)))
        shares = np.full(nodes.count, np.nan)
        for asked, offered in parts:
            some = offered > 0
            shares[some] = np.fmax(shares[some], asked / offered[some])
        return shares

    def share_of_node(self, pod: PodInfo, table: NodeTable, row: int) -> float:
        """The largest share of a resource of one node that the pod requests; 0 if it has none."""
        share = float(self._shares(pod, Nodes.some(table, [row]))[0])
        return 0.0 if math.isnan(share) else share

    def _worth(self, cpu: Any, memory: Any, count: Any) -> Any:
        metrics = self.metrics
        per_core, per_gb = metrics.cpu / _MILLICORES, metrics.memory / _GB
        return cpu * per_core + memory * per_gb + count * metrics.gpu

    def _type_prices(self, nodes: Nodes) -> Floats:
        """The prices of the nodes' instance types, NaN where unknown.  float64 (node)"""
        types = nodes.table.label(self.instance_type_label).values.values
        by_type = [self.instance_prices.get(each or "", np.nan) for each in types]
        return np.array(by_type)[nodes.label(self.instance_type_label)]


def is_spot(labels: tuple[str, ...], nodes: Nodes) -> NDArray[np.bool_]:
    """Which nodes are spot instances.  bool (node)"""
    pairs = (label.partition("=") for label in labels)
    return selector_masks.has_any_label([(key, value) for key, _, value in pairs], nodes)
