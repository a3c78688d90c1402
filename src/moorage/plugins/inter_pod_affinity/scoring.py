"""Preferred terms: every pod in a node's domain that a term means adds the term's weight."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from moorage.cache.counters import PodCounters
from moorage.cache.tallies import Tally
from moorage.cache.topologies import NO_DOMAIN
from moorage.cache.view import Nodes
from moorage.framework.verdicts import MAX_SCORE
from moorage.plugins.inter_pod_affinity.existing import Said
from moorage.plugins.inter_pod_affinity.incoming import Preferred

ByDomain = dict[str, NDArray[np.int64]]
"""Topology key -> what being in a domain is worth.  int64 (domain)."""


def worth(counters: PodCounters, preferred: Iterable[Preferred], said: Said) -> ByDomain:
    """What each domain is worth to the pod, of the topologies that make a difference."""
    found: ByDomain = {}
    for wish in preferred:
        tally = counters.selected(wish.selection)
        _add(found, counters, wish.topology_key, tally, wish.weight)
    for key, terms in said.scored:
        _add(found, counters, key, counters.carrying(terms), 1)
    return {key: values for key, values in found.items() if values.any()}


def _add(found: ByDomain, counters: PodCounters, key: str, tally: Tally, weight: int) -> None:
    values = tally.over(counters.topologies.topology(key)).values * weight
    values[NO_DOMAIN] = 0
    known = found.get(key)
    found[key] = values if known is None else known + values


def score(counters: PodCounters, found: ByDomain, nodes: Nodes, out: NDArray[np.int64]) -> None:
    for key, values in found.items():
        out += values[counters.topologies.topology(key).of_row[nodes.rows]]


def normalize(scores: NDArray[np.int64]) -> None:
    """Scale lowest..highest to 0..100, truncating; all equal is all 0. In place."""
    lowest, highest = int(scores.min()), int(scores.max())
    if lowest == highest:
        scores.fill(0)
        return
    scores -= lowest
    shares = scores / np.float64(highest - lowest)
    shares *= MAX_SCORE
    scores[:] = shares
