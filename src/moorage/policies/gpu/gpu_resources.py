"""GPU resources: how many GPUs a pod requests, and how many a node has."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable

GPU_RESOURCE_NAMES: Final = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
)
"""The resource names that device plugins use for whole GPUs. A name that ends in `*` is a prefix
(`nvidia.com/mig-*`)."""


def gpu_indices(table: NodeTable, names: Iterable[str]) -> list[int]:
    """The indices of a table's resources with one of the names."""
    wanted = tuple(names)
    exact = frozenset(wanted)
    prefixes = tuple(name[:-1] for name in wanted if name.endswith("*"))
    return [
        index
        for index, name in enumerate(table.resources.values)
        if name in exact or name.startswith(prefixes)
    ]


def requested_gpus(pod: PodInfo, table: NodeTable, names: Iterable[str]) -> int:
    """How many GPUs a pod requests."""
    known = gpu_indices(table, names)
    return sum(amount for index, amount in pod.requests if index in known)


def offered_gpus(nodes: Nodes, names: Iterable[str]) -> NDArray[np.int64]:
    """How many GPUs each node has.  int64 (node)"""
    offered = nodes.allocatable
    known = [index for index in gpu_indices(nodes.table, names) if index < len(offered)]
    total: NDArray[np.int64] = offered[known].sum(axis=0)
    return total
