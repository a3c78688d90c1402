"""How many devices of each NUMA or NVLink domain a node has, and has free, from the columns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.policies.gpu.devices.columns import DeviceColumns

Counts = NDArray[np.int64]


class DomainCounts(NamedTuple):
    """Devices by domain: those that take the pod, and all.  int64 (node, domain) each"""

    free: Counts
    size: Counts

    def largest_free(self) -> Counts:
        """How many devices of one domain take the pod, at most.  int64 (node)"""
        found: Counts = self.free.max(axis=1, initial=0)
        return found

    def largest(self) -> Counts:
        """How many devices one domain has, at most.  int64 (node)"""
        found: Counts = self.size.max(axis=1, initial=0)
        return found

    def is_aligned(self, asked: int) -> NDArray[np.bool_]:
        """Whether so many devices need no more domains than they must.  bool (node)"""
        free, sizes = (np.sort(one, axis=1)[:, ::-1].cumsum(axis=1) for one in self)
        needed = np.minimum((sizes < asked).sum(axis=1), sizes.shape[1] - 1)
        aligned: NDArray[np.bool_] = free[np.arange(len(free)), needed] >= asked
        return aligned

    def replaced(self, places: Counts, told: "DomainCounts") -> "DomainCounts":
        """The same, with others in some places."""
        both = []
        for own, other in zip(self, told, strict=True):
            made = np.zeros((len(own), max(own.shape[1], other.shape[1])), dtype=np.int64)
            made[:, : own.shape[1]] = own
            made[places] = 0
            made[places, : other.shape[1]] = other
            both.append(made)
        return DomainCounts(*both)


def domain_counts(columns: DeviceColumns, rows: Counts, milli: Counts, kind: str) -> DomainCounts:
    """The domains of some rows; a device is free with so many milli, by row, left."""
    domains = columns.domains[kind][rows]
    width = int(domains.max(initial=0)) + 1
    free, size = np.zeros((2, len(rows), width), dtype=np.int64)
    there = np.arange(domains.shape[1]) < columns.number[rows][:, None]
    for counts, counted in ((free, there & (columns.left[rows] >= milli[:, None])), (size, there)):
        row, device = np.nonzero(counted)
        np.add.at(counts, (row, domains[row, device]), 1)
    return DomainCounts(free, size)
