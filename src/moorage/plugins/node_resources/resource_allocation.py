"""Which resources are scored for a pod, and Go's truncating integer division over columns.

Scores equal Go's: int64, truncating. Division runs in float64 where the result is provably the
same: for integers a <= 100 b with b < 2**46, the correctly rounded a / b cannot reach the next
integer, which is at least 1 / b > ulp(100) / 2 away, so its floor is exact.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.resource_amounts import is_scalar
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU, EPHEMERAL_STORAGE, MEMORY, ORDINARY
from moorage.config.plugin_args import ResourceSpec

EXACT_BELOW = ORDINARY
PERCENT = 100

_BASE = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": EPHEMERAL_STORAGE}

Amounts = NDArray[np.int64]


class ScoredResource(NamedTuple):
    """One resource that counts for a pod: its index in the columns, its weight, the request."""

    row: int
    weight: int
    request: int


def scored_resources(
    specs: Iterable[ResourceSpec], requests: dict[str, int], nodes: Nodes
) -> list[ScoredResource]:
    """The resources to score; scalar resources only if the pod requests them."""
    found = []
    for spec in specs:
        name = spec.name
        request, index = requests.get(name, 0), _BASE.get(name)
        if index is None and request and is_scalar(name):
            index = nodes.resource(name)
        if index is not None:
            found.append(ScoredResource(index, spec.weight, request))
    return found


def are_exact_in_float(resources: list[ScoredResource], nodes: Nodes) -> bool:
    """Whether every node offers these resources, in amounts that float64 divides exactly."""
    table = nodes.table
    for index, _, request in resources:
        if not table.all_offer(index) or table.largest[index] >= EXACT_BELOW:
            return False
        if not 0 <= request < EXACT_BELOW:
            return False
    return True


def percent_of(part: Amounts, whole: Amounts) -> Amounts:
    """100 * part / whole in Go's int64 arithmetic; whole must not be zero.  int64 (node)."""
    return truncated(part * PERCENT, whole)


def truncated(part: Amounts, whole: Amounts) -> Amounts:
    """part / whole, truncated towards zero; whole must not be zero.  int64 (node)."""
    with np.errstate(over="ignore"):
        quotient = np.asarray(part // whole, dtype=np.int64)
    quotient += (quotient < 0) & (quotient * whole != part)
    return quotient
