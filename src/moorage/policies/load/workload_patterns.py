"""The workload pattern of each namespace: whether its pods request mostly cpu or mostly memory."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from moorage.cache.follower import Follower
from moorage.cache.podinfo import CPU, MEMORY
from moorage.cache.table import NodeTable, PodChange
from moorage.policies.telemetry.node_measurements import UsageColumns

BALANCED: Final = "balanced"
CPU_HEAVY: Final = "cpu-heavy"
MEMORY_HEAVY: Final = "memory-heavy"
_HEAVY: Final = 0.6
"""Pods whose requests have at least this share of one resource are heavy in it."""


class WorkloadPattern(NamedTuple):
    """The pods of a namespace: their number, cpu's share of requests, the share of Jobs' pods."""

    pods: int
    cpu: float
    batch: float

    @property
    def name(self) -> str:
        if self.cpu >= _HEAVY:
            return CPU_HEAVY
        return MEMORY_HEAVY if self.cpu <= 1 - _HEAVY else BALANCED


class ClusterState(NamedTuple):
    """The shares of all cpu and all memory that are in use, or else requested."""

    cpu: float
    memory: float
    measured: bool = False


class NamespaceTotals:
    __slots__ = ("batch", "cpu", "memory", "pods")

    def __init__(self) -> None:
        self.pods = self.batch = self.cpu = self.memory = 0


class WorkloadPatterns:
    """The requests of the pods on a table's nodes, by namespace."""

    def __init__(self) -> None:
        self._tallies: dict[str, NamespaceTotals] = {}
        self._pods: Follower[PodChange] = Follower()

    def catch_up(self, table: NodeTable) -> None:
        """Count the pods that came and left, those of trials included."""

        def afresh() -> list[PodChange]:
            self._tallies.clear()
            return table.placed_pods()

        self._pods.apply(table.pod_log, afresh, self._count)

    def namespaces(self) -> Iterator[str]:
        return (name for name, tally in self._tallies.items() if tally.pods)

    def pattern(self, namespace: str, table: NodeTable) -> WorkloadPattern | None:
        """The pattern of a namespace's pods, relative to what the cluster offers."""
        tally = self._tallies.get(namespace)
        if tally is None or not tally.pods:
            return None
        offered = table.allocatable[:, : table.rows].sum(axis=1)
        cpu = tally.cpu / max(int(offered[CPU]), 1)
        memory = tally.memory / max(int(offered[MEMORY]), 1)
        part = cpu / (cpu + memory) if cpu + memory else 0.5
        return WorkloadPattern(tally.pods, part, tally.batch / tally.pods)

    def _count(self, change: PodChange) -> None:
        _, pod, sign = change
        tally = self._tallies.setdefault(pod.pod.namespace, NamespaceTotals())
        tally.pods += sign
        tally.cpu += sign * pod.nonzero[CPU]
        tally.memory += sign * pod.nonzero[MEMORY]
        owner = pod.pod.owner
        tally.batch += sign * (owner is not None and owner.kind == "Job")


def cluster_state(table: NodeTable, measured: UsageColumns, since: float) -> ClusterState:
    """How full the cluster is: by recent usage of at least half of its nodes, or by requests."""
    rows = slice(0, table.rows)
    alive = table.alive[rows]
    usage = np.stack((measured.cpu[rows], measured.memory[rows]))
    known = alive & ~np.isnan(usage).any(axis=0) & ~(measured.at[rows] < since)
    if known.any() and known.sum() * 2 >= alive.sum():
        offered = table.allocatable[[CPU, MEMORY], rows][:, known].sum(axis=1)
        shares = usage[:, known].sum(axis=1) / np.maximum(offered, 1)
        return ClusterState(float(shares[0]), float(shares[1]), True)
    return _by_requests(table)


def _by_requests(table: NodeTable) -> ClusterState:
    offered = table.allocatable[:, : table.rows].sum(axis=1)
    used = table.nonzero[:, : table.rows].sum(axis=1)
    shares = used / np.maximum(offered[[CPU, MEMORY]], 1)
    return ClusterState(float(shares[0]), float(shares[1]))
