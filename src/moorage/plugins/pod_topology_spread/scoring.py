"""Soft constraints: the fewer matching pods in a node's domains, the higher its score."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import HOSTNAME_LABEL
from moorage.cache.counters import PodCounters
from moorage.cache.topologies import NO_DOMAIN, Topology
from moorage.cache.view import Nodes
from moorage.framework.verdicts import MAX_SCORE
from moorage.plugins.pod_topology_spread.constraints import Constraint, Plan

Floats = NDArray[np.float64]

_ALMOST_HALF = math.nextafter(0.5, 0.0)


class Weighed(NamedTuple):
    """The soft constraints with their weights, and the nodes left out of scoring (None: none)."""

    plan: Plan
    weights: tuple[float, ...]
    ignored: NDArray[np.bool_] | None


def weigh(counters: PodCounters, plan: Plan, nodes: Nodes) -> Weighed:
    """Weigh each constraint by the number of domains that the feasible nodes are in."""
    ignored = _ignored(counters, plan, nodes) if plan.needs_all_keys else None
    left = nodes.count - (0 if ignored is None else int(np.count_nonzero(ignored)))
    sizes = (
        left
        if each.topology_key == HOSTNAME_LABEL
        else _size(counters.topologies.topology(each.topology_key), nodes, ignored)
        for each in plan.soft
    )
    return Weighed(plan, tuple(natural_log(size + 2) for size in sizes), ignored)


def score(counters: PodCounters, weighed: Weighed, nodes: Nodes, out: NDArray[np.int64]) -> None:
    """Pods in the node's domains, weighted and summed; ignored nodes get 0."""
    parts = [
        _part(counters, weighed.plan, constraint, weight, nodes)
        for constraint, weight in zip(weighed.plan.soft, weighed.weights, strict=True)
    ]
    total = parts[0]
    for part in parts[1:]:
        total += part
    out[:] = _rounded(total)
    if weighed.ignored is not None:
        out[weighed.ignored] = 0


def normalize(weighed: Weighed, scores: NDArray[np.int64]) -> None:
    """Turn counts round: the lowest gets 100; ignored nodes get 0."""
    ignored = weighed.ignored
    valid = scores if ignored is None else scores[~ignored]
    highest = int(valid.max(initial=0))
    if highest == 0:
        scores.fill(MAX_SCORE)
    else:
        np.subtract(highest + int(valid.min()), scores, out=scores)
        scores *= MAX_SCORE
        scores //= highest
    if ignored is not None:
        scores[ignored] = 0


def _ignored(counters: PodCounters, plan: Plan, nodes: Nodes) -> NDArray[np.bool_] | None:
    topologies = {each.topology_key: None for each in plan.soft}
    partial = [t for t in map(counters.topologies.topology, topologies) if not t.covers_all]
    if not partial:
        return None
    missing: list[NDArray[np.bool_]] = [
        topology.of_row[nodes.rows] == NO_DOMAIN for topology in partial
    ]
    either: NDArray[np.bool_] = np.any(missing, axis=0)
    return either


def _size(topology: Topology, nodes: Nodes, ignored: NDArray[np.bool_] | None) -> int:
    """How many domains there are; nodes without the label make up one, that of the empty value."""
    if nodes.count == len(nodes.table) and topology.covers_all:
        return topology.present
    domains = topology.of_row[nodes.rows]
    found = np.bincount(domains if ignored is None else domains[~ignored], minlength=1)
    size = int(np.count_nonzero(found))
    empty = topology.domain_of("")
    both = found[NO_DOMAIN] and NO_DOMAIN < empty < len(found) and found[empty]
    return size - 1 if both else size


def _part(
    counters: PodCounters, plan: Plan, constraint: Constraint, weight: float, nodes: Nodes
) -> Floats:
    """What a constraint adds to each node's score; nothing without the label.  float64 (node)."""
    topology = counters.topologies.topology(constraint.topology_key)
    tally = counters.selected(constraint.counted)
    if constraint.topology_key == HOSTNAME_LABEL:
        part = _for_counts(tally.count[nodes.rows], constraint, weight)
        if not topology.covers_all:
            part[topology.of_row[nodes.rows] == NO_DOMAIN] = 0.0
        return part
    sums = tally.over(counters.topologies.domains(constraint.topology_key, constraint.included))
    values = sums.values
    empty = topology.domain_of("")
    if empty != NO_DOMAIN and not plan.needs_all_keys and not topology.covers_all:
        values = values.copy()
        values[empty] += _without_label(topology, constraint, tally.count)
    by_domain = _for_counts(values, constraint, weight)
    by_domain[NO_DOMAIN] = 0.0
    return by_domain[topology.of_row[nodes.rows]]


def _for_counts(
    counts: NDArray[np.int32] | NDArray[np.int64], constraint: Constraint, weight: float
) -> Floats:
    """`maxSkew - 1` waters differences down, so that small ones are tolerated."""
    scores = counts * np.float64(weight)
    scores += float(constraint.max_skew - 1)
    return scores


def _without_label(topology: Topology, constraint: Constraint, count: NDArray[np.int32]) -> int:
    """Pods on nodes without the label, which count as if its value were empty."""
    nodes = Nodes.all(topology.table)
    outside = topology.of_row[nodes.rows] == NO_DOMAIN
    if constraint.included is not None:
        outside &= constraint.included.mask(nodes)
    return int(count[nodes.rows][outside].sum())


def _rounded(values: Floats) -> NDArray[np.int64]:
    """Go's math.Round for values not below zero: halves go up."""
    values += _ALMOST_HALF
    return values.astype(np.int64)


@lru_cache(maxsize=1 << 14)
def natural_log(number: int) -> float:
    """Go's math.Log, bit for bit: fdlibm's algorithm, which differs from libm's in the last place.

    number = 2**exponent * (1 + f) with 1 + f near 1; log(1 + f) by a polynomial in f / (2 + f).
    """
    fraction, exponent = math.frexp(number)
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_L[0] + s4 * (_L[2] + s4 * (_L[4] + s4 * _L[6])))
    even = s4 * (_L[1] + s4 * (_L[3] + s4 * _L[5]))
    half_square = 0.5 * f * f
    low = s * (half_square + (odd + even)) + exponent * _LN2_LOW
    return exponent * _LN2_HIGH - ((half_square - low) - f)


_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_L = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
