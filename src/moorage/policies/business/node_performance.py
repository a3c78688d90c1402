"""How fast nodes are, derived from their features, measured usage and measured latency.

Features are labels of Node Feature Discovery (`feature.node.kubernetes.io/...`). Each score is 0
to 100: the mean of the facts that are known, or NaN if none is.
    cpu       the widest vector instructions (AVX-512, AVX2, neither); the idle share of the cpu
    network   the distance to the pods that the pod talks to; RDMA or SR-IOV
    storage   whether disks are non-rotational; 0 under disk pressure
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import MAX_SCORE
from moorage.policies import label_values
from moorage.policies.network_latency import NetworkLatencyPlugin
from moorage.policies.telemetry import node_measurements

FEATURE: Final = "feature.node.kubernetes.io/"

_CPUID: Final = f"{FEATURE}cpu-cpuid."
_VECTORS: Final = (("AVX512F", 100.0), ("SVE2", 100.0), ("SVE", 90.0), ("AVX2", 75.0))
_NO_VECTORS: Final = 40.0
_FAST_NETWORK: Final = (f"{FEATURE}rdma.capable", f"{FEATURE}network-sriov.capable")
_FLASH: Final = f"{FEATURE}storage-nonrotationaldisk"
_SLOW_DISK: Final = 30.0

Floats = NDArray[np.float64]


def cpu_scores(cycle: Cycle, nodes: Nodes, since: float) -> Floats:
    """How fast the cpu is, and its idle share, if measured after `since`.  float64 (node)"""
    model = label_values.node_column(nodes.table, "cpu features", _cpu_features)[nodes.rows]
    usage = node_measurements.usage_columns(nodes.table, cycle.shared)
    used, at = usage.cpu[nodes.rows], usage.at[nodes.rows]
    offered = np.maximum(nodes.allocatable[CPU], 1)
    idle = np.clip(MAX_SCORE * (1.0 - used / offered), 0, MAX_SCORE)
    return _mean((model, np.where(at < since, np.nan, idle)))


def network_scores(network: NetworkLatencyPlugin, cycle: Cycle, nodes: Nodes) -> Floats:
    """How near the pod's peers are, and what the network card supports.  float64 (node)"""
    able = label_values.node_column(nodes.table, "network features", _network_features)[nodes.rows]
    distances = network.distances(cycle)
    if distances is None:
        return able
    share = distances[nodes.rows] / network.max_latency_ms
    return _mean((able, np.clip(MAX_SCORE * (1.0 - share), 0, MAX_SCORE)))


def storage_scores(nodes: Nodes) -> Floats:
    """Whether disks are fast, and 0 under disk pressure.  float64 (node)"""
    return label_values.node_column(nodes.table, "storage features", _storage_features)[nodes.rows]


def _mean(parts: Sequence[Floats]) -> Floats:
    """The mean of the known parts.  float64 (node)"""
    stacked = np.stack(parts)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _cpu_features(node: Node) -> float:
    if not any(key.startswith(_CPUID) for key in node.labels):
        return label_values.UNKNOWN
    for name, score in _VECTORS:
        if node.labels.get(f"{_CPUID}{name}") == "true":
            return score
    return _NO_VECTORS


def _network_features(node: Node) -> float:
    able = any(node.labels.get(key) == "true" for key in _FAST_NETWORK)
    return float(MAX_SCORE) if able else label_values.UNKNOWN


def _storage_features(node: Node) -> float:
    pressed = (
        each.type == "DiskPressure" and each.status == "True" for each in node.status.conditions
    )
    if any(pressed):
        return 0.0
    said = node.labels.get(_FLASH)
    if said is None:
        return label_values.UNKNOWN
    return float(MAX_SCORE) if said == "true" else _SLOW_DISK
