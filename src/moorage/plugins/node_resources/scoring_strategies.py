"""LeastAllocated, MostAllocated and RequestedToCapacityRatio of NodeResourcesFit, over columns.

Each strategy takes, per resource, its weight, the amount that would be used and the amount offered,
and writes the weighted mean of the per-resource scores. A resource that a node does not offer does
not count there.

`exact_mean` is the specification: int64, truncating, as in Go. `fast_mean` computes the same in
float64, for resources that every node offers in amounts that float64 divides exactly.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from moorage import kernels
from moorage.cache.node_view import Nodes
from moorage.cache.table import NodeTable
from moorage.config.plugin_args import ScoringStrategy, UtilizationShapePoint
from moorage.framework.verdicts import MAX_SCORE
from moorage.plugins.node_resources.resource_allocation import (
    PERCENT,
    Amount,
    Amounts,
    ScoredResource,
    are_exact_in_float,
    percent_of,
    truncated,
)

_MAX_CUSTOM_SCORE = 10
_CPU_AND_MEMORY = 2

Kernel = Callable[[list[ScoredResource], Nodes, NDArray[np.int64]], None]
Floats = NDArray[np.float64]


@lru_cache(maxsize=64)
def strategy_of(strategy: ScoringStrategy) -> Kernel:
    """The kernel of a configured strategy."""
    if strategy.type == "RequestedToCapacityRatio":
        ratio = strategy.requested_to_capacity_ratio
        return _ratio_kernel(ratio.shape if ratio is not None else ())
    least = strategy.type == "LeastAllocated"

    def kernel(resources: list[ScoredResource], nodes: Nodes, out: NDArray[np.int64]) -> None:
        if not are_exact_in_float(resources, nodes):
            exact_mean(resources, nodes, out, least)
        elif nodes.count == 1:
            out[0] = mean_of(resources, nodes.table, nodes.first, least)
        elif not (nodes.is_contiguous and fused_mean(resources, nodes, out, least)):
            fast_mean(resources, nodes, out, least)

    return kernel


def mean_of(resources: list[ScoredResource], table: NodeTable, row: int, least: bool) -> int:
    """The same as `exact_mean`, for one row."""
    total = weights = 0
    for index, weight, request, _ in resources:
        offered = table.allocatable.item(index, row)
        column = table.nonzero if index < _CPU_AND_MEMORY else table.requested
        used = min(column.item(index, row) + request, offered)
        total += weight * (PERCENT * (offered - used if least else used) // offered)
        weights += weight
    return total // weights if weights else 0


def exact_mean(
    resources: list[ScoredResource], nodes: Nodes, out: NDArray[np.int64], least: bool
) -> None:
    """The weighted mean of the percentages free (`least`) or used, truncated at every step."""
    weights = np.zeros_like(out)
    for resource in resources:
        weight, request = resource.weight, resource.request
        offered, used = _amount(resource, nodes)
        present = offered != 0
        whole = np.where(present, offered, 1)
        part = np.minimum(used + request, whole)
        percent = percent_of(whole - part if least else part, whole)
        out += percent * present * weight
        weights += present * weight
    out[:] = truncated(out, np.maximum(weights, 1))


def fused_mean(
    resources: list[ScoredResource], nodes: Nodes, out: NDArray[np.int64], least: bool
) -> bool:
    """The same as `fast_mean`, in one compiled pass; whether that was done."""
    if not resources:
        return False
    specs = []
    for index, weight, request, _ in resources:
        columns = nodes.floats(index)
        specs.append((weight, request, columns.offered, columns.scored))
    return bool(kernels.run("mean_allocated", out, tuple(specs), least))


def fast_mean(
    resources: list[ScoredResource], nodes: Nodes, out: NDArray[np.int64], least: bool
) -> None:
    """The same as `exact_mean`, with fewer and cheaper passes."""
    total: Floats | None = None
    weights = 0
    for index, weight, request, _ in resources:
        columns = nodes.floats(index)
        offered, used = columns.offered, columns.scored
        if least:
            part = offered - used
            part -= request
            np.maximum(part, 0.0, out=part)
        else:
            part = used + request
            np.minimum(part, offered, out=part)
        part *= PERCENT
        part /= offered
        np.floor(part, out=part)
        if weight != 1:
            part *= weight
        total = part if total is None else np.add(total, part, out=total)
        weights += weight
    if total is not None:
        if weights > 1:
            total /= weights
        out[:] = total


def _amount(resource: ScoredResource, nodes: Nodes) -> Amount:
    """What counts as used: with defaults for pods that ask nothing, for cpu and memory."""
    if resource.devices is not None:
        return resource.devices
    index = resource.row
    used = nodes.nonzero if index < _CPU_AND_MEMORY else nodes.requested
    return Amount(nodes.allocatable[index], used[index])


def _ratio_kernel(shape: tuple[UtilizationShapePoint, ...]) -> Kernel:
    """Scores on a broken line over utilisation; a resource that scores 0 has no weight."""
    by_percent = _broken_line(shape)

    def kernel(resources: list[ScoredResource], nodes: Nodes, out: NDArray[np.int64]) -> None:
        weights = np.zeros_like(out)
        for resource in resources:
            weight, request = resource.weight, resource.request
            offered, used = _amount(resource, nodes)
            present = offered != 0
            whole = np.where(present, offered, 1)
            used = np.minimum(used + request, whole)
            score = by_percent[np.clip(percent_of(used, whole), 0, PERCENT)] * present
            out += score * weight
            weights += (score > 0) * weight
        mean = out / np.maximum(weights, 1)
        out[:] = np.where(weights > 0, np.floor(mean + 0.5).astype(np.int64), 0)

    return kernel


def _broken_line(shape: tuple[UtilizationShapePoint, ...]) -> Amounts:
    """The line's value at 0..100 percent, in integers as Go computes them."""
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
