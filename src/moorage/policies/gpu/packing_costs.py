"""What a placement costs the GPUs of a node, given the pods that are expected.

A node's potential measures how much of its idle GPUs the expected pods cannot use. It is a sum over
the classes of pods, weighted by how often each comes, of

  fragments   idle milli on devices too small for the class; all idle milli if the node lacks the
              CPU, the devices or the model (Weng et al., USENIX ATC 2023)
  shortage    idle milli for which the node's free CPU would not suffice if the node were filled
              with pods of the class; this keeps the use of CPU and GPU even
  price       less the milli of whole pods of the class that still fit, at the price of a class
              that is short of room: large pods, which few nodes can take

A placement's value is the potential before it less the potential after it, less a little for each
idle milli that stays on the node. Values are only compared: float64, higher is better.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage import kernels
from moorage.policies.gpu.gpu_request import WHOLE

NEVER: Final = -np.inf
"""The value of a placement that does not fit."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class Devices(NamedTuple):
    """What is free on each node.

    `cpu` and `memory` int64 (node); `left` int32 (node, device), milli, 0 where there is no such
    device; `model` int32 (node), an index into `Demand.allowed`.
    """

    cpu: Counts
    memory: Counts
    left: NDArray[np.int32]
    model: NDArray[np.int32]

    def at(self, rows: Counts) -> "Devices":
        """Some of the nodes, copied."""
        return Devices(self.cpu[rows], self.memory[rows], self.left[rows], self.model[rows])


class Demand(NamedTuple):
    """The classes of pods that are expected.

    `requests` int64 (class, 4): cpu, memory, count, milli; `allowed` uint8 (class, model);
    `weights` float64 (class, 3): of fragments, shortage and price; `packing`: of what stays idle.
    """

    requests: Counts
    allowed: NDArray[np.uint8]
    weights: Floats
    packing: float


class Asked(NamedTuple):
    """One pod: `amounts` int64 (4) as in a demand, `may` uint8 (model): whether it may use it."""

    amounts: Counts
    may: NDArray[np.uint8]


def placement_values(devices: Devices, rows: Counts, asked: Asked, demand: Demand) -> Floats:
    """The value of a pod on each device of each row.  float64 (row, device)

    Whole devices are the first free ones, and the value is at the first of them. The value of a pod
    without GPUs is at device 0. All other entries are NEVER.
    """
    out = np.empty((len(rows), devices.left.shape[1]))
    if not kernels.run("placements", out, rows, *devices, *asked, *demand):
        write_values(out, devices.at(rows), asked, demand)
    return out


def write_values(out: Floats, free: Devices, asked: Asked, demand: Demand) -> None:
    """The numpy form: the values of a pod on nodes where this is free."""
    out[:] = NEVER
    cpu, memory, count, milli = asked.amounts.tolist()
    fitting = (free.left >= milli).sum(axis=1)
    fits = (free.cpu >= cpu) & (free.memory >= memory) & (fitting >= count)
    rows = np.flatnonzero(fits & (asked.may[free.model] != 0))
    free = free.at(rows)
    before = potential(free, demand)
    used = free._replace(cpu=free.cpu - cpu, memory=free.memory - memory)
    if count == 0:
        out[rows, 0] = _value(used, before, demand)
    elif count > 1 or milli == WHOLE:
        open_ = free.left >= milli
        taken = open_ & (open_.cumsum(axis=1) <= count)
        after = used._replace(left=(free.left - milli * taken).astype(np.int32))
        out[rows, taken.argmax(axis=1)] = _value(after, before, demand)
    else:
        for device in range(free.left.shape[1]):
            left = free.left.copy()
            left[:, device] -= milli
            value = _value(used._replace(left=left), before, demand)
            out[rows, device] = np.where(left[:, device] >= 0, value, NEVER)


def _value(after: Devices, before: Floats, demand: Demand) -> Floats:
    value: Floats = before - potential(after, demand) - demand.packing * after.left.sum(axis=1)
    return value


def potential(free: Devices, demand: Demand) -> Floats:
    """How much of each node's idle GPUs the expected pods cannot use.  float64 (node)"""
    idle = free.left.sum(axis=1).astype(np.float64)
    total = np.zeros(len(idle))
    for request, allowed, weights in zip(*demand[:3], strict=True):
        cpu, _, count, milli = request.tolist()
        fragment, shortage, price = weights.tolist()
        own = np.zeros(len(idle))
        if fragment > 0:
            own += fragment * _fragments(free, idle, request)
        if shortage > 0 and cpu > 0:
            filled = free.cpu * (float(count * milli) / cpu)
            own += shortage * np.maximum(idle - filled, 0.0)
        if price > 0:
            own -= price * (copies(free, request) * (count * milli))
        total += np.where(allowed[free.model] != 0, own, fragment * idle)
    total[idle == 0] = 0.0
    return total


def _fragments(free: Devices, idle: Floats, request: Counts) -> Floats:
    cpu, _, count, milli = request.tolist()
    small = np.where(free.left >= milli, 0, free.left).sum(axis=1)
    fits = (free.cpu >= cpu) & ((free.left >= milli).sum(axis=1) >= count) & (count > 0)
    return np.where(fits, small, idle)


def copies(free: Devices, request: Counts) -> Counts:
    """How many pods of a class fit on each node.  int64 (node)"""
    cpu, memory, count, milli = request.tolist()
    if count > 1:
        most = (free.left >= milli).sum(axis=1) // count
    else:
        most = (free.left // max(milli, 1)).sum(axis=1)
    for column, amount in ((free.cpu, cpu), (free.memory, memory)):
        if amount > 0:
            most = np.minimum(most, column // amount)
    fitting: Counts = np.maximum(most, 0).astype(np.int64)
    return fitting
