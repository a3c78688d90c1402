"""GPUPacking: packs GPUs for the pods that are expected, down to the device, shares included."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.framework.cycle import Client, Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, PreBind, PreFilter, Reserve, Score
from moorage.framework.verdicts import (
    MAX_SCORE,
    SKIP,
    Rejection,
    Skip,
    unresolvable,
    unschedulable,
)
from moorage.policies.gpu.devices import annotations, choice
from moorage.policies.gpu.devices.columns import DeviceColumns
from moorage.policies.gpu.devices.domains import domain_counts
from moorage.policies.gpu.devices.node_devices import Reader
from moorage.policies.gpu.devices.node_lock import NodeLock, write_lock
from moorage.policies.gpu.devices.pod_dialects import InvalidRequest, gpu_request
from moorage.policies.gpu.gpu_request import WHOLE, GPURequest
from moorage.policies.gpu.packing_costs import NEVER, Devices, Floats, placement_values
from moorage.policies.gpu.typical_pods import TypicalPods

NO_DEVICE: Final = "node(s) had too few free GPUs"
NO_DOMAIN: Final = "node(s) had no GPU domain with enough free GPUs"
TOO_FEW: Final = "node(s) had too few GPUs"
WRONG_MODEL: Final = "node(s) had GPUs of another model"
NO_SHARES: Final = "node(s) had nothing that shares GPUs"
TAKEN: Final = "the GPUs were taken meanwhile"
LOCKED: Final = "another pod is about to start on the node's GPUs"

_REASONS: Final = {2: TOO_FEW, 3: WRONG_MODEL, 4: NO_SHARES}
_NO_DEVICE, _TOO_FEW, _WRONG_MODEL, _NO_SHARES, _NO_DOMAIN = 1, 2, 3, 4, 5

_EXACT: Final = 1 << 20
"""Values are compared to a millionth of a milli."""
_SEEN_KEPT: Final = 65_536
_LOCK_SECONDS: Final = 30.0
_APART: Final = 1e8
"""The penalty for GPUs in several domains, if the pod prefers one: above all other values."""


class PackedGPUs:
    """The devices of a table and the statistics of its pods; all profiles share them."""

    def __init__(self) -> None:
        self.columns = DeviceColumns(self._choose)
        self.typical = TypicalPods(self.columns.models)
        self.lock = NodeLock()
        self._seen: OrderedDict[str, None] = OrderedDict()

    def see(self, table: NodeTable, pod: PodInfo, request: GPURequest) -> None:
        """Count a pod once for the statistics of pods; renew the demand if that is due."""
        if pod.uid not in self._seen:
            self._seen[pod.uid] = None
            if len(self._seen) > _SEEN_KEPT:
                self._seen.popitem(last=False)
            self.typical.see(request.on(int(self.columns.memory.max(initial=0))))
        if self.typical.is_due():
            self.typical.renew(self.columns.free(table), self.columns.capacity)

    def values(self, table: NodeTable, rows: NDArray[np.int64], request: GPURequest) -> Floats:
        """The value of the pod on each device of each row.  float64 (row, device)"""
        free = self.columns.free(table)
        if not request.gpu_memory:
            return self._values(free, rows, request)
        out = np.full((len(rows), free.left.shape[1]), NEVER)
        sizes = self.columns.memory[rows]
        for size in np.unique(sizes).tolist():
            some = np.flatnonzero(sizes == size)
            out[some] = self._values(free, rows[some], request.on(size))
        return out

    def _values(self, free: Devices, rows: NDArray[np.int64], request: GPURequest) -> Floats:
        typical = self.typical
        if not typical.knows_all_models():
            typical.renew(free, self.columns.capacity)
        return placement_values(free, rows, typical.asked(request), typical.demand)

    def _choose(
        self, columns: DeviceColumns, table: NodeTable, row: int, pod: PodInfo, asked: GPURequest
    ) -> tuple[int, ...]:
        """For a share: the device with the best value. For whole devices: those closest together,
        or as many as are left if another scheduler put the pod here."""
        devices = columns.nodes[row]
        fitting = np.flatnonzero(columns.left[row, : devices.number] >= asked.milli).tolist()
        if not asked.is_share:
            wanted = choice.alignment(pod.pod.annotations)
            domains = choice.domains_of(devices, wanted.kind)
            return tuple(choice.choose(fitting, asked.gpus, domains))
        if not fitting:
            return ()
        without_cpu = asked._replace(cpu=0, memory=0, models=frozenset())
        free = columns.as_read(table)
        values = self._values(free, np.array([row]), without_cpu)[0]
        return (int(values.argmax()) if values.max() > NEVER else fitting[0],)


def packed_gpus(table: NodeTable) -> PackedGPUs:
    """The GPUs of a table, created on first use."""
    found: PackedGPUs | None = table.derived.get("GPUPacking")
    if found is None:
        found = table.derived["GPUPacking"] = PackedGPUs()
        for _, pod, _ in table.placed_pods():
            try:
                found.typical.see(gpu_request(pod))
            except InvalidRequest:
                continue
    return found


class GPUPacking(PreFilter, Filter, Score, Reserve, PreBind, frozen=True):
    """Places pods so that expected pods find usable GPUs, and assigns devices to pods.

    The best node scores 100, all others 99 at most. Give it a higher weight than other plugins.
    """

    depends = Depends.USAGE

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        try:
            request = gpu_request(cycle.incoming)
        except InvalidRequest as error:
            return unresolvable(str(error))
        packed = packed_gpus(cycle.table)
        packed.columns.catch_up(cycle.table)
        packed.see(cycle.table, cycle.incoming, request)
        return None if request.gpus else SKIP

    def sign(self, cycle: Cycle) -> Hashable:
        packed = packed_gpus(cycle.table)
        wanted = choice.alignment(cycle.pod.annotations)
        return _request(cycle), wanted, packed.typical.version

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        request = _request(cycle)
        if not request.gpus:
            return
        columns = packed_gpus(cycle.table).columns
        columns.catch_up(cycle.table)
        rows = np.arange(cycle.table.rows)[nodes.rows]
        milli = _milli(request, columns.memory[rows])
        left = columns.left[rows]
        out[(left >= milli[:, None]).sum(axis=1) < request.gpus] = _NO_DEVICE
        self._refuse_domains(request, pod, columns, rows, out)
        out[(milli < WHOLE) & ~columns.shares[rows]] = _NO_SHARES
        if request.models:
            known = [model in request.models for model in columns.models.values]
            out[~np.array(known)[columns.model[rows]]] = _WRONG_MODEL
        out[(columns.number[rows] < request.gpus) | (milli > WHOLE)] = _TOO_FEW

    def _refuse_domains(
        self,
        request: GPURequest,
        pod: Pod,
        columns: DeviceColumns,
        rows: NDArray[np.int64],
        out: NDArray[np.int32],
    ) -> None:
        wanted = choice.alignment(pod.annotations)
        if wanted.is_strict and request.gpus > 1:
            milli = _milli(request, columns.memory[rows])
            found = domain_counts(columns, rows, milli, wanted.kind)
            out[(out == 0) & (found.largest_free() < request.gpus)] = _NO_DOMAIN

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code in _REASONS:
            return unresolvable(_REASONS[code])
        return unschedulable(NO_DOMAIN if code == _NO_DOMAIN else NO_DEVICE)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        rows = np.arange(cycle.table.rows)[nodes.rows]
        packed, request = packed_gpus(cycle.table), _request(cycle)
        best = packed.values(cycle.table, rows, request).max(axis=1)
        wanted = choice.alignment(pod.annotations)
        if wanted.is_preferred and request.gpus > 1:
            milli = _milli(request, packed.columns.memory[rows])
            found = domain_counts(packed.columns, rows, milli, wanted.kind)
            best = np.where(found.largest_free() < request.gpus, best - _APART, best)
        out[:] = np.where(best > NEVER, np.round(np.maximum(best, -1e12) * _EXACT), -(1 << 60))

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        highest, lowest = int(scores.max()), int(scores.min())
        is_best = scores == highest
        scores -= lowest
        scores //= max((highest - lowest) // (MAX_SCORE - 1), 1)
        np.minimum(scores, MAX_SCORE - 1, out=scores)
        scores[is_best] = MAX_SCORE

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        request = _request(cycle)
        if not request.gpus:
            return None
        columns = packed_gpus(cycle.table).columns
        columns.catch_up(cycle.table)
        held = columns.held(pod.uid)
        row = cycle.table.row_of[node.name]
        if held is None or len(held.devices) != request.gpus or columns.is_oversubscribed(row):
            return unschedulable(TAKEN)
        cycle.state["GPUPacking"] = (held, columns.nodes[row])
        return None

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: Node) -> Skip | None:
        return None if "GPUPacking" in cycle.state else SKIP

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if cycle.client is None:
            raise LookupError("there is no API server to write the pod's devices to")
        held, devices = cycle.state["GPUPacking"]
        if not await self._may_start(cycle, cycle.client, pod, node.name, devices.reader):
            return unschedulable(LOCKED)
        cycle.annotations |= annotations.written(pod, node.name, held, devices, cycle.now)
        return None

    async def _may_start(
        self, cycle: Cycle, client: Client, pod: Pod, node: str, reader: Reader
    ) -> bool:
        """Wait for the pod's turn on its node, if pods must start one after the other there."""
        lock, table, now = packed_gpus(cycle.table).lock, cycle.table, cycle.now

        def take() -> bool:
            return lock.take(table, reader, node, pod, now)

        if not take() and not await client.wait_until(take, _LOCK_SECONDS):
            return False
        return reader is not Reader.HAMI or await write_lock(client, node, pod, now)

    def events(self) -> tuple[EventHint, ...]:
        changed = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL
        said = Action.UPDATE_NODE_ANNOTATION
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        own = ClusterEvent(Resource.TARGET_POD, Action.UPDATE)
        node = ClusterEvent(Resource.NODE, changed | said)
        return EventHint(node), EventHint(gone), EventHint(own)


def _request(cycle: Cycle) -> GPURequest:
    try:
        return gpu_request(cycle.incoming)
    except InvalidRequest:
        return GPURequest(0, 0)


def _milli(request: GPURequest, memory: NDArray[np.int64]) -> NDArray[np.int64]:
    """How much of a device the pod needs on each node, in milli.  int64 (node)"""
    if not request.gpu_memory:
        return np.full(len(memory), request.milli, dtype=np.int64)
    return np.array([request.on(size).milli for size in memory.tolist()], dtype=np.int64)
