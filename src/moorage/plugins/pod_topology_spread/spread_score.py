"""ScheduleAnyway constraints: the fewer matching pods in a node's domains, the higher its score."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import HOSTNAME_LABEL
from moorage.cache.node_view import Nodes
from moorage.cache.pod_counters import PodCounters
from moorage.cache.topology_counts import IntColumn
from moorage.cache.topology_domains import NO_DOMAIN, Topology
from moorage.framework.verdicts import MAX_SCORE
from moorage.plugins.pod_topology_spread.spread_constraints import Constraint, SpreadPlan

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_LOG_COEFFICIENTS = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


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
    odd = s2 * (
        _LOG_COEFFICIENTS[0]
        + s4 * (_LOG_COEFFICIENTS[2] + s4 * (_LOG_COEFFICIENTS[4] + s4 * _LOG_COEFFICIENTS[6]))
    )
    even = s4 * (_LOG_COEFFICIENTS[1] + s4 * (_LOG_COEFFICIENTS[3] + s4 * _LOG_COEFFICIENTS[5]))
    half_square = 0.5 * f * f
    low = s * (half_square + (odd + even)) + exponent * _LN2_LOW
    return exponent * _LN2_HIGH - ((half_square - low) - f)


Floats = NDArray[np.float64]

ALMOST_HALF = math.nextafter(0.5, 0.0)
"""Added before truncation, it rounds values >= 0 as Go's math.Round does: halves go up."""


class WeightedConstraints(NamedTuple):
    """The soft constraints with their weights, and the nodes ignored in scoring (None if none).

    `by_domain`: int64 (domain), the scores of domains, if a single constraint by domain decides.
    """

    plan: SpreadPlan
    weights: tuple[float, ...]
    ignored: NDArray[np.bool_] | None
    by_domain: NDArray[np.int64] | None


def weigh_constraints(counters: PodCounters, plan: SpreadPlan, nodes: Nodes) -> WeightedConstraints:
    """Weigh each constraint by the log of the number of domains that the feasible nodes are in."""
    ignored = _ignored(counters, plan, nodes) if plan.needs_all_keys else None
    left = nodes.count - (0 if ignored is None else int(np.count_nonzero(ignored)))
    weights = tuple(
        natural_log(2 + (left if key == HOSTNAME_LABEL else _size(counters, key, nodes, ignored)))
        for key in (each.topology_key for each in plan.soft)
    )
    by_domain = None
    if len(plan.soft) == 1 and plan.soft[0].topology_key != HOSTNAME_LABEL:
        total = _domain_scores(counters, plan, plan.soft[0], weights[0])
        by_domain = (total + ALMOST_HALF).astype(np.int64)
    return WeightedConstraints(plan, weights, ignored, by_domain)


def score(
    counters: PodCounters, weighed: WeightedConstraints, nodes: Nodes, out: NDArray[np.int64]
) -> None:
    """Write the weighted sum of the pods in each node's domains; ignored nodes get 0."""
    plan, weights, ignored, by_domain = weighed
    if by_domain is not None:
        by_domain.take(_domains(counters, plan, nodes), out=out, mode="clip")
    else:
        total = _constraint_score(counters, plan, plan.soft[0], weights[0], nodes)
        for constraint, weight in zip(plan.soft[1:], weights[1:], strict=True):
            total += _constraint_score(counters, plan, constraint, weight, nodes)
        total += ALMOST_HALF
        out[:] = total
    if ignored is not None:
        out[ignored] = 0


def normalize(
    counters: PodCounters, weighed: WeightedConstraints, nodes: Nodes, scores: NDArray[np.int64]
) -> None:
    """Reverse the scores: the lowest count gets 100; ignored nodes get 0."""
    plan, _, ignored, by_domain = weighed
    valid = scores if ignored is None else scores[~ignored]
    highest = int(np.maximum.reduce(valid, initial=0))
    if highest == 0:
        scores.fill(MAX_SCORE)
    else:
        both = highest + int(np.minimum.reduce(valid))
        if by_domain is None:
            _reverse(scores, both, highest, scores)
        else:
            turned = np.empty_like(by_domain)
            _reverse(by_domain, both, highest, turned)
            turned.take(_domains(counters, plan, nodes), out=scores, mode="clip")
    if ignored is not None:
        scores[ignored] = 0


def _reverse(scores: NDArray[np.int64], both: int, highest: int, out: NDArray[np.int64]) -> None:
    np.subtract(both, scores, out=out)
    out *= MAX_SCORE
    out //= highest


def _domains(counters: PodCounters, plan: SpreadPlan, nodes: Nodes) -> NDArray[np.intp]:
    """intp (node): the node's domain under the single constraint."""
    return counters.topologies.topology(plan.soft[0].topology_key).of_row[nodes.rows]


def _ignored(counters: PodCounters, plan: SpreadPlan, nodes: Nodes) -> NDArray[np.bool_] | None:
    topologies = {each.topology_key: None for each in plan.soft}
    partial = [t for t in map(counters.topologies.topology, topologies) if not t.covers_all]
    if not partial:
        return None
    missing: list[NDArray[np.bool_]] = [
        topology.of_row[nodes.rows] == NO_DOMAIN for topology in partial
    ]
    either: NDArray[np.bool_] = np.any(missing, axis=0)
    return either


def _size(counters: PodCounters, key: str, nodes: Nodes, ignored: NDArray[np.bool_] | None) -> int:
    """The number of domains; nodes without the label form one, that of the empty value."""
    topology = counters.topologies.topology(key)
    if ignored is None and nodes.count == len(nodes.table) and topology.covers_all:
        return topology.present
    domains = topology.of_row[nodes.rows]
    found = np.bincount(domains if ignored is None else domains[~ignored], minlength=1)
    size = int(np.count_nonzero(found))
    empty = topology.domain_of("")
    both = found[NO_DOMAIN] and NO_DOMAIN < empty < len(found) and found[empty]
    return size - 1 if both else size


def _constraint_score(
    counters: PodCounters, plan: SpreadPlan, constraint: Constraint, weight: float, nodes: Nodes
) -> Floats:
    """A constraint's part of each node's score; 0 without the label.  float64 (node)."""
    topology = counters.topologies.topology(constraint.topology_key)
    if constraint.topology_key != HOSTNAME_LABEL:
        by_domain = _domain_scores(counters, plan, constraint, weight)
        return by_domain[topology.of_row[nodes.rows]]
    on_node = counters.selected(constraint.counted).count[nodes.rows]
    part = _for_counts(on_node, constraint, weight)
    if not topology.covers_all:
        part[topology.of_row[nodes.rows] == NO_DOMAIN] = 0.0
    return part


def _domain_scores(
    counters: PodCounters, plan: SpreadPlan, constraint: Constraint, weight: float
) -> Floats:
    """A constraint's part of the scores of a domain's nodes.  float64 (domain)."""
    key = constraint.topology_key
    topology, tally = counters.topologies.topology(key), counters.selected(constraint.counted)
    values = tally.over(counters.topologies.domains(key, constraint.included)).values
    if not plan.needs_all_keys and not topology.covers_all:
        values = values.copy()
        values[topology.domain_of("")] += _without_label(topology, constraint, tally.count)
    scores = _for_counts(values, constraint, weight)
    scores[NO_DOMAIN] = 0.0
    return scores


def _for_counts(counts: IntColumn, constraint: Constraint, weight: float) -> Floats:
    """Scores for counts: adding `maxSkew - 1` makes small differences matter less."""
    scores = counts * np.float64(weight)
    scores += float(constraint.max_skew - 1)
    return scores


def _without_label(topology: Topology, constraint: Constraint, count: IntColumn) -> int:
    """The number of pods on nodes without the label, which form the domain of the empty value."""
    nodes = Nodes.all(topology.table)
    outside = topology.of_row[nodes.rows] == NO_DOMAIN
    if constraint.included is not None:
        outside &= constraint.included.mask(nodes)
    return int(count[nodes.rows][outside].sum())
