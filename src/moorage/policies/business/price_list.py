"""What it costs to run a pod on a node, per hour.

1. By the metrics (a price per core, per GB and per GPU) a pod has a list price: the sum over what
   it asks for.
2. A node has one too, over what it offers; and where its instance type is in the price table, a
   true price. True over list price is the node's ratio; without a true price it is 1.
3. On a node that is a spot instance the ratio is lower, where spot instances are preferred.
4. A pod costs its list price times the ratio of the node.
"""

from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.resource_amounts import DEFAULT_MEMORY, DEFAULT_MILLI_CPU
from moorage.cache import selector_masks
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU, MEMORY, PodInfo
from moorage.cache.table import NodeTable
from moorage.config.types import ConfigStruct
from moorage.policies.argument_types import Amount
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
    """Everything that prices depend on beside pod and nodes."""

    metrics: CostMetrics
    instance_prices: dict[str, float]
    instance_type_label: str
    spot_labels: tuple[str, ...]
    spot_price_ratio: float
    """What a spot instance costs of its price; 1 makes no difference."""
    gpu_names: tuple[str, ...] = gpu_resources.GPU_RESOURCE_NAMES

    def of_pod(self, pod: PodInfo, table: NodeTable) -> float:
        """A pod's list price; one that asks for nothing counts as kube-scheduler counts it."""
        cpu, memory = pod.nonzero
        asked = gpu_resources.requested_gpus(pod, table, self.gpu_names)
        return float(self._worth(cpu or DEFAULT_MILLI_CPU, memory or DEFAULT_MEMORY, asked))

    def on_nodes(self, pod: PodInfo, nodes: Nodes) -> Floats:
        """What the pod costs on each node.  float64 (node)"""
        return self.ratios(nodes) * self.of_pod(pod, nodes.table)

    def ratios(self, nodes: Nodes) -> Floats:
        """What each node costs of its list price.  float64 (node)"""
        prices = self._true_prices(nodes)
        offered = nodes.allocatable
        listed: Floats = self._worth(
            offered[CPU], offered[MEMORY], gpu_resources.offered_gpus(nodes, self.gpu_names)
        )
        known = ~np.isnan(prices) & (listed > 0)
        ratios = np.ones(nodes.count)
        ratios[known] = prices[known] / listed[known]
        ratios[is_spot(self.spot_labels, nodes)] *= self.spot_price_ratio
        return ratios

    def _worth(self, cpu: Any, memory: Any, count: Any) -> Any:
        metrics = self.metrics
        per_core, per_gb = metrics.cpu / _MILLICORES, metrics.memory / _GB
        return cpu * per_core + memory * per_gb + count * metrics.gpu

    def _true_prices(self, nodes: Nodes) -> Floats:
        """The prices of the nodes' instance types, NaN where unknown.  float64 (node)"""
        types = nodes.table.label(self.instance_type_label).values.values
        by_type = [self.instance_prices.get(each or "", np.nan) for each in types]
        return np.array(by_type)[nodes.label(self.instance_type_label)]


def is_spot(labels: tuple[str, ...], nodes: Nodes) -> NDArray[np.bool_]:
    """Which nodes can be taken away at any time.  bool (node)"""
    pairs = (label.partition("=") for label in labels)
    return selector_masks.has_any_label([(key, value) for key, _, value in pairs], nodes)
