"""How many devices each NUMA or NVLink domain of a node has, and has free, from the columns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.policies.gpu.devices.columns import DeviceColumns

Counts = NDArray[np.int64]


class DomainCounts(NamedTuple):
    """Devices by domain: those with room for the pod, and all.  int64 (node, domain) each"""

    free: Counts
    size: Counts

    def largest_free(self) -> Counts:
        """The most devices in one domain that have room for the pod.  int64 (node)"""
        found: Counts = self.free.max(axis=1, initial=0)
        return found

    def largest(self) -> Counts:
        """The most devices in one domain.  int64 (node)"""
        found: Counts = self.size.max(axis=1, initial=0)
        return found

    def is_aligned(self, asked: int) -> NDArray[np.bool_]:
        """Whether the fewest possible domains have `asked` free devices.  bool (node)"""
        free, sizes = (np.sort(one, axis=1)[:, ::-1].cumsum(axis=1) for one in self)
        needed = np.minimum((sizes < asked).sum(axis=1), sizes.shape[1] - 1)
        aligned: NDArray[np.bool_] = free[np.arange(len(free)), needed] >= asked
        return aligned

    def replaced(self, places: Counts, told: "DomainCounts") -> "DomainCounts":
        """These counts, with `told` in the rows `places`."""
        both = []
        for own, other in zip(self, told, strict=True):
            made = np.zeros((len(own), max(own.shape[1], other.shape[1])), dtype=np.int64)
            made[:, : own.shape[1]] = own
            made[places] = 0
            made[places, : other.shape[1]] = other
            both.append(made)
        return DomainCounts(*both)


def domain_counts(columns: DeviceColumns, rows: Counts, milli: Counts, kind: str) -> DomainCounts:
    """The domains of some rows; a device is free if `milli` of its row are left."""
    domains = columns.domains[kind][rows]
    width = int(domains.max(initial=0)) + 1
    free, size = np.zeros((2, len(rows), width), dtype=np.int64)
    there = np.arange(domains.shape[1]) < columns.number[rows][:, None]
    for counts, counted in ((free, there & (columns.left[rows] >= milli[:, None])), (size, there)):
        row, device = np.nonzero(counted)
        np.add.at(counts, (row, domains[row, device]), 1)
    return DomainCounts(free, size)
