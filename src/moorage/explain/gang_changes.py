"""A gang explained as a whole: how many of its pods fit, and the smallest change for all of them.

A change of the pod applies to every pending pod of the gang. Each change is checked by placing all
of them, one after the other, on a trial of the cache.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.resource_amounts import format_amount
from moorage.api.taints import tolerates
from moorage.cache.disruption_budgets import Budgets
from moorage.cache.podinfo import PodInfo
from moorage.cycle import filtering, scoring
from moorage.explain import cluster_changes, json_patch, pod_edits, relaxation
from moorage.explain.change import Change, Objects
from moorage.explain.cluster_changes import Template
from moorage.explain.relaxation import Relaxation, relaxed
from moorage.explain.world import World
from moorage.gang import topology
from moorage.gang.topology import Packing

Raw = dict[str, Any]
MOST_EVICTABLE: Final = 400
MOST_NODES: Final = 64


class Gang(NamedTuple):
    """The pending pods of a gang, raw, and how many of them must fit at once."""

    key: str
    raws: list[Raw]
    needed: int
    packing: Packing = Packing()
    occupied: tuple[str, ...] = ()


class GangFit(NamedTuple):
    """How many of the needed pods fit, and why the next one does not."""

    fitting: int
    message: str


def gang_fit(world: World, gang: Gang) -> GangFit:
    """Place the gang on a trial, in each topology domain that it may be packed in."""
    table = world.cache.table
    pods = [decode_as(raw, Pod) for raw in gang.raws]
    infos = [world.cache.info(pod) for pod in pods]
    choice = topology.choose_domains(table, gang.packing, infos, gang.needed, gang.occupied)
    domains = (*choice.domains, *((None,) if choice.anywhere else ()))
    best = GangFit(-1, "")
    for domain in domains or tuple(choice.too_small):
        nodes = None if domain is None else frozenset(table.node(r).name for r in domain.rows)
        found = _placed_together(world, pods, gang.needed, nodes)
        if found.fitting > best.fitting:
            best = found
        if best.fitting >= gang.needed:
            break
    return best if best.fitting >= 0 else GangFit(0, "no node has the label it is packed by")


def _placed_together(
    world: World, pods: list[Pod], needed: int, nodes: frozenset[str] | None
) -> GangFit:
    fitting, why = 0, ""
    with world.cache.trial():
        for pod in pods:
            question = world.question(pod, nodes)
            rows = question.feasible()
            if not rows.any():
                found = filtering.diagnose(question.profile, question.cycle, question.found)
                why = why or f"Pod {pod.key}: {found.message()}"
                continue
            scored = scoring.run(question.profile, question.cycle, rows)
            position, _ = scoring.select_host(scored, question.cycle)
            row = world.cache.table.row_of[scored.nodes.node(position).name]
            world.cache.place_on(row, world.cache.info(pod))
            fitting += 1
            if fitting >= needed:
                break
    return GangFit(fitting, why)


def _fits(world: World, gang: Gang) -> bool:
    return gang_fit(world, gang).fitting >= gang.needed


def gang_changes(world: World, gang: Gang, templates: list[Template], most: int) -> list[Change]:
    """The smallest changes that let the whole gang in, the best first."""
    found = [
        *_rule_changes(world, gang),
        *_request_changes(world, gang),
        _evictions(world, gang),
        _more_nodes(world, gang, templates),
    ]
    changes = [change for change in found if change is not None]
    return sorted(changes, key=lambda change: change.cost)[:most]


def _relaxed(gang: Gang, option: tuple[Relaxation, ...]) -> Gang:
    return gang._replace(raws=[relaxed(raw, option) for raw in gang.raws])


def _rule_changes(world: World, gang: Gang) -> Iterator[Change]:
    """Single rules that let the gang in once they are dropped from all of its pods."""
    for part in _rules(world, gang.raws[0]):
        changed = _relaxed(gang, (part,))
        if _fits(world, changed):
            yield _pod_change(gang, changed, part)


def _rules(world: World, raw: Raw) -> Iterator[Relaxation]:
    pod, table = decode_as(raw, Pod), world.cache.table
    taints = {
        taint: None
        for row in table.row_of.values()
        for taint in table.node(row).taints
        if taint.effect in relaxation.HARD
    }
    tolerated = pod.spec.tolerations
    for taint in taints:
        if not any(tolerates(own, taint) for own in tolerated):
            yield relaxation.toleration(taint)
    for key, value in (pod_edits.spec_of(raw).get("nodeSelector") or {}).items():
        yield relaxation.selector_drop(key, value)
    if pod_edits.node_terms(raw):
        edit = pod_edits.drop_node_affinity
        yield Relaxation("affinity", "drop the node affinity", 2, edit)
    yield from relaxation.pod_term_drops(raw)


def _pod_change(gang: Gang, changed: Gang, part: Relaxation, *, minimal: bool = True) -> Change:
    return Change(
        kind=part.kind,
        summary=f"{part.summary}, in all {len(gang.raws)} pods of {gang.key}",
        patch=json_patch.diff(gang.raws[0], changed.raws[0]),
        node="",
        cost=round(part.size, 6),
        minimal=minimal,
    )


def _request_changes(world: World, gang: Gang) -> Iterator[Change]:
    """For each resource, the most that every pod may ask for so that the gang fits."""
    table = world.cache.table
    info = world.cache.info(decode_as(gang.raws[0], Pod))
    for index, asked in info.requests:
        name = table.resources.values[index]
        cut = partial(_cut, gang, name, asked)
        if not asked or not _fits(world, cut(0)):
            continue
        low, high = 0, asked
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _fits(world, cut(middle)) else (low, middle)
        if low:
            now, was = format_amount(name, low), format_amount(name, asked)
            summary = f"request {now} of {name} instead of {was}"
            part = Relaxation("request", summary, (asked - low) / asked, lambda raw: None)
            yield _pod_change(gang, cut(low), part)


def _cut(gang: Gang, resource: str, asked: int, to: int) -> Gang:
    edit = partial(relaxation.cut_to, resource=resource, asked=asked, to=to)
    return _relaxed(gang, (Relaxation("request", "", 0, edit),))


def _more_nodes(world: World, gang: Gang, templates: list[Template]) -> Change | None:
    """The fewest nodes of one template; among several templates, the cheapest set."""
    found = []
    for template in cluster_changes.by_dearness(templates):
        count = _fewest_nodes(world, gang, template)
        if count is not None:
            found.append((count, template))
    if not found:
        return None
    count, template = min(found, key=lambda each: each[0] * (each[1].price or 1.0))
    nodes = [cluster_changes.renamed(template.node, f"new-node-{i + 1}") for i in range(count)]
    first = cluster_changes.added_node(nodes[0], template)
    word = "one node" if count == 1 else f"{count} nodes"
    price = "" if template.price is None else f" ({template.price * count:g} per hour)"
    return msgspec.structs.replace(
        first,
        summary=f"add {word} like {template.node.name}{price}",
        patch=Objects(add=tuple(map(cluster_changes.written_node, nodes))),
        cost=cluster_changes.NODE_COST + count - 1,
        price_per_hour=None if template.price is None else template.price * count,
    )


def _fewest_nodes(world: World, gang: Gang, template: Template) -> int | None:
    low, high = 0, min(gang.needed, MOST_NODES)
    if not _fits_with(world, gang, template, high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fits_with(world, gang, template, middle) else (middle, high)
    return high


def _fits_with(world: World, gang: Gang, template: Template, count: int) -> bool:
    with world.cache.trial():
        for number in range(count):
            name = f"new-node-{number + 1}"
            world.cache.put_node(cluster_changes.renamed(template.node, name))
        return _fits(world, gang)


def _evictions(world: World, gang: Gang) -> Change | None:
    """The least important pods whose eviction lets the gang in; none of them could stay."""
    evictable = _evictable(world, decode_as(gang.raws[0], Pod))
    with world.cache.trial():
        for _, info in evictable:
            world.cache.displace(info)
        if not evictable or not _fits(world, gang):
            return None
        victims = [
            (row, info) for row, info in reversed(evictable) if not _returns(world, gang, row, info)
        ]
    names = ", ".join(info.pod.key for _, info in victims)
    word = "the pod" if len(victims) == 1 else f"the {len(victims)} pods"
    return Change(
        kind="evict",
        summary=f"evict {word} {names}",
        patch=Objects(delete=tuple(cluster_changes.reference(info.pod) for _, info in victims)),
        node="",
        cost=cluster_changes.EVICT_COST + len(victims),
        minimal=len(victims) == 1,
    )


def _returns(world: World, gang: Gang, row: int, info: PodInfo) -> bool:
    """Put a victim back if the gang still fits beside it; True if so."""
    world.cache.place_on(row, info)
    if _fits(world, gang):
        return True
    world.cache.displace(info)
    return False


def _evictable(world: World, pod: Pod) -> list[tuple[int, PodInfo]]:
    """The pods evictable for the gang, the least important first; none violates a budget."""
    table = world.cache.table
    rows = {info.uid: row for row in table.row_of.values() for info in table.pods[row].values()}
    lower = [
        info
        for row in table.row_of.values()
        for info in table.pods[row].values()
        if info.priority <= pod.priority and not cluster_changes.stays(info.pod)
    ]
    ordered = sorted(lower, key=lambda info: (info.priority, info.pod.key))[:MOST_EVICTABLE]
    violated = Budgets(world.cache.objects.all(PodDisruptionBudget)).violated_by(ordered)
    kept = (info for info, bad in zip(ordered, violated, strict=True) if not bad)
    return [(rows[info.uid], info) for info in kept]
