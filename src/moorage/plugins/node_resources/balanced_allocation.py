"""NodeResourcesBalancedAllocation: prefer nodes whose resources the pod would use more evenly.

The score compares the standard deviation of the used fractions with and without the pod. The part
without the pod is the same for every pod, so it is kept as a column of its own.
"""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from moorage import kernels
from moorage.api.pod import Pod
from moorage.cache.column_cache import ColumnCache, Depends, Rule
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature
from moorage.cache.table import NodeTable
from moorage.config.plugin_args import CPU_AND_MEMORY, ResourceSpec
from moorage.framework.cycle import Cycle
from moorage.framework.points import PreScore, Score
from moorage.framework.verdicts import MAX_SCORE, SKIP, Skip
from moorage.plugins.node_resources.resource_allocation import (
    EXACT_BELOW,
    Amounts,
    ScoredResource,
    are_exact_in_float,
    devices_sign,
    scored_resources,
)

_HALF = MAX_SCORE // 2


class NodeResourcesBalancedAllocation(PreScore, Score, frozen=True):
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY

    depends = Depends.USAGE
    scores_in_range = True

    def sign(self, cycle: Cycle) -> Hashable:
        cls = cycle.incoming.cls
        sign = cycle.incoming.requests, cls.named_sign
        if not cls.features & Feature.EXTENDED:
            return sign
        return *sign, devices_sign(self.resources, cls.named_requests, cycle)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        requests = cycle.incoming.cls.named_requests
        return None if any(requests.get(spec.name) for spec in self.resources) else SKIP

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        requests = cycle.incoming.cls.named_requests
        if not any(requests.get(spec.name) for spec in self.resources):
            return
        resources = scored_resources(self.resources, requests, nodes, cycle)
        simple = is_simple_pair(resources, nodes)
        if simple and nodes.count == 1:
            out[0] = pair_score(resources, cycle.table, nodes.first)
        elif not (simple and nodes.is_contiguous and _score_fused(resources, nodes, out)):
            self._score_by_passes(cycle, resources, nodes, out)

    def _score_by_passes(
        self, cycle: Cycle, resources: list[ScoredResource], nodes: Nodes, out: NDArray[np.int64]
    ) -> None:
        with_pod = evenness(resources, nodes, with_pod=True)
        with_pod -= self._without_pod(cycle, resources, nodes)
        with_pod += _HALF
        with_pod *= 0.5
        np.trunc(with_pod, out=with_pod)
        with_pod += _HALF
        out[:] = with_pod

    def _without_pod(
        self, cycle: Cycle, resources: list[ScoredResource], nodes: Nodes
    ) -> NDArray[np.float64]:
        if nodes.count == 1 or any(resource.devices for resource in resources):
            return evenness(resources, nodes, with_pod=False)
        kept: ColumnCache = cycle.shared.setdefault("evenness", ColumnCache())
        key = tuple(resource.row for resource in resources)
        column = kept.get(_EVENNESS, key, cycle.table, resources, None)
        values: NDArray[np.float64] = column.values[nodes.rows]
        return values


def _evenness_without_pod(
    resources: list[ScoredResource], _: None, nodes: Nodes, out: NDArray[np.float64]
) -> None:
    out[:] = evenness(resources, nodes, with_pod=False)


_EVENNESS = Rule("evenness", np.float64, True, _evenness_without_pod)


def _score_fused(resources: list[ScoredResource], nodes: Nodes, out: NDArray[np.int64]) -> bool:
    """The same as `_score_by_passes`, for a simple pair, in one compiled pass; whether that was
    done."""
    (first, _, request, _), (second, _, other, _) = resources
    one, two = nodes.floats(first), nodes.floats(second)
    pair = (one.offered, one.used, one.share, request), (two.offered, two.used, two.share, other)
    return bool(kernels.run("balance_of_two", out, *pair[0], *pair[1]))


def is_simple_pair(resources: list[ScoredResource], nodes: Nodes) -> bool:
    """Whether there are two resources, offered by every node in ordinary amounts (the norm)."""
    return len(resources) == 2 and are_exact_in_float(resources, nodes)


def pair_score(resources: list[ScoredResource], table: NodeTable, row: int) -> int:
    """The score of one row by a simple pair."""
    (first, _, request, _), (second, _, other, _) = resources
    requested, allocatable = table.requested, table.allocatable
    used, offered = requested.item(first, row), allocatable.item(first, row)
    used_too, offered_too = requested.item(second, row), allocatable.item(second, row)
    after = _pair_evenness((used + request) / offered, (used_too + other) / offered_too)
    return _HALF + (_HALF + after - _pair_evenness(used / offered, used_too / offered_too)) // 2


def _pair_evenness(first: float, second: float) -> int:
    """`evenness` of two used fractions."""
    if first > 1.0:
        first = 1.0
    if second > 1.0:
        second = 1.0
    return int((1 - abs((first - second) / 2)) * MAX_SCORE)


def evenness(
    resources: list[ScoredResource], nodes: Nodes, *, with_pod: bool
) -> NDArray[np.float64]:
    """100 less the standard deviation of the used percentages, truncated.  float64 (node)"""
    if is_simple_pair(resources, nodes):
        first, second = (_fraction(resource, nodes, with_pod) for resource in resources)
        first -= second
        first *= 0.5
        np.abs(first, out=first)
        even = np.subtract(1.0, first, out=first)
    else:
        fractions = [_fraction(resource, nodes, with_pod) for resource in resources]
        present = [_offered(resource, nodes) != 0 for resource in resources]
        even = 1 - _deviation(fractions, present, nodes.count)
    even *= MAX_SCORE
    np.trunc(even, out=even)
    return even


def _offered(resource: ScoredResource, nodes: Nodes) -> Amounts:
    own = resource.devices
    return nodes.allocatable[resource.row] if own is None else own.offered


def _fraction(resource: ScoredResource, nodes: Nodes, with_pod: bool) -> NDArray[np.float64]:
    """What is used of what is offered, at most 1.  float64 (node)"""
    index, _, request, devices = resource
    used: NDArray[np.float64]
    if devices is not None:
        used = (devices.used + request * with_pod).astype(np.float64)
        return _share(used, devices.offered)
    columns = nodes.floats(index)
    if nodes.table.largest[index] < EXACT_BELOW and 0 <= request < EXACT_BELOW:
        used = columns.used + (float(request) if with_pod else 0.0)
    else:
        used = (nodes.requested[index] + request * with_pod).astype(np.float64)
    return _share(used, nodes.allocatable[index])


def _share(used: NDArray[np.float64], offered: Amounts) -> NDArray[np.float64]:
    """`used` made into a part of what is offered, at most 1; beyond int64 that is below zero."""
    used /= np.where(offered == 0, 1, offered)
    return np.minimum(used, 1.0, out=used)


def _deviation(
    fractions: list[NDArray[np.float64]], present: list[NDArray[np.bool_]], count: int
) -> NDArray[np.float64]:
    """The standard deviation over the resources that each node offers.  float64 (node)."""
    if len(fractions) < 2:
        return np.zeros(count)
    if all(mask.all() for mask in present):
        if len(fractions) == 2:
            return np.abs((fractions[0] - fractions[1]) / 2)
        return _spread(fractions, [np.ones(count)] * len(fractions))
    counts = np.sum(present, axis=0)
    spread = _spread(
        [np.where(mask, f, 0.0) for f, mask in zip(fractions, present, strict=True)],
        [mask.astype(np.float64) for mask in present],
    )
    pairs = _pair_difference(fractions, present)
    return np.where(counts > 2, spread, np.where(counts == 2, pairs, 0.0))


def _spread(
    fractions: list[NDArray[np.float64]], weights: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    total, counts = np.zeros_like(fractions[0]), np.zeros_like(fractions[0])
    for fraction, weight in zip(fractions, weights, strict=True):
        total += fraction
        counts += weight
    counts = np.maximum(counts, 1)
    mean = total / counts
    squares = np.zeros_like(mean)
    for fraction, weight in zip(fractions, weights, strict=True):
        squares += weight * ((fraction - mean) * (fraction - mean))
    return np.asarray(np.sqrt(squares / counts), dtype=np.float64)


def _pair_difference(
    fractions: list[NDArray[np.float64]], present: list[NDArray[np.bool_]]
) -> NDArray[np.float64]:
    """Half the difference of the first two fractions that a node has.  float64 (node)"""
    first, second = np.zeros_like(fractions[0]), np.zeros_like(fractions[0])
    seen = np.zeros(len(first), dtype=np.int64)
    for fraction, mask in zip(fractions, present, strict=True):
        first = np.where(mask & (seen == 0), fraction, first)
        second = np.where(mask & (seen == 1), fraction, second)
        seen += mask
    return np.abs((first - second) / 2)
