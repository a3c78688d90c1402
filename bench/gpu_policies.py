"""Policies for the GPU trace: Moorage's own, and others re-implemented from their description.

Each says what a pod on each of some nodes is worth, and on which device; the highest is taken.
The fragmentation of FGD is that of `packing_costs`, with the classes of the whole trace.
"""

import random
from collections import Counter
from typing import NamedTuple, Protocol

import numpy as np
from gpu_trace import TraceNode
from numpy.typing import NDArray

from moorage.cache.interner import Interner
from moorage.policies.gpu.gpu_request import WHOLE, GPURequest
from moorage.policies.gpu.packing_costs import NEVER, Asked, Demand, Devices, placement_values
from moorage.policies.gpu.typical_pods import TypicalPods

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Worth(NamedTuple):
    """What a placement on each row is worth, and its device (-1: whole ones, or none)."""

    values: Floats
    device: NDArray[np.int64]


class Policy(Protocol):
    """`version` grows when all that was said before is void; `keeps` whether values are kept."""

    version: int

    def see(self, pod: GPURequest) -> None: ...

    def worth(self, rows: Rows, pod: GPURequest) -> Worth: ...


class Cluster:
    """The nodes of a trace, what is left of them, and which rows have changed."""

    def __init__(self, nodes: list[TraceNode]) -> None:
        self.models: Interner[str] = Interner([""])
        widest = max(node.gpus for node in nodes)
        left = np.zeros((len(nodes), widest), dtype=np.int32)
        for row, node in enumerate(nodes):
            left[row, : node.gpus] = WHOLE
        self.free = Devices(
            np.array([node.cpu for node in nodes], dtype=np.int64),
            np.array([node.memory for node in nodes], dtype=np.int64),
            left,
            np.array([self.models.intern(node.model) for node in nodes], dtype=np.int32),
        )
        self.offered = Devices(*(column.copy() for column in self.free))
        self.capacity = int(left.sum())
        self.log: list[int] = []

    def devices(self, row: int, device: int, pod: GPURequest) -> tuple[int, ...]:
        """The devices that a pod gets: that one, or the first that are free."""
        if not pod.gpus:
            return ()
        if pod.is_share:
            return (device,)
        return tuple(np.flatnonzero(self.free.left[row] >= pod.milli)[: pod.gpus].tolist())

    def take(self, row: int, devices: tuple[int, ...], pod: GPURequest, sign: int = 1) -> None:
        """Place a pod; with -1, take it back."""
        free = self.free
        free.cpu[row] -= sign * pod.cpu
        free.memory[row] -= sign * pod.memory
        for device in devices:
            free.left[row, device] -= sign * pod.milli
        self.log.append(row)

    def validate(self) -> None:
        """Raise where more was promised than there is."""
        lowest = min(int(column.min()) for column in self.free[:3])
        if lowest < 0:
            raise AssertionError(f"a node or a device is short of {-lowest}")


def asked(pod: GPURequest, models: Interner[str]) -> Asked:
    may = [not pod.models or name in pod.models for name in models.values]
    return Asked(np.array(pod[:4], dtype=np.int64), np.array(may, dtype=np.uint8))


def fitting(free: Devices, rows: Rows, wanted: Asked) -> NDArray[np.bool_]:
    cpu, memory, count, milli = wanted.amounts.tolist()
    enough = (free.cpu[rows] >= cpu) & (free.memory[rows] >= memory)
    may = wanted.may[free.model[rows]] != 0
    return enough & may & ((free.left[rows] >= milli).sum(axis=1) >= count)


class Moorage:
    """GPUPacking's own code."""

    version = 0

    def __init__(self, cluster: Cluster) -> None:
        self._free, self._capacity = cluster.free, cluster.capacity
        self.typical = TypicalPods(cluster.models)

    def see(self, pod: GPURequest) -> None:
        self.typical.see(pod)
        if self.typical.is_due():
            self.typical.renew(self._free, self._capacity)
            self.version = self.typical.version

    def worth(self, rows: Rows, pod: GPURequest) -> Worth:
        values = placement_values(self._free, rows, self.typical.asked(pod), self.typical.demand)
        best = values.argmax(axis=1)
        return Worth(values[np.arange(len(rows)), best], best if pod.is_share else best * 0 - 1)


class Simple:
    """A score by formula; a share goes to the device that it fills best."""

    version = 0

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def see(self, pod: GPURequest) -> None:
        pass

    def score(self, rows: Rows, pod: GPURequest) -> Floats:
        raise NotImplementedError

    def worth(self, rows: Rows, pod: GPURequest) -> Worth:
        free = self._cluster.free
        fits = fitting(free, rows, asked(pod, self._cluster.models))
        values = np.where(fits, self.score(rows, pod), NEVER)
        if not pod.is_share:
            return Worth(values, np.full(len(rows), -1))
        left = free.left[rows]
        device = np.where(left >= pod.milli, left, 2 * WHOLE).argmin(axis=1)
        return Worth(values, device)


class BestFit(Simple):
    """The least CPU and GPU left."""

    def score(self, rows: Rows, pod: GPURequest) -> Floats:
        free = self._cluster.free
        cpu = (free.cpu[rows] - pod.cpu) / 128_000
        gpu = (free.left[rows].sum(axis=1) - pod.size) / 8_000
        return np.trunc(100 * (1 - 0.5 * cpu - 0.5 * gpu))


class Kube(Simple):
    """kube-scheduler's default: LeastAllocated and BalancedAllocation of CPU and memory."""

    def score(self, rows: Rows, pod: GPURequest) -> Floats:
        free, offered = self._cluster.free, self._cluster.offered
        cpu, memory = free.cpu[rows] - pod.cpu, free.memory[rows] - pod.memory
        all_cpu, all_memory = offered.cpu[rows], offered.memory[rows]
        least = (cpu * 100 // all_cpu + memory * 100 // all_memory) // 2
        apart = np.abs(cpu / all_cpu - memory / all_memory) / 2
        return least + np.trunc(100 * (1 - apart))


class MostAllocated(Simple):
    """NodeResourcesFit, MostAllocated: CPU 1, memory 1, GPU 5."""

    def score(self, rows: Rows, pod: GPURequest) -> Floats:
        free, offered = self._cluster.free, self._cluster.offered
        gpus = offered.left[rows].sum(axis=1)
        cpu = (offered.cpu[rows] - free.cpu[rows] + pod.cpu) * 100 // offered.cpu[rows]
        memory = offered.memory[rows] - free.memory[rows] + pod.memory
        memory = memory * 100 // offered.memory[rows]
        gpu = (gpus - free.left[rows].sum(axis=1) + pod.size) * 100 // np.maximum(gpus, 1)
        return ((cpu + memory + 5 * gpu) // 7).astype(np.float64)


class Random(Simple):
    """Any node, any device."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster)
        self._chance = np.random.default_rng(seed)

    def score(self, rows: Rows, pod: GPURequest) -> Floats:
        return np.zeros(len(rows))

    def worth(self, rows: Rows, pod: GPURequest) -> Worth:
        worth = super().worth(rows, pod)
        if not pod.is_share:
            return worth
        left = self._cluster.free.left[rows]
        drawn = np.where(left >= pod.milli, self._chance.random(left.shape), -1.0)
        return Worth(worth.values, drawn.argmax(axis=1))


class FGD(Simple):
    """Fragmentation gradient descent: the classes that make up 95 % of the whole trace."""

    def __init__(self, cluster: Cluster, trace: list[GPURequest]) -> None:
        super().__init__(cluster)
        counts = Counter(pod._replace(memory=0) for pod in trace)
        typical: list[tuple[GPURequest, int]] = []
        for pod, count in counts.most_common():
            if sum(count for _, count in typical) >= 0.95 * len(trace):
                break
            typical.append((pod, count))
        total = sum(count for _, count in typical)
        wanted = [asked(pod, cluster.models) for pod, _ in typical]
        self._demand = Demand(
            np.array([one.amounts for one in wanted]),
            np.array([one.may for one in wanted]),
            np.array([(count / total, 0.0, 0.0) for _, count in typical]),
            0.0,
        )

    def worth(self, rows: Rows, pod: GPURequest) -> Worth:
        wanted = asked(pod, self._cluster.models)
        less = placement_values(self._cluster.free, rows, wanted, self._demand)
        fits = less > NEVER
        score = np.trunc(100 / (1 + np.exp(-np.where(fits, less, 0.0) / 1000)))
        score = np.where(fits, score, NEVER)
        best = score.argmax(axis=1)
        device = best if pod.is_share else np.full(len(rows), -1)
        return Worth(score[np.arange(len(rows)), best], device)


NAMES = ("moorage", "fgd", "bestfit", "random", "kube", "mostallocated")


def policy(name: str, cluster: Cluster, trace: list[GPURequest], seed: int) -> Policy:
    """A policy by its name on the command line."""
    if name == "moorage":
        return Moorage(cluster)
    if name == "fgd":
        return FGD(cluster, trace)
    if name == "random":
        return Random(cluster, random.Random(seed).randrange(1 << 30))
    return {"bestfit": BestFit, "kube": Kube, "mostallocated": MostAllocated}[name](cluster)
