"""Which resources are scored for a pod, and Go's truncating integer division over columns.

A resource that a node does not offer is made up of its devices, where a device class stands for it.

Scores are Go's: int64, truncating. Division runs in float64 where that is provably the same:
for whole numbers a <= 100 b with b < 2**46, the correctly rounded a / b cannot reach the next whole
number, which is at least 1 / b > ulp(100) / 2 away, so its floor is the true one.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.resource_amounts import is_scalar
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import CPU, EPHEMERAL_STORAGE, MEMORY, ORDINARY
from moorage.config.plugin_args import ResourceSpec
from moorage.devices.device_cache import backing_class, device_cache
from moorage.devices.totals import device_totals, totals_version
from moorage.framework.cycle import Cycle

EXACT_BELOW = ORDINARY
PERCENT = 100
NO_ROW = -1
"""The row of a resource that no node offers itself."""

_BASE = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": EPHEMERAL_STORAGE}

Amounts = NDArray[np.int64]


class Amount(NamedTuple):
    """What the nodes in view offer of a resource, and what of it is used.  int64 (node)"""

    offered: Amounts
    used: Amounts


class ScoredResource(NamedTuple):
    """One resource that counts for a pod: its row in the columns, its weight, the pod's request.

    `devices` takes the place of the columns where devices stand for the resource.
    """

    row: int
    weight: int
    request: int
    devices: Amount | None = None


def scored_resources(
    specs: Iterable[ResourceSpec], requests: dict[str, int], nodes: Nodes, cycle: Cycle
) -> list[ScoredResource]:
    """The resources to score; scalar resources only if the pod requests them."""
    found = []
    for spec in specs:
        name = spec.name
        request, index = requests.get(name, 0), _BASE.get(name)
        devices: Amount | None = None
        if index is None and request and is_scalar(name):
            index = nodes.resource(name)
            devices = _of_devices(cycle, name, index, nodes)
        if index is not None or devices is not None:
            row = NO_ROW if index is None else index
            found.append(ScoredResource(row, spec.weight, request, devices))
    return found


def devices_sign(
    specs: Iterable[ResourceSpec], requests: dict[str, int], cycle: Cycle
) -> Hashable | None:
    """What scores depend on beside pod and nodes: None unless devices stand for a resource."""
    for spec in specs:
        if requests.get(spec.name) and backing_class(cycle.cache, spec.name) is not None:
            return totals_version(device_cache(cycle.cache))
    return None


def _of_devices(cycle: Cycle, name: str, index: int | None, nodes: Nodes) -> Amount | None:
    """Devices where a node offers nothing under the name itself."""
    cls = backing_class(cycle.cache, name)
    if cls is None:
        return None
    totals = device_totals(device_cache(cycle.cache), nodes.table, cls)
    offered, taken = totals.offered[nodes.rows], totals.taken[nodes.rows]
    if index is None:
        return Amount(offered, taken)
    own = nodes.allocatable[index]
    return Amount(
        np.where(own == 0, offered, own), np.where(own == 0, taken, nodes.requested[index])
    )


def are_exact_in_float(resources: list[ScoredResource], nodes: Nodes) -> bool:
    """Whether every node offers these resources, in amounts that float64 divides exactly."""
    table = nodes.table
    for index, _, request, devices in resources:
        if devices is not None:
            return False
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
