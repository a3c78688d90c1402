"""Preferred terms: each matching pod in a node's topology domain adds the term's weight."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.node_view import Nodes
from moorage.cache.pod_counters import PodCounters
from moorage.cache.topology_counts import Tally
from moorage.cache.topology_domains import Topology
from moorage.framework.verdicts import MAX_SCORE
from moorage.plugins.inter_pod_affinity.compiled_terms import ExistingTerms, PreferredTerm


class DomainScores(NamedTuple):
    """The score of each domain of a topology.  values: int64 (domain)."""

    topology: Topology
    values: NDArray[np.int64]


def domain_scores(
    counters: PodCounters, preferred: Iterable[PreferredTerm], said: ExistingTerms
) -> list[DomainScores]:
    """The scores of domains for the pod, for each topology in which any is not zero."""
    found: dict[str, NDArray[np.int64]] = {}
    for weight, key, selection in preferred:
        _add(found, counters, key, counters.selected(selection), weight)
    for key, terms in said.scored:
        _add(found, counters, key, counters.carrying(terms), 1)
    topology = counters.topologies.topology
    return [DomainScores(topology(key), values) for key, values in found.items() if values.any()]


def _add(
    found: dict[str, NDArray[np.int64]],
    counters: PodCounters,
    key: str,
    tally: Tally,
    weight: int,
) -> None:
    values = tally.over(counters.topologies.topology(key)).values.astype(np.int64)
    values *= weight
    known = found.get(key)
    if known is None:
        found[key] = values
    else:
        known += values


def score(found: list[DomainScores], nodes: Nodes, out: NDArray[np.int64]) -> None:
    topology, values = found[0]
    values.take(topology.of_row[nodes.rows], out=out, mode="clip")
    for topology, values in found[1:]:
        out += values[topology.of_row[nodes.rows]]


def normalize(found: list[DomainScores], nodes: Nodes, scores: NDArray[np.int64]) -> None:
    """Scale lowest..highest to 0..100, truncating; all equal is all 0. In place."""
    lowest, highest = int(np.minimum.reduce(scores)), int(np.maximum.reduce(scores))
    if lowest == highest:
        scores.fill(0)
    elif len(found) == 1:
        topology, values = found[0]
        shares = _shares(values, lowest, highest).astype(np.int64)
        shares.take(topology.of_row[nodes.rows], out=scores, mode="clip")
    else:
        scores[:] = _shares(scores, lowest, highest)


def _shares(values: NDArray[np.int64], lowest: int, highest: int) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = (values - lowest) / np.float64(highest - lowest)
    shares *= MAX_SCORE
    return shares
