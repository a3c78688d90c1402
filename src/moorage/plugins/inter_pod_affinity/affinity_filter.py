"""Required terms: refuses nodes by pod affinity, anti-affinity and existing pods' anti-affinity."""

import numpy as np
from numpy.typing import NDArray

from moorage.cache.node_view import Nodes
from moorage.cache.pod_counters import PodCounters
from moorage.cache.topology_counts import DomainSums, Tally
from moorage.cache.topology_domains import NO_DOMAIN
from moorage.plugins.inter_pod_affinity.compiled_terms import ExistingTerms, RequiredTerms

Mask = NDArray[np.bool_]

AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = 1, 2, 4
"""Bits of a code, in kube-scheduler's order of checks: the lowest one set is the reason."""


def is_repelled(counters: PodCounters, said: ExistingTerms) -> bool:
    """Whether the anti-affinity of some existing pod excludes the incoming pod from a domain."""
    return any(_sums(counters, key, counters.carrying(terms)).most > 0 for key, terms in said.away)


def write_refusals(
    counters: PodCounters,
    required: RequiredTerms,
    said: ExistingTerms,
    nodes: Nodes,
    out: NDArray[np.int32],
) -> None:
    """Write to `out` (node) the bits of the rules that refuse each node."""
    bits = np.zeros(nodes.count, dtype=np.int8)
    for key, terms in said.away:
        sums = _sums(counters, key, counters.carrying(terms))
        if sums.most > 0:
            _mark(bits, sums.occupied(nodes), EXISTING_ANTI_AFFINITY)
    for key, selection in required.away:
        sums = _sums(counters, key, counters.selected(selection))
        if sums.most > 0:
            _mark(bits, sums.occupied(nodes), ANTI_AFFINITY)
    if required.near is not None:
        near = _is_near(counters, required, counters.selected(required.near), nodes)
        _mark(bits, ~near, AFFINITY)
    out[:] = bits


def _mark(bits: NDArray[np.int8], refused: Mask, bit: int) -> None:
    bits |= refused.view(np.int8) * np.int8(bit)


def _is_near(counters: PodCounters, required: RequiredTerms, tally: Tally, nodes: Nodes) -> Mask:
    """bool (node): for every topology key, the node's domain holds a matching pod.

    If no pod matches anywhere and the incoming pod matches its own terms, it is the first of its
    kind: any node that has all topology labels will do.
    """
    every = [_sums(counters, key, tally) for key in required.near_keys]
    alone = required.meets_own and all(sums.most <= 0 for sums in every)
    masks = [_is_labelled(sums, nodes) if alone else sums.occupied(nodes) for sums in every]
    near = masks[0]
    for mask in masks[1:]:
        near &= mask
    return near


def _is_labelled(sums: DomainSums, nodes: Nodes) -> Mask:
    labelled: Mask = sums.domains.of_row[nodes.rows] != NO_DOMAIN
    return labelled


def _sums(counters: PodCounters, key: str, tally: Tally) -> DomainSums:
    return tally.over(counters.topologies.topology(key))
