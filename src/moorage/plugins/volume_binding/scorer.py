"""Scores nodes by how full their storage would be, through the shape in the arguments.

If a node would use existing volumes, the score compares the size of claims with the capacity of
these volumes. If all volumes are to be provisioned, it compares the size of claims with the
capacity of the pools they would come from.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from moorage.api import quantity
from moorage.api.storage import PersistentVolumeClaim
from moorage.config.plugin_args import UtilizationShapePoint
from moorage.framework.verdicts import MAX_SCORE
from moorage.plugins.volume_binding.available_volumes import STORAGE
from moorage.plugins.volume_binding.volume_matches import CandidateVolumes
from moorage.plugins.volume_binding.volume_search import SearchResult
from moorage.plugins.volumes.volume_affinity import NO_CHOICE, Mask

Amounts = NDArray[np.int64]
Shape = tuple[UtilizationShapePoint, ...]

_FULL = 100
_MAX_SHAPE_SCORE = 10


class StorageUsage:
    """The bytes used and offered of one storage class.  int64 (node)."""

    def __init__(self, count: int) -> None:
        self.used: Amounts = np.zeros(count, dtype=np.int64)
        self.offered: Amounts = np.zeros(count, dtype=np.int64)
        self.counts: Mask = np.zeros(count, dtype=bool)

    def score(self, line: Amounts) -> Amounts:
        fits = (self.offered != 0) & (self.used <= self.offered)
        percent = self.used * _FULL // np.where(fits, self.offered, 1)
        scores: Amounts = line[np.clip(np.where(fits, percent, _FULL), 0, _FULL)]
        return scores * self.counts


def capacity_scores(found: SearchResult, candidates: CandidateVolumes, shape: Shape) -> Amounts:
    """int64 (node): 0 to 100, the mean over classes, rounded to the nearest."""
    line = broken_line(shape)
    has_volume = np.zeros(len(found.codes), dtype=bool)
    for _, things in found.taken:
        has_volume |= things != NO_CHOICE
    of_volumes = _mean(_of_volumes(found, candidates), line, len(found.codes))
    return np.where(has_volume, of_volumes, _mean(_of_pools(found), line, len(found.codes)))


def _mean(usages: Iterable[StorageUsage], line: Amounts, count: int) -> Amounts:
    total, classes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for usage in usages:
        total += usage.score(line)
        classes += usage.counts
    return np.floor(total / np.maximum(classes, 1) + 0.5).astype(np.int64)


def _of_volumes(found: SearchResult, candidates: CandidateVolumes) -> Iterator[StorageUsage]:
    capacities, classes = candidates.capacities, candidates.classes
    for number in range(len(candidates.class_names)):
        usage = StorageUsage(len(found.codes))
        for claim, things in found.taken:
            here = classes[things] == number
            usage.used += _requested_bytes(claim) * here
            usage.offered += capacities[things] * here
            usage.counts |= here
        yield usage


def _of_pools(found: SearchResult) -> Iterable[StorageUsage]:
    usages: dict[str, StorageUsage] = {}
    for how, needed, drawn in found.made:
        if how.pools is None:
            continue
        name = how.claim.spec.storage_class_name or how.class_name
        usage = usages.setdefault(name, StorageUsage(len(found.codes)))
        here = needed & (drawn != NO_CHOICE)
        usage.used += _requested_bytes(how.claim) * here
        usage.offered[here] = how.pools.capacities[drawn[here]]
        usage.counts |= here
    return usages.values()


def _requested_bytes(claim: PersistentVolumeClaim) -> int:
    return quantity.value(claim.spec.resources.requests.get(STORAGE, "0"))


def broken_line(shape: Shape) -> Amounts:
    """The shape's score at 0 to 100 percent, in integers truncated towards zero."""
    points = [(p.utilization, p.score * (MAX_SCORE // _MAX_SHAPE_SCORE)) for p in shape]
    return np.array([_line_at(points, percent) for percent in range(_FULL + 1)], dtype=np.int64)


def _line_at(points: list[tuple[int, int]], percent: int) -> int:
    for (left, low), (right, high) in pairwise(points):
        if left < percent <= right:
            rise, run = (high - low) * (percent - left), right - left
            return low + (rise // run if rise >= 0 else -(-rise // run))
    return points[0][1] if percent <= points[0][0] else points[-1][1]
