"""Which GPUs of a node are taken, by NUMA domain, as pods come and go.

Kubelets tell nobody which domain a pod's GPUs are in, so it is worked out as their topology manager
decides: a pod goes into the domain that it fills best; if none holds it, into the emptiest ones,
one after the other. What a pod took is given back where it was taken. Where a NodeResourceTopology
of the node is served, that is what is free; only pods that came later are worked out on top.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable, PodChange
from moorage.policies import label_values
from moorage.policies.gpu import gpu_resources

ZONES: Final = "numa-zones"
"""Where a profile keeps what NodeResourceTopologies say, in what plugins share."""

Counts = NDArray[np.int64]
Taken = list[tuple[int, int]]
"""How many GPUs of which domain."""


class NodeZones(NamedTuple):
    """What is free in each zone of a node, by resource; `version` tells one report from another."""

    available: tuple[Mapping[str, int], ...]
    version: str = ""


class ServedZones:
    """What NodeResourceTopologies say, by node; `version` counts the readings that differed."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeZones] = {}
        self.version = 0

    def put(self, nodes: dict[str, NodeZones]) -> None:
        if nodes != self.nodes:
            self.nodes = nodes
            self.version += 1


def served_zones(shared: dict[str, Any]) -> ServedZones:
    """What was read for a profile, made when it is first asked for."""
    found: ServedZones = shared.setdefault(ZONES, ServedZones())
    return found


class NumaDomains:
    """The free GPUs of every domain, brought up to date when they are read."""

    def __init__(self, names: tuple[str, ...], label: str) -> None:
        self._names = names
        self._label = label
        self._pods: Follower[PodChange] = Follower()
        self._nodes: Follower[int] = Follower()
        self._free: dict[int, list[int]] = {}
        self._taken: dict[tuple[int, str], Taken] = {}
        self._reported: dict[int, str] = {}
        self._zones_version = -1

    def free(self, table: NodeTable, zones: ServedZones, row: int) -> list[int]:
        """What is free in each domain of a row."""
        self._catch_up(table, zones)
        if row not in self._free:
            self._begin(table, zones, row)
        return self._free[row]

    def most_free(self, nodes: Nodes, zones: ServedZones, domains: Counts) -> Counts:
        """The GPUs free in so many of a node's emptiest domains.  int64 (node)"""
        rows = np.arange(nodes.table.rows)[nodes.rows].tolist()
        return np.array(
            [
                sum(sorted(self.free(nodes.table, zones, row), reverse=True)[:count])
                for row, count in zip(rows, domains.tolist(), strict=True)
            ],
            dtype=np.int64,
        )

    def _catch_up(self, table: NodeTable, zones: ServedZones) -> None:
        nodes, pods = self._nodes.missed(table.node_log), self._pods.missed(table.pod_log)
        if nodes is None or pods is None:
            self._free.clear()
            self._taken.clear()
            self._reported.clear()
            nodes, pods = (), ()
        for row in set(nodes):
            self._forget(row)
        for row, pod, sign in pods:
            if row in self._free:
                self._apply(table, row, pod, sign)
        if self._zones_version != zones.version:
            self._zones_version = zones.version
            for row, node in enumerate(table.nodes):
                found = zones.nodes.get(node.name) if node is not None else None
                if self._reported.get(row, "") != (found.version if found else ""):
                    self._forget(row)

    def _forget(self, row: int) -> None:
        self._free.pop(row, None)
        self._reported.pop(row, None)
        for key in [key for key in self._taken if key[0] == row]:
            del self._taken[key]

    def _begin(self, table: NodeTable, zones: ServedZones, row: int) -> None:
        """Take what is reported; or hand out the GPUs of the pods that are there."""
        node = table.nodes[row]
        served = zones.nodes.get(node.name) if node is not None else None
        if served is not None and served.available:
            self._free[row] = [_gpus(zone, self._names) for zone in served.available]
            self._reported[row] = served.version
            return
        self._free[row] = self._sizes(table, row)
        for pod in table.pods[row].values():
            self._apply(table, row, pod, 1)

    def _sizes(self, table: NodeTable, row: int) -> list[int]:
        """How many GPUs each domain has; all are in one, where the node does not say."""
        offered = int(gpu_resources.offered_gpus(Nodes.some(table, [row]), self._names)[0])
        said = label_values.node_numbers(table, self._label)[row]
        size = min(int(said), offered) if said >= 1 else offered
        if size <= 0:
            return [offered]
        whole, rest = divmod(offered, size)
        return [size] * whole + ([rest] if rest else [])

    def _apply(self, table: NodeTable, row: int, pod: PodInfo, sign: int) -> None:
        asked = gpu_resources.requested_gpus(pod, table, self._names)
        if not asked:
            return
        free, key = self._free[row], (row, pod.uid)
        if sign > 0:
            self._taken[key] = _take(free, asked)
        else:
            for domain, count in self._taken.pop(key, ()):
                free[domain] += count


def _take(free: list[int], asked: int) -> Taken:
    """Hand out GPUs: of the domain that is filled best, or else of the emptiest ones."""
    fitting = [domain for domain, count in enumerate(free) if count >= asked]
    if fitting:
        best = min(fitting, key=lambda domain: free[domain])
        free[best] -= asked
        return [(best, asked)]
    taken: Taken = []
    for domain in sorted(range(len(free)), key=lambda domain: -free[domain]):
        count = min(free[domain], asked)
        if count > 0:
            free[domain] -= count
            asked -= count
            taken.append((domain, count))
    return taken


def _gpus(zone: Mapping[str, int], names: tuple[str, ...]) -> int:
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    return sum(count for name, count in zone.items() if name in names or name.startswith(prefixes))
