"""The share of a node's resources that pods request, with one more pod on it.

As in kube-scheduler's scoring, a pod without requests for cpu or memory counts with small defaults.
`storage` is short for `ephemeral-storage`; `pods` is the number of pods.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU, MEMORY, PodInfo
from moorage.cache.table import NodeTable

PODS: Final = "pods"
_ALIASES: Final = {"storage": "ephemeral-storage"}

Floats = NDArray[np.float64]


def pod_request(pod: PodInfo, table: NodeTable, resource: str) -> int:
    """How much a pod adds to the load of a node."""
    if resource == PODS:
        return 1
    index = resource_index(table, resource)
    if index in (CPU, MEMORY):
        return pod.nonzero[index]
    return sum(amount for named, amount in pod.requests if named == index)


def used_share(nodes: Nodes, resource: str, more: int = 0) -> Floats:
    """The used share of each node, with `more` added; NaN if it has none.  float64 (node)"""
    if resource == PODS:
        return _divided(nodes.pod_count + more, nodes.allowed_pods)
    index = resource_index(nodes.table, resource)
    if index is None or index >= len(nodes.table.allocatable):
        return np.full(nodes.count, np.nan)
    used = (nodes.nonzero if index in (CPU, MEMORY) else nodes.requested)[index]
    return _divided(used + more, nodes.allocatable[index])


def resource_index(table: NodeTable, resource: str) -> int | None:
    """The index of a resource, or None if no object has named it."""
    return table.resources.find(_ALIASES.get(resource, resource))


def _divided(used: NDArray[np.int64], offered: NDArray[np.int64]) -> Floats:
    shares = np.full(len(used), np.nan)
    np.divide(used, offered, out=shares, where=offered > 0)
    return shares
