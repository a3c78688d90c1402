"""Required terms: nodes must be near what the pod wants, and away from whom it or they avoid."""

import numpy as np
from numpy.typing import NDArray

from moorage.cache.counters import PodCounters
from moorage.cache.tallies import Sums, Tally
from moorage.cache.topologies import NO_DOMAIN
from moorage.cache.view import Nodes
from moorage.plugins.inter_pod_affinity.existing import Said
from moorage.plugins.inter_pod_affinity.incoming import Required

Mask = NDArray[np.bool_]

AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = 1, 2, 3
"""Codes in the order in which kube-scheduler asks."""


def is_repelled(counters: PodCounters, said: Said) -> bool:
    """Whether a pod somewhere keeps the incoming one away from some domain."""
    return any(_sums(counters, key, counters.carrying(terms)).most > 0 for key, terms in said.away)


def refuse(
    counters: PodCounters, required: Required, said: Said, nodes: Nodes, out: NDArray[np.int32]
) -> None:
    """Write the first code that applies to each node: the last written here wins."""
    for key, terms in said.away:
        _refuse_near(counters, key, counters.carrying(terms), nodes, EXISTING_ANTI_AFFINITY, out)
    for key, selection in required.away:
        _refuse_near(counters, key, counters.selected(selection), nodes, ANTI_AFFINITY, out)
    if required.near is not None:
        near = _is_near(counters, required, counters.selected(required.near), nodes)
        np.copyto(out, AFFINITY, where=~near)


def _refuse_near(
    counters: PodCounters,
    key: str,
    tally: Tally,
    nodes: Nodes,
    code: int,
    out: NDArray[np.int32],
) -> None:
    sums = _sums(counters, key, tally)
    if sums.most > 0:
        np.copyto(out, code, where=_holds_any(sums, nodes))


def _is_near(counters: PodCounters, required: Required, tally: Tally, nodes: Nodes) -> Mask:
    """bool (node): in every topology asked for, the node's domain holds a pod that is wanted.

    The first pod of a series that wants its own kind finds none anywhere; it may go wherever all
    the labels are.
    """
    every = [_sums(counters, key, tally) for key in required.near_keys]
    alone = required.meets_own and all(sums.most <= 0 for sums in every)
    near = np.ones(nodes.count, dtype=bool)
    for sums in every:
        near &= sums.domains.of_row[nodes.rows] != NO_DOMAIN if alone else _holds_any(sums, nodes)
    return near


def _sums(counters: PodCounters, key: str, tally: Tally) -> Sums:
    return tally.over(counters.topologies.topology(key))


def _holds_any(sums: Sums, nodes: Nodes) -> Mask:
    """bool (node): the node's domain holds a pod."""
    occupied = sums.values > 0
    occupied[NO_DOMAIN] = False
    return occupied[sums.domains.of_row[nodes.rows]]
