"""The three scoring strategies of NodeResourcesFit, as kernels over columns.

Each takes, per resource, its weight, what would be used of it and what is offered, and writes the
weighted mean of per-resource scores. A resource that a node does not offer does not count there.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from moorage.config.plugin_args import ScoringStrategy, UtilizationShapePoint
from moorage.framework.verdicts import MAX_SCORE
from moorage.plugins.resource_scoring import PERCENT, Amounts, percent_of

_MAX_CUSTOM_SCORE = 10


class Strategy:
    """Types of the kernels."""

    Usages = list[tuple[int, Amounts, Amounts]]
    Kernel = Callable[[Usages, NDArray[np.int64]], None]


@lru_cache(maxsize=64)
def strategy_of(strategy: ScoringStrategy) -> Strategy.Kernel:
    if strategy.type == "RequestedToCapacityRatio":
        ratio = strategy.requested_to_capacity_ratio
        return _ratio_kernel(ratio.shape if ratio is not None else ())
    return _mean_of(least_allocated if strategy.type == "LeastAllocated" else most_allocated)


def least_allocated(used: Amounts, offered: Amounts) -> Amounts:
    """The share that would be left, 0 where more is used than offered."""
    left = offered - used
    np.maximum(left, 0, out=left)
    return percent_of(left, offered)


def most_allocated(used: Amounts, offered: Amounts) -> Amounts:
    """The share that would be used, at most all of it."""
    return percent_of(np.minimum(used, offered), offered)


def _mean_of(score: Callable[[Amounts, Amounts], Amounts]) -> Strategy.Kernel:
    def kernel(usages: Strategy.Usages, out: NDArray[np.int64]) -> None:
        weights: Amounts | int = 0
        for weight, used, offered in usages:
            if offered.all():
                part, counts = score(used, offered), weight
            else:
                present = offered != 0
                part = score(used, np.where(present, offered, 1)) * present
                counts = weight * present
            out += part if weight == 1 else part * weight
            weights = weights + counts
        _divide(out, weights)

    return kernel


def _divide(out: NDArray[np.int64], weights: Amounts | int) -> None:
    if isinstance(weights, int):
        if weights > 1:
            np.floor_divide(out, weights, out=out)
    else:
        np.floor_divide(out, np.maximum(weights, 1), out=out)


def _ratio_kernel(shape: tuple[UtilizationShapePoint, ...]) -> Strategy.Kernel:
    """A broken line over utilisation in percent; resources that score 0 do not weigh."""
    by_percent = _broken_line(shape)

    def kernel(usages: Strategy.Usages, out: NDArray[np.int64]) -> None:
        weights = np.zeros_like(out)
        for weight, used, offered in usages:
            present = offered != 0
            whole = np.where(present, offered, 1)
            percent = np.where(used > whole, PERCENT, percent_of(np.minimum(used, whole), whole))
            score = by_percent[percent] * present
            out += score * weight
            weights += (score > 0) * weight
        some = weights > 0
        mean = out / np.maximum(weights, 1)
        out[:] = np.where(some, np.floor(mean + 0.5).astype(np.int64), 0)

    return kernel


def _broken_line(shape: tuple[UtilizationShapePoint, ...]) -> Amounts:
    """The line's value at 0..100 percent, in whole numbers as Go computes them."""
    points = [(p.utilization, p.score * (MAX_SCORE // _MAX_CUSTOM_SCORE)) for p in shape]
    return np.array([_line_at(points, percent) for percent in range(PERCENT + 1)], dtype=np.int64)


def _line_at(points: list[tuple[int, int]], percent: int) -> int:
    for position, (utilization, score) in enumerate(points):
        if percent <= utilization:
            if position == 0:
                return points[0][1]
            left, from_score = points[position - 1]
            rise = (score - from_score) * (percent - left)
            return from_score + int(rise / (utilization - left))
    return points[-1][1]
