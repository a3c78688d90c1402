"""NodeResourcesFit: a node must have free what the pod requests; scores by what is left or used."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from moorage import kernels
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.resource_amounts import is_extended, node_allocatable, pod_requests
from moorage.api.resource_slices import DeviceClass
from moorage.cache.column_cache import Depends
from moorage.cache.interner import Interner
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature
from moorage.cache.table import NodeTable
from moorage.config.plugin_args import CPU_AND_MEMORY, LEAST_ALLOCATED, ScoringStrategy
from moorage.devices.classes import CLASS_RESOURCE_PREFIX
from moorage.devices.device_cache import backing_class
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.plugin import Needs
from moorage.framework.points import Filter, PreFilter, PreScore, Score
from moorage.framework.verdicts import Rejection, unresolvable, unschedulable
from moorage.plugins.node_resources.resource_allocation import devices_sign, scored_resources
from moorage.plugins.node_resources.scoring_strategies import strategy_of

Sets = NDArray[np.int32] | NDArray[np.object_]
"""Sets of bits (node): int32, or Python's integers where those are too short."""

TOO_MANY_PODS = "Too many pods"
INSUFFICIENT = "Insufficient {}"

NO_RESOURCES: Final[frozenset[int]] = frozenset()

_TOO_MANY_PODS = 1
_NEVER = 2
_FIRST_RESOURCE = 2
_MOST_RESOURCES = 29
"""How many resources have a bit of their own in an int32."""


class NodeResourcesFit(PreFilter, Filter, PreScore, Score, frozen=True):
    same_for_equal_pods = True
    reads_claims = False
    reads_labels = False
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(LEAST_ALLOCATED, CPU_AND_MEMORY)

    depends = Depends.USAGE
    needs: ClassVar[Needs] = {"filter": "preFilter"}
    scores_in_range = True

    def sign(self, cycle: Cycle) -> Hashable:
        incoming = cycle.incoming
        sign = incoming.requests, incoming.nonzero, incoming.cls.scored_sign
        if not incoming.cls.features & Feature.EXTENDED:
            return sign
        backed = backed_by_devices(cycle)
        if not backed:
            return sign
        resources, requests = self.scoring_strategy.resources, incoming.cls.scored_requests
        return *sign, backed, devices_sign(resources, requests, cycle)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        return None

    def checked(self, cycle: Cycle) -> list[tuple[int, int]]:
        """(resource, amount) of what the node must have free; ignored resources are left out."""
        asked = [request for request in cycle.incoming.requests if request[1] > 0]
        if not self.ignored_resources and not self.ignored_resource_groups:
            return asked
        names = cycle.table.resources.values
        return [request for request in asked if not self.is_ignored(names[request[0]])]

    def is_ignored(self, name: str) -> bool:
        if not is_extended(name):
            return False
        group = name.split("/", 1)[0]
        return name in self.ignored_resources or group in self.ignored_resource_groups

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        """Codes are sets of bits: too many pods, never, and the resources in short supply.

        Where a pod requests more resources than there are bits, codes are numbers of such sets.
        """
        checked, backed = self.checked(cycle), backed_by_devices(cycle)
        if len(checked) > _MOST_RESOURCES:
            sets = np.zeros(nodes.count, dtype=object)
            mark_all(sets, checked, backed, nodes)
            numbers = _numbered_sets(cycle.table)
            out[:] = [numbers.intern(each) for each in sets.tolist()]
        elif nodes.count == 1:
            out[0] = code_of(checked, cycle.table, nodes.first, backed)
        else:
            mark_all(out, checked, backed, nodes)

    def admits_all(self, cycle: Cycle, pod: Pod) -> bool:
        return cycle.table.has_everywhere(self.checked(cycle))

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        names, checked = cycle.table.resources.values, self.checked(cycle)
        if len(checked) > _MOST_RESOURCES:
            code = _numbered_sets(cycle.table).values[code]
        reasons = [TOO_MANY_PODS] if code & _TOO_MANY_PODS else []
        for bit, (index, _) in enumerate(checked, start=_FIRST_RESOURCE):
            if code & 1 << bit:
                reasons.append(INSUFFICIENT.format(names[index]))
        return unresolvable(*reasons) if code & _NEVER else unschedulable(*reasons)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> None:
        return None

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        requests = cycle.incoming.cls.scored_requests
        resources = scored_resources(self.scoring_strategy.resources, requests, nodes, cycle)
        strategy_of(self.scoring_strategy)(resources, nodes, out)

    def events(self) -> tuple[EventHint, ...]:
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        shrunk = ClusterEvent(Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN)
        target = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN)
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)
        device_class = ClusterEvent(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE)
        return (
            EventHint(gone, after_pod_deleted, per_event=True),
            EventHint(node, self._after_node_change, per_spec=True),
            EventHint(shrunk, after_pod_shrunk, per_spec=True),
            EventHint(target),
            EventHint(device_class, after_device_class_change, per_spec=True),
        )

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        class_of = partial(backing_class, self.handle.cache)
        return after_node_change(pod, old, new, class_of, self.is_ignored)


def _numbered_sets(table: NodeTable) -> Interner[int]:
    """Sets of more bits than an int32 has; the empty one, of nodes that fit, is 0."""
    found: Interner[int] | None = table.derived.get("NodeResourcesFit")
    if found is None:
        found = table.derived["NodeResourcesFit"] = Interner([0])
    return found


def mark_all(
    out: Sets, checked: list[tuple[int, int]], backed: frozenset[int], nodes: Nodes
) -> None:
    """Write the set of bits for each node; `out` is all zeros before."""
    crowded = nodes.pod_count >= nodes.allowed_pods
    if crowded.any():
        out[crowded] = _TOO_MANY_PODS
    free, offered = nodes.free, nodes.allocatable
    fused = out.dtype == np.int32 and nodes.is_contiguous
    for bit, (index, amount) in enumerate(checked, start=_FIRST_RESOURCE):
        if index in backed:
            if index < len(free):
                plugged = np.where(offered[index] > 0, free[index], amount)
                mark_short(out, plugged, offered[index], amount, 1 << bit)
        elif index >= len(free):
            out |= 1 << bit | _NEVER
        else:
            columns = free[index], offered[index], amount, 1 << bit
            if not (fused and kernels.run("mark", out, *columns, _NEVER)):
                mark_short(out, *columns)


def mark_short(
    out: Sets, free: NDArray[np.int64], offered: NDArray[np.int64], amount: int, bit: int
) -> None:
    """Set `bit` where less than the amount is free, and `_NEVER` where less is allocatable."""
    short = free < amount
    if short.any():
        out[short] |= bit
        out[short & (offered < amount)] |= _NEVER


def backed_by_devices(cycle: Cycle) -> frozenset[int]:
    """The indices of requested resources that device classes back.

    A node that offers none of such a resource may have devices instead: DynamicResources decides.
    """
    incoming = cycle.incoming
    if not incoming.cls.features & Feature.EXTENDED:
        return NO_RESOURCES
    names = cycle.table.resources.values
    asked = (index for index, _ in incoming.requests)
    found = (index for index in asked if backing_class(cycle.cache, names[index]) is not None)
    return frozenset(found)


def code_of(
    checked: list[tuple[int, int]],
    table: NodeTable,
    row: int,
    backed: frozenset[int] = NO_RESOURCES,
) -> int:
    """The set of bits for one row."""
    code = _TOO_MANY_PODS if table.pod_count.item(row) >= table.allowed_pods.item(row) else 0
    for bit, (index, amount) in enumerate(checked, start=_FIRST_RESOURCE):
        if index in backed and (
            index >= len(table.free) or table.allocatable.item(index, row) <= 0
        ):
            continue
        if index >= len(table.free):
            code |= 1 << bit | _NEVER
        elif table.free.item(index, row) < amount:
            code |= 1 << bit
            if table.allocatable.item(index, row) < amount:
                code |= _NEVER
    return code


def after_pod_deleted(pod: Pod, deleted: Pod, _: None) -> Hint:
    held_room = deleted.spec.node_name or deleted.status.nominated_node_name
    return Hint.QUEUE if held_room else Hint.SKIP


def after_pod_shrunk(pod: Pod, old: Pod, new: Pod) -> Hint:
    """Queue if the other pod now requests less of a resource that this pod requests."""
    before, after = pod_requests(old), pod_requests(new)
    wanted = pod_requests(pod)
    freed = any(before.get(name, 0) > after.get(name, 0) for name in wanted)
    return Hint.QUEUE if freed else Hint.SKIP


def _ignores_nothing(name: str) -> bool:
    return False


def after_node_change(
    pod: Pod,
    old: Node | None,
    new: Node,
    class_of: Callable[[str], DeviceClass | None],
    is_ignored: Callable[[str], bool] = _ignores_nothing,
) -> Hint:
    """Queue if the node could hold the pod when empty, and offers more than before.

    A resource that the node does not offer may come from devices if a device class backs it: then
    it helps too if the node has ceased to offer the resource.
    """
    offered = node_allocatable(new)
    asked = {n: amount for n, amount in pod_requests(pod).items() if amount and not is_ignored(n)}
    by_devices = {
        name
        for name in asked
        if not offered.get(name) and is_extended(name) and class_of(name) is not None
    }
    wanted = {name: amount for name, amount in asked.items() if name not in by_devices}
    if offered.get("pods", 0) < 1 or any(offered.get(n, 0) < a for n, a in wanted.items()):
        return Hint.SKIP
    if old is None:
        return Hint.QUEUE
    before = node_allocatable(old)
    grew = any(offered.get(name, 0) > before.get(name, 0) for name in (*wanted, "pods"))
    ceased = any(before.get(name) for name in by_devices)
    return Hint.QUEUE if grew or ceased else Hint.SKIP


def after_device_class_change(pod: Pod, old: DeviceClass | None, new: DeviceClass) -> Hint:
    """Queue if the class begins to back a resource that the pod requests."""
    stands_for = new.spec.extended_resource_name
    if old is not None and old.spec.extended_resource_name == stands_for:
        return Hint.SKIP
    names = {stands_for} if old is not None else {stands_for, CLASS_RESOURCE_PREFIX + new.name}
    return Hint.SKIP if names.isdisjoint(pod_requests(pod)) else Hint.QUEUE
