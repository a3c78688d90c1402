"""How many GPUs of each NUMA domain of a node are free, if the device columns do not tell.

If a NodeResourceTopology of the node is served, its kubelet reports what is free there. Pods that
came later take the domains of their devices. Resources that the device columns lack (MIG profiles,
for example) are assigned as by a kubelet's topology manager: a pod gets the domain that it fills
best. If no domain has room for it, it gets the emptiest domains, one after the other. When a pod
leaves, its GPUs return to the domains they were taken from.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable, PodChange
from moorage.policies import label_values
from moorage.policies.gpu import gpu_resources
from moorage.policies.gpu.devices import choice
from moorage.policies.gpu.devices.columns import DeviceColumns
from moorage.policies.gpu.devices.domains import DomainCounts

ZONES: Final = "numa-zones"
"""The key of a profile's NodeResourceTopologies in the state that its plugins share."""

Columns = DeviceColumns | None
Taken = list[tuple[int, int]]
"""The number of GPUs taken of each domain."""


class NodeZones(NamedTuple):
    """What is free in each zone of a node, by resource; `version` identifies the report.

    `allocatable` is what each zone has in all, if reported.
    """

    available: tuple[Mapping[str, int], ...]
    version: str = ""
    allocatable: tuple[Mapping[str, int], ...] = ()


class ServedZones:
    """Reported zones by node; `version` counts the readings that differed from the one before."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeZones] = {}
        self.version = 0

    def put(self, nodes: dict[str, NodeZones]) -> None:
        if nodes != self.nodes:
            self.nodes = nodes
            self.version += 1


def served_zones(shared: dict[str, Any]) -> ServedZones:
    """The reported zones of a profile, created on first use."""
    found: ServedZones = shared.setdefault(ZONES, ServedZones())
    return found


class NumaDomains:
    """The free GPUs of every domain, brought up to date when they are read.

    Pods take the devices that they hold by `columns`; without columns, GPUs are assigned here.
    """

    def __init__(self, names: tuple[str, ...], label: str) -> None:
        self._names = names
        self._label = label
        self._pods: Follower[PodChange] = Follower()
        self._nodes: Follower[int] = Follower()
        self._free: dict[int, list[int]] = {}
        self._taken: dict[tuple[int, str], Taken] = {}
        self._reported: dict[int, str] = {}
        self._zones_version = -1

    def counts(
        self, table: NodeTable, zones: ServedZones, rows: Sequence[int], columns: Columns
    ) -> DomainCounts:
        """The domains of some rows."""
        self._catch_up(table, zones, columns)
        found = [self._counted(table, zones, row, columns) for row in rows]
        width = max((len(part) for both in found for part in both), default=1)
        free, size = np.zeros((2, len(found), width), dtype=np.int64)
        for place, both in enumerate(found):
            for counts, part in zip((free, size), both, strict=True):
                counts[place, : len(part)] = part
        return DomainCounts(free, size)

    def _counted(
        self, table: NodeTable, zones: ServedZones, row: int, columns: Columns
    ) -> tuple[list[int], ...]:
        if row not in self._free:
            self._begin(table, zones, row)
        node = table.nodes[row]
        served = zones.nodes.get(node.name) if node is not None else None
        if served is not None and served.allocatable:
            return self._free[row], [_gpus(zone, self._names) for zone in served.allocatable]
        if columns is not None:
            known = columns.domains[choice.SAME_NUMA][row, : columns.number[row]]
            return self._free[row], np.bincount(known).tolist()
        return self._free[row], self._sizes(table, row)

    def _catch_up(self, table: NodeTable, zones: ServedZones, columns: Columns) -> None:
        def afresh() -> tuple[Any, ...]:
            self._free.clear()
            self._taken.clear()
            self._reported.clear()
            return ()

        def move(change: PodChange) -> None:
            row, pod, sign = change
            if row in self._free:
                self._apply(table, row, pod, sign, columns)

        self._nodes.apply(table.node_log, afresh, self._forget)
        self._pods.apply(table.pod_log, afresh, move)
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
        """Start from the report; without one, assign GPUs to the pods on the node."""
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
        """The number of GPUs of each domain; one domain if the node does not say."""
        offered = int(gpu_resources.offered_gpus(Nodes.some(table, [row]), self._names)[0])
        said = label_values.node_numbers(table, self._label)[row]
        size = min(int(said), offered) if said >= 1 else offered
        if size <= 0:
            return [offered]
        whole, rest = divmod(offered, size)
        return [size] * whole + ([rest] if rest else [])

    def _apply(
        self, table: NodeTable, row: int, pod: PodInfo, sign: int, columns: Columns = None
    ) -> None:
        free, key = self._free[row], (row, pod.uid)
        if sign < 0:
            for domain, count in self._taken.pop(key, ()):
                free[domain] += count
            return
        taken = _by_device(columns, row, pod, len(free))
        if taken is None:
            asked = gpu_resources.requested_gpus(pod, table, self._names)
            taken = _shared_out(free, asked) if asked else []
        for domain, count in taken:
            free[domain] -= count
        self._taken[key] = taken


def _by_device(columns: Columns, row: int, pod: PodInfo, domains: int) -> Taken | None:
    """The GPUs a pod took, by the domains of its devices; None if the columns do not know the pod,
    or nobody on the node reads which device it gets."""
    held = columns.held(pod.uid) if columns is not None else None
    if columns is None or held is None or not columns.shares[row]:
        return None
    known = columns.domains[choice.SAME_NUMA][row]
    taken = Counter(int(known[device]) for device in held.devices if device < len(known))
    return list(taken.items()) if max(taken, default=0) < domains else None


def _shared_out(free: Sequence[int], asked: int) -> Taken:
    """Take GPUs from the domain that is filled best, or else from the emptiest ones."""
    fitting = [domain for domain, count in enumerate(free) if count >= asked]
    if fitting:
        return [(min(fitting, key=lambda domain: free[domain]), asked)]
    taken: Taken = []
    for domain in sorted(range(len(free)), key=lambda domain: -free[domain]):
        count = min(free[domain], asked)
        if count > 0:
            asked -= count
            taken.append((domain, count))
    return taken


def _gpus(zone: Mapping[str, int], names: tuple[str, ...]) -> int:
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    return sum(count for name, count in zone.items() if name in names or name.startswith(prefixes))
