"""Changes of the cluster that make a pod fit: one more node, evictions, the end of other pods."""

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.resource_amounts import node_allocatable
from moorage.cache.disruption_budgets import Budgets
from moorage.cache.podinfo import PodInfo
from moorage.explain.change import Change, Objects
from moorage.explain.world import World

PRICE: Final = "moorage/price-per-hour"
"""The annotation with a node's price per hour."""
NEW_NODE: Final = "new-node"
HOSTNAME: Final = "kubernetes.io/hostname"
DURATION: Final = "moorage/runs-for"
"""The annotation with the seconds that a pod runs."""
MOST_ROWS: Final = 12
MOST_TEMPLATES: Final = 24
MOST_SETS: Final = 2000
"""How many sets of victims of one size are tried to prove that fewer victims do not suffice."""
_AT_ONCE: Final = 500
"""How many nodes or pods are examined between two calls of `pause`."""
_FIRST_ENDING: Final = 64
NODE_COST, EVICT_COST, WAIT_COST = 4.0, 2.0, 1.5


class Template(NamedTuple):
    """A node that could be added, and its price per hour if it is known."""

    node: Node
    price: float | None = None


def node_change(world: World, pod: Pod, templates: Iterable[Template]) -> Change | None:
    """One more node, of the cheapest template that takes the pod, or else the smallest."""
    for template in by_dearness(templates):
        world.pause()
        node = renamed(template.node)
        with world.cache.trial():
            world.cache.put_node(node)
            fits = world.fits_on(pod, world.cache.table.row_of[node.name])
        if fits:
            return added_node(node, template)
    return None


def by_dearness(templates: Iterable[Template]) -> list[Template]:
    """The templates to try, the cheapest first, or else the smallest."""
    return sorted(templates, key=_dearness)[:MOST_TEMPLATES]


def templates_of(world: World, price: Any = None) -> list[Template]:
    """A template for each kind of node: its allocatable resources, labels and taints."""
    found: dict[Any, Node] = {}
    table = world.cache.table
    for number, node in enumerate([each for each in table.nodes if each is not None]):
        if not number % _AT_ONCE:
            world.pause()
        labels = frozenset(node.labels.items()) - {(HOSTNAME, node.labels.get(HOSTNAME, ""))}
        kind = frozenset(node.status.allocatable.items()), labels, node.taints
        found.setdefault(kind, node)
    priced = _annotated_price if price is None else price
    return [Template(node, priced(node)) for node in found.values() if not node.spec.unschedulable]


def _annotated_price(node: Node) -> float | None:
    try:
        return float(node.metadata.annotations[PRICE])
    except (KeyError, ValueError):
        return None


def _dearness(template: Template) -> tuple[float, float, str]:
    """Sort key: the price, if it is known, then the size; a core counts as much as 4 GiB."""
    offered = node_allocatable(template.node)
    size = offered.get("cpu", 0) / 1000 + offered.get("memory", 0) / 2**32
    price = math.inf if template.price is None else template.price
    return price, size, template.node.name


def renamed(node: Node, name: str = NEW_NODE) -> Node:
    """A new node like an existing one."""
    labels = {**node.labels, HOSTNAME: name} if HOSTNAME in node.labels else node.labels
    meta = msgspec.structs.replace(node.metadata, name=name, uid="", labels=labels)
    return msgspec.structs.replace(node, metadata=meta)


def written_node(node: Node) -> dict[str, Any]:
    """A node as a raw object, with the fields that scheduling reads."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels)},
        "spec": {"taints": msgspec.to_builtins(node.taints)} if node.taints else {},
        "status": {
            "capacity": dict(node.status.allocatable),
            "allocatable": dict(node.status.allocatable),
        },
    }


def added_node(node: Node, template: Template) -> Change:
    """One more node, as a change."""
    price = "" if template.price is None else f" ({template.price:g} per hour)"
    return Change(
        kind="node",
        summary=f"add one node like {template.node.name}{price}",
        patch=Objects(add=(written_node(node),)),
        node=node.name,
        cost=NODE_COST,
        minimal=True,
        price_per_hour=template.price,
    )


def evict_change(world: World, pod: Pod) -> Change | None:
    """The fewest and least important pods whose eviction lets the pod in.

    Pods of higher priority, of DaemonSets, and pods that a disruption budget protects are never
    chosen.
    """
    tried = (_victims(world, pod, row) for row in _nearest_rows(world, pod))
    found = [victims for victims in tried if victims is not None]
    if not found:
        return None
    best = min(found, key=lambda v: (len(v.pods), max(p.priority for p in v.pods), v.node))
    names = ", ".join(info.pod.key for info in best.pods)
    word = "pod" if len(best.pods) == 1 else f"{len(best.pods)} pods"
    return Change(
        kind="evict",
        summary=f"evict the {word} {names} from {best.node}",
        patch=Objects(delete=tuple(reference(info.pod) for info in best.pods)),
        node=best.node,
        cost=EVICT_COST + len(best.pods),
        minimal=best.is_fewest,
    )


class Victims(NamedTuple):
    """The pods of a node to evict; whether it is proved that fewer do not suffice."""

    node: str
    pods: tuple[PodInfo, ...]
    is_fewest: bool


def _victims(world: World, pod: Pod, row: int) -> Victims | None:
    world.pause()
    evictable = _evictable(world, pod, row)
    with world.cache.trial():
        for info in evictable:
            world.cache.displace(info)
        if not world.fits_on(pod, row):
            return None
        kept = [
            info for info in _most_important_first(evictable) if _returns(world, pod, row, info)
        ]
        chosen = tuple(info for info in evictable if info not in kept)
    name = world.cache.table.node(row).name
    return Victims(name, *_fewest(world, pod, row, evictable, chosen))


def _returns(world: World, pod: Pod, row: int, info: PodInfo) -> bool:
    """Put a victim back if the pending pod still fits beside it; True if so."""
    world.cache.place_on(row, info)
    if world.fits_on(pod, row):
        return True
    world.cache.displace(info)
    return False


def _fewest(
    world: World, pod: Pod, row: int, evictable: list[PodInfo], chosen: tuple[PodInfo, ...]
) -> tuple[tuple[PodInfo, ...], bool]:
    """The smallest set that was found; whether every smaller one was tried."""
    for size in range(_at_least(world, pod, row, evictable), len(chosen)):
        if math.comb(len(evictable), size) > MOST_SETS:
            return chosen, False
        for victims in itertools.combinations(evictable, size):
            world.pause()
            with world.cache.trial():
                for info in victims:
                    world.cache.displace(info)
                if world.fits_on(pod, row):
                    return victims, True
    return chosen, True


def _at_least(world: World, pod: Pod, row: int, evictable: list[PodInfo]) -> int:
    """A lower bound of the number of victims, by what the largest ones would free."""
    table, needed = world.cache.table, 1
    for index, amount in world.cache.info(pod).requests:
        lacking = amount - (int(table.free[index, row]) if index < len(table.free) else 0)
        freed = sorted((dict(info.requests).get(index, 0) for info in evictable), reverse=True)
        sums = list(itertools.accumulate(freed))
        needed = max(needed, 1 + sum(total < lacking for total in sums))
    return needed


def _evictable(world: World, pod: Pod, row: int) -> list[PodInfo]:
    """The evictable pods of a node, the least important first; none violates a budget."""
    pods = world.cache.table.pods[row].values()
    lower = [i for i in pods if i.priority <= pod.priority and not stays(i.pod)]
    ordered = sorted(lower, key=lambda info: (info.priority, info.pod.key))
    budgets = Budgets(world.cache.objects.all(PodDisruptionBudget))
    violated = budgets.violated_by(ordered)
    return [info for info, bad in zip(ordered, violated, strict=True) if not bad]


def stays(pod: Pod) -> bool:
    """Whether a pod is never a victim: it is leaving anyway, or would come right back."""
    owner = pod.owner
    return pod.is_terminating or (owner is not None and owner.kind in ("DaemonSet", "Node"))


def _most_important_first(pods: list[PodInfo]) -> list[PodInfo]:
    return list(reversed(pods))


def _nearest_rows(world: World, pod: Pod) -> list[int]:
    """The rows with pods, sorted by what they lack, the least first."""
    table, requests = world.cache.table, world.cache.info(pod).requests
    rows = np.flatnonzero(table.alive[: table.rows] & (table.pod_count[: table.rows] > 0))
    lacks = np.zeros(len(rows))
    for index, amount in requests:
        if index < len(table.free) and amount:
            offered, free = table.allocatable[index, rows], table.free[index, rows]
            lacks += np.clip(amount - free, 0, None) / amount + (offered < amount) * 1e6
    return [int(row) for row in rows[np.argsort(lacks, kind="stable")][:MOST_ROWS]]


def wait_change(world: World, pod: Pod) -> Change | None:
    """The earliest time at which the pods that are known to end have left enough room."""
    ending = sorted(_ending(world), key=lambda found: (found[0], found[1].pod.key))
    if not ending:
        return None
    low, high = 0, min(_FIRST_ENDING, len(ending))
    while not _fits_without(world, pod, ending[:high]):
        if high == len(ending):
            return None
        low, high = high, min(2 * high, len(ending))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fits_without(world, pod, ending[:middle]) else (middle, high)
    when, last = ending[high - 1]
    node = world.cache.node_of(last.uid) or ""
    left = max(0.0, when - world.now)
    about = "it is terminating" if left == 0 else f"in about {_span(left)}"
    return Change(
        kind="wait",
        summary=f"wait for pod {last.pod.key} on {node} to end ({about})",
        patch=Objects(delete=tuple(reference(info.pod) for _, info in ending[:high])),
        node=node,
        cost=WAIT_COST,
        minimal=True,
    )


def _ending(world: World) -> Iterator[tuple[float, PodInfo]]:
    """The pods whose end is known, by annotation or deletion, with the time of it."""
    for number, (_, info) in enumerate(list(world.cache.pods())):
        if not number % _AT_ONCE:
            world.pause()
        metadata = info.pod.metadata
        if metadata.deletion_timestamp is not None:
            yield world.now, info
        elif DURATION in metadata.annotations:
            started, seconds = info.pod.status.start_time, _duration(info.pod)
            if seconds is not None:
                yield (world.now if started is None else started.timestamp()) + seconds, info


def _duration(pod: Pod) -> float | None:
    try:
        return float(pod.annotations[DURATION])
    except (KeyError, ValueError):
        return None


def _fits_without(world: World, pod: Pod, gone: list[tuple[float, PodInfo]]) -> bool:
    world.pause()
    with world.cache.trial():
        for _, info in gone:
            if world.cache.pod(info.uid) is not None:
                world.cache.displace(info)
        return world.fits(pod)


def reference(pod: Pod) -> dict[str, str]:
    """The reference of a pod among objects to delete."""
    return {"kind": "Pod", "namespace": pod.namespace, "name": pod.name}


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
