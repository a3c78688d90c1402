"""The node table: one row per node, one contiguous column per fact.

| column           | shape             | dtype | unit, meaning                                     |
|------------------|-------------------|-------|----------------------------------------------------|
| `alive`          | (row)             | bool  | the row holds a node                              |
| `allocatable`    | (resource, row)   | int64 | millicores, bytes, counts                         |
| `requested`      | (resource, row)   | int64 | the sum over the node's pods                      |
| `free`           | (resource, row)   | int64 | allocatable less requested                        |
| `nonzero`        | (cpu memory, row) | int64 | requested, with kube's defaults where it is none  |
| `allowed_pods`   | (row)             | int64 | `status.allocatable.pods`                         |
| `pod_count`      | (row)             | int64 | pods on the node                                  |
| `unschedulable`  | (row)             | bool  | `spec.unschedulable`                              |
| `taint_set`      | (row)             | int32 | id in `taint_sets`                                |
| `label(key).ids` | (row)             | int32 | id of the node's value of that label, 0 = none    |

`allocatable_f8`, `requested_f8` and `nonzero_f8` hold the same numbers as float64, for kernels that
divide. Where nothing is allocatable, `allocatable_f8` is 1, so that no kernel divides by zero.
`used_share` is `requested_f8` divided by `allocatable_f8`, at most 1. The float columns exist for
the first resources only (`wide_columns.FEW`); `Nodes.floats` computes them for the others.

Resources come first in the two-dimensional columns, so that one resource over all nodes is
contiguous. Rows are reused after deletion; `rows` is the most rows that were ever in use at once.

Only the table writes the columns: the views that it hands out are read-only.

Three logs say what changed: `node_log` (rows whose node object changed), `usage_log` (rows whose
pods or node changed) and `pod_log` (which pod came or went, where).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api import int64
from moorage.api.node import Node
from moorage.api.resource_amounts import node_allocatable
from moorage.api.taints import Taint
from moorage.cache.follower import RowLog
from moorage.cache.free_bounds import FreeBound
from moorage.cache.host_ports import PortIndex
from moorage.cache.images import ImageIndex
from moorage.cache.interner import Interner
from moorage.cache.label_columns import LabelColumn
from moorage.cache.podinfo import BASE_RESOURCES, ORDINARY, Feature, PodInfo
from moorage.cache.wide_columns import FEW, grown

_INITIAL_ROWS = 64
_INITIAL_RESOURCES = 4

_AMOUNTS = ("allocatable", "requested", "free")
_FLOATS = ("allocatable_f8", "requested_f8", "used_share")
_NONZERO = ("nonzero", "nonzero_f8")
_FILL = {"allocatable_f8": 1}


class Columns:
    """The columns as the table writes them."""

    alive: NDArray[np.bool_]
    allocatable: NDArray[np.int64]
    requested: NDArray[np.int64]
    free: NDArray[np.int64]
    nonzero: NDArray[np.int64]
    allowed_pods: NDArray[np.int64]
    pod_count: NDArray[np.int64]
    unschedulable: NDArray[np.bool_]
    taint_set: NDArray[np.int32]
    allocatable_f8: NDArray[np.float64]
    requested_f8: NDArray[np.float64]
    nonzero_f8: NDArray[np.float64]
    used_share: NDArray[np.float64]


_VALUES_KEPT: Final = 1024
"""Ids of unused label values and taints are dropped beyond this plus twice the number of nodes."""
POD_CHANGES_KEPT: Final = 16_384
"""Entries of `pod_log` kept: each holds a pod of a kilobyte or more, which may be long gone."""


class PodChange(NamedTuple):
    """A pod that came to a row (+1) or left it (-1)."""

    row: int
    pod: PodInfo
    sign: int

    def name(self) -> str:
        """The pod, for messages."""
        return f"pod {self.pod.pod.key}"


class NodeTable(Columns):
    """Nodes and what their pods use, as columns."""

    def __init__(self) -> None:
        self.resources: Interner[str] = Interner(BASE_RESOURCES)
        self.taint_sets: Interner[tuple[Taint, ...]] = Interner([()])
        self.rows = 0
        self.layout = 0
        """Grows when columns are moved or get longer: views of them must then be made anew."""
        self.row_of: dict[str, int] = {}
        self.nodes: list[Node | None] = []
        self.pods: list[dict[str, PodInfo]] = []
        self.images = ImageIndex()
        self.ports = PortIndex()
        self.pods_with_affinity = 0
        """The number of pods on nodes that have pod affinity or anti-affinity."""
        self.node_log: RowLog[int] = RowLog(name_of=self._name_of)
        self.usage_log: RowLog[int] = RowLog(name_of=self._name_of)
        self.pod_log: RowLog[PodChange] = RowLog(POD_CHANGES_KEPT, PodChange.name)
        self.derived: dict[str, Any] = {}
        """State that readers of the logs keep for as long as the table lives, by their own key."""
        self._free: list[int] = []
        self._labels: dict[str, LabelColumn] = {}
        self._label_keys: set[str] = set()
        """Every label key that a node has, or has had."""
        self._allocate(_INITIAL_ROWS)

    def _allocate(self, capacity: int) -> None:
        own = self._own = Columns()
        own.alive = np.zeros(capacity, dtype=bool)
        own.allocatable = np.zeros((_INITIAL_RESOURCES, capacity), dtype=np.int64)
        own.requested = np.zeros((_INITIAL_RESOURCES, capacity), dtype=np.int64)
        own.free = np.zeros((_INITIAL_RESOURCES, capacity), dtype=np.int64)
        own.nonzero = np.zeros((2, capacity), dtype=np.int64)
        own.allowed_pods = np.zeros(capacity, dtype=np.int64)
        own.pod_count = np.zeros(capacity, dtype=np.int64)
        own.allocatable_f8 = np.ones((_INITIAL_RESOURCES, capacity), dtype=np.float64)
        own.requested_f8 = np.zeros((_INITIAL_RESOURCES, capacity), dtype=np.float64)
        own.nonzero_f8 = np.zeros((2, capacity), dtype=np.float64)
        own.used_share = np.zeros((_INITIAL_RESOURCES, capacity), dtype=np.float64)
        own.unschedulable = np.zeros(capacity, dtype=bool)
        own.taint_set = np.zeros(capacity, dtype=np.int32)
        self._show()
        self.largest: list[int] = [0] * _INITIAL_RESOURCES
        """(resource): the largest amount that a node ever offered, or used if beyond ORDINARY."""
        self.is_ordinary = True
        """Whether every amount so far was at least 0 and below ORDINARY."""
        self.offering: list[int] = [0] * _INITIAL_RESOURCES
        """(resource): the number of nodes that offer some."""
        self._floors = [FreeBound() for _ in range(_INITIAL_RESOURCES)]
        self._pod_floor = FreeBound()

    def _show(self) -> None:
        """Publish read-only views of the columns as attributes."""
        for name, column in vars(self._own).items():
            shown = column.view()
            shown.flags.writeable = False
            setattr(self, name, shown)

    def __len__(self) -> int:
        return len(self.row_of)

    def node(self, row: int) -> Node:
        node = self.nodes[row]
        if node is None:
            raise LookupError(f"row {row} holds no node")
        return node

    def _name_of(self, row: int) -> str:
        node = self.nodes[row]
        return f"row {row}" if node is None else f"node {node.name}"

    def placed_pods(self) -> list[PodChange]:
        """Every pod on the nodes as if it had just come, for readers that must start afresh."""
        by_row = enumerate(self.pods)
        return [PodChange(row, pod, 1) for row, pods in by_row for pod in pods.values()]

    def label(self, key: str) -> LabelColumn:
        """The column of a label key, filled on first use and kept up to date from then on.

        The column of a key that no node has is not kept: pods may name any number of such keys.
        """
        column = self._labels.get(key)
        if column is None:
            column = LabelColumn(key, len(self.alive))
            if not self.has_label(key):
                return column
            self._labels[key] = column
            for row in self.row_of.values():
                column.set(row, self.node(row).labels.get(key))
        return column

    def has_label(self, key: str) -> bool:
        """Whether a node has, or has had, a label of that key."""
        return key in self._label_keys

    def all_offer(self, resource: int) -> bool:
        """Whether every node offers some of a resource."""
        return self.offering[resource] == len(self.row_of)

    def has_everywhere(self, amounts: Iterable[tuple[int, int]]) -> bool:
        """Whether every node has room for one more pod, and these amounts of resources free.

        True is certain; False only means that the nodes must be checked one by one.
        """
        floors = self._floors
        if self._pod_floor.bound < 1 and not self._carries(self._pod_floor, None, 1):
            return False
        for resource, amount in amounts:
            if resource >= len(floors):
                return False
            if amount > 0 and not self.all_offer(resource):
                return False
            floor = floors[resource]
            if floor.bound < amount and not self._carries(floor, resource, amount):
                return False
        return True

    def _carries(self, floor: FreeBound, resource: int | None, amount: int) -> bool:
        version = self.usage_log.version
        if floor.is_due(version, self.rows):
            free = self.allowed_pods - self.pod_count if resource is None else self.free[resource]
            floor.measure(free[self.alive], version)
        return amount <= floor.bound

    def put_node(self, node: Node) -> int:
        """Add a node, or update the one of that name; its pods stay. Returns the row.

        A node that differs only in its resourceVersion, as after a heartbeat, is not logged.
        """
        row = self.row_of.get(node.name)
        if row is None:
            row = self._take_row(node.name)
        elif _is_as_before(self.node(row), node):
            self.nodes[row] = node
            return row
        self._fill(row, node)
        self._log_node(row)
        return row

    def remove_node(self, name: str) -> dict[str, PodInfo]:
        """Free the row of a node and return the pods that were counted on it."""
        row = self.row_of.pop(name)
        pods = dict(self.pods[row])
        for pod in pods.values():
            self.remove_pod(row, pod)
        self.images.remove(row)
        self.nodes[row] = None
        self._offer(row, {}, counted=False)
        own = self._own
        own.alive[row] = False
        own.allowed_pods[row] = 0
        own.unschedulable[row] = False
        own.taint_set[row] = 0
        for column in self._labels.values():
            column.set(row, None)
        self._free.append(row)
        self._log_node(row)
        return pods

    @property
    def free_rows(self) -> list[int]:
        """Rows without a node; the last is used next."""
        return list(self._free)

    def add_pod(self, row: int, pod: PodInfo) -> None:
        self.pods[row][pod.uid] = pod
        self._count(row, pod, 1)

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        del self.pods[row][pod.uid]
        self._count(row, pod, -1)

    def list_pods(self, row: int, uids: list[str]) -> None:
        """Put the pods of a row in this order; `uids` must be the uids of all of them."""
        pods = self.pods[row]
        if list(pods) != uids:
            for uid in uids:
                pods[uid] = pods.pop(uid)

    def replace_pod(self, row: int, old: PodInfo, new: PodInfo) -> None:
        """Replace a pod by a new version that uses the same amounts and ports."""
        del self.pods[row][old.uid]
        self.pods[row][new.uid] = new
        self.pods_with_affinity += _has_affinity(new) - _has_affinity(old)
        self.usage_log.append(row)
        self.pod_log.append(PodChange(row, old, -1))
        self.pod_log.append(PodChange(row, new, 1))

    def _count(self, row: int, pod: PodInfo, sign: int) -> None:
        own = self._own
        requested, mirror = own.requested, own.requested_f8
        for resource, amount in pod.requests:
            if resource >= len(requested):
                self._grow_resources()
                requested, mirror = own.requested, own.requested_f8
            total = requested.item(resource, row) + sign * amount
            if not 0 <= total < ORDINARY:
                total = self._note_extreme(resource, total)
            requested[resource, row] = total
            if resource < len(mirror):
                mirror[resource, row] = total
            self._floors[resource].sink(self._settle(resource, row, total))
        for index, amount in enumerate(pod.nonzero):
            total = own.nonzero.item(index, row) + sign * amount
            if not 0 <= total < ORDINARY:
                total = self._note_extreme(index, total)
            own.nonzero[index, row] = own.nonzero_f8[index, row] = total
        pods = own.pod_count.item(row) + sign
        own.pod_count[row] = pods
        self._pod_floor.sink(own.allowed_pods.item(row) - pods)
        if pod.cls.ports:
            self.ports.count(row, pod.cls.ports, sign)
        if _has_affinity(pod):
            self.pods_with_affinity += sign
        self.usage_log.append(row)
        self.pod_log.append(PodChange(row, pod, sign))

    def _note_extreme(self, resource: int, total: int) -> int:
        """The amount wrapped to int64 as in Go; from now on the table is not `is_ordinary`."""
        held = total if 0 <= total <= int64.MAX else int64.MAX
        self.largest[resource] = max(self.largest[resource], held)
        self.is_ordinary = False
        return int64.wrap(total)

    def _take_row(self, name: str) -> int:
        if self._free:
            row = self._free.pop()
        else:
            row = self.rows
            if row == len(self.alive):
                self._grow_rows()
            self.rows += 1
            self.layout += 1
            self.nodes.append(None)
            self.pods.append({})
        self.row_of[name] = row
        return row

    def _fill(self, row: int, node: Node) -> None:
        allocatable = node_allocatable(node)
        self.nodes[row] = node
        own = self._own
        own.allowed_pods[row] = pods = allocatable.pop("pods", 0)
        self._pod_floor.sink(pods - own.pod_count.item(row))
        if own.alive.item(row):
            self._offer(row, allocatable, counted=True)
        else:
            self._offer_first(row, allocatable)
        own.alive[row] = True
        own.unschedulable[row] = node.spec.unschedulable
        own.taint_set[row] = self.taint_sets.intern(node.taints)
        self._label_keys.update(node.labels)
        for key, column in self._labels.items():
            column.set(row, node.labels.get(key))
        self.images.put(row, node)
        self._forget_values()

    def _forget_values(self) -> None:
        """Give new ids to taints and label values if most of them belong to no node any more."""
        most = _VALUES_KEPT + 2 * len(self.row_of)
        if len(self.taint_sets) > most:
            self._renumber_taints()
        if len(self._label_keys) > most:
            self._label_keys = {key for node in self.nodes if node for key in node.labels}
            self._labels = {k: col for k, col in self._labels.items() if k in self._label_keys}
        for column in self._labels.values():
            if len(column.values) > most:
                column.renumber()
                self.node_log.restart()

    def _renumber_taints(self) -> None:
        self.taint_sets = Interner([()])
        for row in self.row_of.values():
            self._own.taint_set[row] = self.taint_sets.intern(self.node(row).taints)

    def _offer_first(self, row: int, amounts: Mapping[str, int]) -> None:
        """Write the allocatable amounts of a new node, whose row is all zero."""
        own = self._own
        for resource, amount in self._by_resource(amounts).items():
            if not amount:
                continue
            self._floors[resource].sink(amount)
            self.offering[resource] += 1
            if not 0 < amount < ORDINARY:
                self._note_extreme(resource, amount)
            if amount > self.largest[resource]:
                self.largest[resource] = amount
            own.allocatable[resource, row] = own.free[resource, row] = amount
            if resource < len(own.allocatable_f8):
                own.allocatable_f8[resource, row] = amount if amount > 0 else 1

    def _by_resource(self, amounts: Mapping[str, int]) -> dict[int, int]:
        """Amounts by resource index; adds columns for resources that have none yet."""
        intern = self.resources.intern
        offered = {intern(name): amount for name, amount in amounts.items()}
        while len(self.resources) > len(self.allocatable):
            self._grow_resources()
        return offered

    def _offer(self, row: int, amounts: Mapping[str, int], *, counted: bool) -> None:
        """Write a row's allocatable amounts; `counted` is False if the row is being freed."""
        offered = self._by_resource(amounts)
        was_counted, own = bool(self.alive[row]), self._own
        for resource in {*np.flatnonzero(self.allocatable[:, row]).tolist(), *offered}:
            amount = offered.get(resource, 0)
            before = self.allocatable.item(resource, row)
            self.offering[resource] += bool(counted and amount) - bool(was_counted and before)
            if not 0 <= amount < ORDINARY:
                self._note_extreme(resource, amount)
            self.largest[resource] = max(self.largest[resource], amount)
            own.allocatable[resource, row] = amount
            if resource < len(own.allocatable_f8):
                own.allocatable_f8[resource, row] = amount if amount > 0 else 1
            left = self._settle(resource, row, self.requested.item(resource, row))
            if counted:
                self._floors[resource].sink(left)

    def _settle(self, resource: int, row: int, requested: int) -> int:
        """Write `free` and `used_share` of a row; return what is free."""
        own = self._own
        left = own.allocatable.item(resource, row) - requested
        if not self.is_ordinary:
            left = int64.wrap(left)
        own.free[resource, row] = left
        if resource < len(own.used_share):
            share = requested / own.allocatable_f8.item(resource, row)
            own.used_share[resource, row] = share if share < 1.0 else 1.0
        return left

    def _log_node(self, row: int) -> None:
        self.node_log.append(row)
        self.usage_log.append(row)

    def _grow_rows(self) -> None:
        self.layout += 1
        capacity = 2 * len(self.alive)
        for name in ("alive", "allowed_pods", "pod_count", "unschedulable", "taint_set"):
            old = getattr(self._own, name)
            longer = np.zeros(capacity, dtype=old.dtype)
            longer[: len(old)] = old
            setattr(self._own, name, longer)
        self._grow(_NONZERO, 2, capacity)
        self._grow(_AMOUNTS, len(self.allocatable), capacity)
        self._grow(_FLOATS, len(self.allocatable_f8), capacity)
        self._show()
        for column in self._labels.values():
            column.grow(capacity)

    def _grow_resources(self) -> None:
        self.layout += 1
        height = max(2 * len(self.allocatable), len(self.resources))
        added = height - len(self.allocatable)
        self._grow(_AMOUNTS, height, len(self.alive))
        if len(self.allocatable_f8) < FEW:
            self._grow(_FLOATS, min(height, FEW), len(self.alive))
        self._show()
        self.largest += [0] * added
        self._floors += [FreeBound() for _ in range(added)]
        self.offering += [0] * added

    def _grow(self, names: Iterable[str], height: int, capacity: int) -> None:
        for name in names:
            old = getattr(self._own, name)
            new = grown(old, height, capacity)
            if name in _FILL:
                new[len(old) :] = new[:, old.shape[1] :] = _FILL[name]
            setattr(self._own, name, new)


def _is_as_before(old: Node, new: Node) -> bool:
    if old.spec != new.spec or old.status != new.status:
        return False
    version = new.metadata.resource_version
    return msgspec.structs.replace(old.metadata, resource_version=version) == new.metadata


def _has_affinity(pod: PodInfo) -> bool:
    return bool(pod.cls.features & Feature.POD_AFFINITY)
