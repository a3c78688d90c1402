"""DeviceColumns: what is left of every GPU, beside the node table.

| column   | shape         | dtype | meaning                                                       |
|----------|---------------|-------|---------------------------------------------------------------|
| `left`   | (row, device) | int32 | milli that no pod holds; 0 if there is no such device         |
| `number` | (row)         | int64 | how many devices there are                                    |
| `model`  | (row)         | int32 | id of the devices' model in `models`                          |
| `memory` | (row)         | int64 | MiB of each device, 0 where unknown                           |
| `shares` | (row)         | bool  | whether shares of devices are handed out (somebody reads it)  |

`domains[kind]`, int32 (row, device), is each device's NUMA or NVLink domain (choice.KINDS).

The columns follow the table's logs, and so do trials: a pod tried on a node holds devices until the
rollback. Annotations of a bound pod say which devices it holds, as many as it requests. A pod
without them (it is being placed, or another scheduler bound it) gets devices here, and the same
ones again if it returns to its node.
"""

from collections import OrderedDict
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from moorage.cache.follower import Follower
from moorage.cache.interner import Interner
from moorage.cache.podinfo import CPU, MEMORY, PodInfo
from moorage.cache.table import NodeTable, PodChange
from moorage.policies.gpu.devices import annotations, choice
from moorage.policies.gpu.devices.annotations import Holding
from moorage.policies.gpu.devices.node_devices import NodeDevices, Reader, read_devices
from moorage.policies.gpu.devices.pod_dialects import request_of_bound
from moorage.policies.gpu.gpu_request import WHOLE, GPURequest
from moorage.policies.gpu.packing_costs import Devices

_REMEMBERED: Final = 65_536
_NOTHING: Final = NodeDevices()


class Chooser(Protocol):
    """Chooses devices for a pod whose annotations name none."""

    def __call__(
        self, columns: "DeviceColumns", table: NodeTable, row: int, pod: PodInfo, asked: GPURequest
    ) -> tuple[int, ...]: ...


class DeviceColumns:
    """Columns of devices, brought up to date when they are read."""

    def __init__(self, choose: Chooser) -> None:
        self.models: Interner[str] = Interner([""])
        self.nodes: list[NodeDevices] = []
        self.capacity = 0
        """Milli of all healthy devices, free or not."""
        self.left: NDArray[np.int32] = np.zeros((0, 1), dtype=np.int32)
        self.number: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.domains: dict[str, NDArray[np.int32]] = dict.fromkeys(choice.KINDS, self.left)
        self.model: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self.memory: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.shares: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._choose = choose
        self._pods: Follower[PodChange] = Follower()
        self._rows: Follower[int] = Follower()
        self._on: list[dict[str, Holding]] = []
        self._row_of: dict[str, int] = {}
        self._last: OrderedDict[str, tuple[str, Holding]] = OrderedDict()

    def free(self, table: NodeTable) -> Devices:
        """What is free on every row, in the form the cost functions read."""
        self.catch_up(table)
        return self.as_read(table)

    def as_read(self, table: NodeTable) -> Devices:
        """Like `free`, but without reading the logs first."""
        rows = table.rows
        cpu, memory = table.free[CPU, :rows], table.free[MEMORY, :rows]
        return Devices(cpu, memory, self.left[:rows], self.model[:rows])

    def held(self, uid: str) -> Holding | None:
        """What a pod holds, without reading the logs first."""
        row = self._row_of.get(uid)
        return None if row is None else self._on[row][uid]

    def is_oversubscribed(self, row: int) -> bool:
        return bool((self.left[row] < 0).any())

    def catch_up(self, table: NodeTable) -> None:
        """Apply the new entries of the table's logs."""
        if self._rows.is_lost(table.node_log) or self._pods.is_lost(table.pod_log):
            self._rows.forget()
            self._pods.forget()

        def afresh() -> range:
            self._forget_all()
            return range(table.rows)

        def move(change: PodChange) -> None:
            row, pod, sign = change
            if sign < 0:
                self._release(row, pod.uid)
                return
            still_there = table.pods[row].get(pod.uid)
            if still_there is not None and pod.uid not in self._on[row]:
                self._take(table, row, still_there)

        self._rows.apply(table.node_log, afresh, lambda row: self._read_node(table, row))
        self._pods.apply(table.pod_log, table.placed_pods, move)

    def validate(self, table: NodeTable) -> None:
        """Raise AssertionError if `left` is not what the pods on the nodes leave."""
        self.catch_up(table)
        for row, devices in enumerate(self.nodes[: table.rows]):
            if not self._on[row].keys() <= table.pods[row].keys():
                raise AssertionError(f"row {row}: {self._on[row]} are not all there")
            left = [0 if i in devices.sick else WHOLE for i in range(devices.number)]
            for held in self._on[row].values():
                for device in held.devices:
                    if device < devices.number:
                        left[device] -= held.milli
            if left != self.left[row, : devices.number].tolist():
                raise AssertionError(f"row {row}: {left} is not {self.left[row].tolist()}")

    def _forget_all(self) -> None:
        self.nodes = [_NOTHING] * len(self.nodes)
        self.capacity = 0
        self.left[:] = 0
        self.number[:] = 0
        self.shares[:] = False
        self._on = [{} for _ in self._on]
        self._row_of.clear()

    def _read_node(self, table: NodeTable, row: int) -> None:
        """Read a node's devices again; pods keep what they hold."""
        self._grow(table)
        node = table.nodes[row]
        devices = _NOTHING if node is None else read_devices(node)
        if devices == self.nodes[row]:
            return
        kept, self._on[row] = self._on[row], {}
        self._fill(row, devices)
        for uid, held in kept.items():
            self._hold(row, uid, held)

    def _fill(self, row: int, devices: NodeDevices) -> None:
        if devices.number > self.left.shape[1]:
            self.left = _widened(self.left, devices.number)
            self.domains = {k: _widened(was, devices.number) for k, was in self.domains.items()}
        for kind, domains in self.domains.items():
            domains[row, : devices.number] = choice.domains_of(devices, kind)
        self.capacity += WHOLE * (_healthy(devices) - _healthy(self.nodes[row]))
        self.nodes[row] = devices
        self.number[row] = devices.number
        self.model[row] = self.models.intern(devices.model)
        self.memory[row] = devices.memory
        self.shares[row] = devices.reader is not Reader.NOBODY
        self.left[row] = 0
        self.left[row, [i for i in range(devices.number) if i not in devices.sick]] = WHOLE

    def _take(self, table: NodeTable, row: int, pod: PodInfo) -> None:
        name = table.node(row).name
        asked = request_of_bound(pod).on(int(self.memory[row]))
        if not asked.gpus:
            return
        held = annotations.read(pod.pod, name, asked, self.nodes[row].number)
        self._hold(row, pod.uid, held or self._given(table, row, pod, name, asked))

    def _given(
        self, table: NodeTable, row: int, pod: PodInfo, name: str, asked: GPURequest
    ) -> Holding:
        """Devices for a pod without annotations: its last ones if they are free, else others."""
        node, last = self._last.get(pod.uid, ("", Holding((), 0)))
        if node == name and _suffices(last, asked) and self._are_free(row, last):
            return last
        chosen = Holding(self._choose(self, table, row, pod, asked), asked.milli)
        self._remember(pod.uid, name, chosen)
        return chosen

    def _are_free(self, row: int, held: Holding) -> bool:
        count = self.nodes[row].number
        return all(i < count and self.left[row, i] >= held.milli for i in held.devices)

    def _hold(self, row: int, uid: str, held: Holding) -> None:
        self._on[row][uid] = held
        self._row_of[uid] = row
        self._count(row, held, -1)

    def _release(self, row: int, uid: str) -> None:
        held = self._on[row].pop(uid, None)
        if held is None:
            return
        if self._row_of.get(uid) == row:
            del self._row_of[uid]
        self._count(row, held, 1)

    def _count(self, row: int, held: Holding, sign: int) -> None:
        known = [device for device in held.devices if device < self.nodes[row].number]
        np.add.at(self.left[row], known, sign * held.milli)

    def _remember(self, uid: str, node: str, held: Holding) -> None:
        self._last[uid] = (node, held)
        self._last.move_to_end(uid)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)

    def _grow(self, table: NodeTable) -> None:
        short = len(table.alive) - len(self.nodes)
        if short <= 0:
            return
        self.nodes += [_NOTHING] * short
        self._on += [{} for _ in range(short)]
        self.left = _lengthened(self.left, short)
        self.domains = {kind: _lengthened(was, short) for kind, was in self.domains.items()}
        self.number = np.concatenate([self.number, np.zeros(short, np.int64)])
        self.model = np.concatenate([self.model, np.zeros(short, np.int32)])
        self.memory = np.concatenate([self.memory, np.zeros(short, np.int64)])
        self.shares = np.concatenate([self.shares, np.zeros(short, dtype=bool)])


def _widened(column: NDArray[np.int32], devices: int) -> NDArray[np.int32]:
    return np.pad(column, ((0, 0), (0, devices - column.shape[1])))


def _lengthened(column: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
    return np.pad(column, ((0, rows), (0, 0)))


def _suffices(held: Holding, asked: GPURequest) -> bool:
    """Whether the devices held are all that were asked; a node may have had too few."""
    return held.milli == asked.milli and len(held.devices) == asked.gpus


def _healthy(devices: NodeDevices) -> int:
    return devices.number - len(devices.sick)
