"""Which nodes an autoscaler should add: for pods without room, an existing type, near their data.

1. A pod lacks room if no node has enough of every resource free for it.
2. Its data is where its bound volumes are, or else where its node selector or required node
   affinity holds it, if that is one zone.
3. The hint proposes the smallest node type that would hold the pod on an empty node: one that is in
   that zone already, or else any. If no type is large enough, the hint names the amounts instead.
4. Of each type, as many nodes are needed as hold the total requests of its pods.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from moorage.api.affinity import NodeSelector
from moorage.api.node import ZONE_LABEL
from moorage.api.pod import Pod
from moorage.api.resource_amounts import format_amount
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.cache.cache import Cache
from moorage.cache.podinfo import BASE_RESOURCES, CPU, MEMORY, PodInfo
from moorage.cache.table import NodeTable
from moorage.policies.business.price_list import INSTANCE_TYPE_LABEL

NO_TYPE: Final = ""
"""No existing node type is large enough."""

Amounts = dict[int, int]


class ScalingHint(NamedTuple):
    """A node to add: its type and zone, and a sentence for both.

    `fits` tells whether such a node type exists; the type of unlabelled nodes is "", too.
    """

    instance_type: str
    zone: str
    words: str
    fits: bool


class NodeShape(NamedTuple):
    """The largest amounts of a node type, and the zones that have nodes of it."""

    instance_type: str
    offered: Amounts
    zones: frozenset[str]


def lacks_room(pod: PodInfo, table: NodeTable) -> bool:
    """Whether no node has enough of every resource free."""
    fits = table.alive[: table.rows].copy()
    for index, amount in pod.requests:
        if amount and index < len(table.free):
            fits &= table.free[index, : table.rows] >= amount
        elif amount:
            return True
    return not fits.any()


def scaling_hint(cache: Cache, pod: PodInfo, shapes: Iterable[NodeShape]) -> ScalingHint:
    """The node to add for the pod."""
    zone, why = zone_of_data(cache, pod.pod)
    asked = {index: amount for index, amount in pod.requests if amount}
    fitting = [shape for shape in shapes if _holds(shape, asked)]
    near = [shape for shape in fitting if zone in shape.zones]
    chosen = min(near or fitting, key=_size, default=None)
    where = f" in zone {zone}, {why}," if zone else ""
    if chosen is not None:
        words = f"a node of type {chosen.instance_type or 'as there are'}{where} would take the pod"
        return ScalingHint(chosen.instance_type, zone, words, fits=True)
    amounts = ", ".join(_amount(cache.table, index, amount) for index, amount in asked.items())
    words = f"no type of node is large enough: one with {amounts}{where} would take the pod"
    return ScalingHint(NO_TYPE, zone, words, fits=False)


def nodes_to_add(
    cache: Cache, waiting: Iterable[PodInfo], shapes: Iterable[NodeShape]
) -> dict[tuple[str, str], int]:
    """The number of nodes by type and zone; without a fitting type, one node per pod."""
    known = {shape.instance_type: shape for shape in shapes}
    asked: dict[tuple[str, str], Amounts] = defaultdict(lambda: defaultdict(int))
    found: dict[tuple[str, str], int] = defaultdict(int)
    for pod in waiting:
        hint = scaling_hint(cache, pod, known.values())
        key = (hint.instance_type, hint.zone)
        if not hint.fits:
            found[key] += 1
            continue
        for index, amount in pod.requests:
            asked[key][index] += amount
    for key, amounts in asked.items():
        found[key] += _count(known[key[0]], amounts)
    return dict(found)


def node_shapes(table: NodeTable) -> list[NodeShape]:
    """Every node type in the cluster."""
    rows: dict[str, list[int]] = defaultdict(list)
    zones: dict[str, set[str]] = defaultdict(set)
    for row, node in enumerate(table.nodes):
        if node is not None:
            kind = node.labels.get(INSTANCE_TYPE_LABEL, "")
            rows[kind].append(row)
            zones[kind].add(node.zone)
    return [
        NodeShape(kind, _most_offered(table, rows[kind]), frozenset(zones[kind]))
        for kind in sorted(rows)
    ]


def _most_offered(table: NodeTable, rows: list[int]) -> Amounts:
    """By resource, the most that any of these nodes offers."""
    most = np.zeros(len(table.allocatable), dtype=np.int64)
    resources, places = np.nonzero(table.allocatable)
    theirs = np.isin(places, rows)
    resources, places = resources[theirs], places[theirs]
    np.maximum.at(most, resources, table.allocatable[resources, places])
    return {index: most.item(index) for index in np.flatnonzero(most).tolist()}


def zone_of_data(cache: Cache, pod: Pod) -> tuple[str, str]:
    """The one zone of a pod's data, and what holds it there; empty if there is no such zone."""
    for claim in _claims(pod):
        found = cache.objects.get(PersistentVolumeClaim, claim, pod.namespace)
        volume = found and cache.objects.get(PersistentVolume, found.spec.volume_name)
        held = volume.spec.node_affinity if volume else None
        zone = _only_zone(held.required if held else None)
        if zone:
            return zone, f"where its volume {claim} is"
    selected = pod.spec.node_selector.get(ZONE_LABEL)
    if selected:
        return selected, "where its node selector holds it"
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    zone = _only_zone(
        affinity.required_during_scheduling_ignored_during_execution if affinity else None
    )
    return (zone, "where its node affinity holds it") if zone else ("", "")


def _claims(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def _only_zone(selector: NodeSelector | None) -> str:
    """The zone that all terms require, if it is a single one."""
    if selector is None:
        return ""
    by_term = [
        {e.values for e in term.match_expressions if e.key == ZONE_LABEL and e.operator == "In"}
        for term in selector.node_selector_terms
    ]
    zones = set().union(*by_term) if all(by_term) else set()
    (only,) = zones if len(zones) == 1 else ((),)
    return only[0] if len(only) == 1 else ""


def _holds(shape: NodeShape, asked: Amounts) -> bool:
    return all(shape.offered.get(index, 0) >= amount for index, amount in asked.items())


def _size(shape: NodeShape) -> tuple[int, ...]:
    """The sort key: nodes without devices first, then by cores and memory."""
    extended = (index for index, amount in shape.offered.items() if amount)
    devices = sum(index >= len(BASE_RESOURCES) for index in extended)
    return devices, shape.offered.get(CPU, 0), shape.offered.get(MEMORY, 0)


def _count(shape: NodeShape, asked: Amounts) -> int:
    """How many nodes of a shape hold all of `asked`, at least one."""
    parts = [asked[index] / amount for index, amount in shape.offered.items() if amount]
    return max(math.ceil(max(parts, default=0)), 1)


def _amount(table: NodeTable, index: int, amount: int) -> str:
    name = table.resources.values[index]
    return f"{format_amount(name, amount)} of {name}"
