"""NodeVolumeLimits: the filter, and the events that may give room to a pod it refused."""

import math
from collections.abc import Hashable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.api.storage import CSIDriver, CSINode, PersistentVolumeClaim, VolumeAttachment
from moorage.cache.node_view import Nodes
from moorage.cache.object_store import ObjectStore
from moorage.cache.podinfo import Feature
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import (
    SKIP,
    PluginError,
    Rejection,
    Skip,
    unresolvable,
    unschedulable,
)
from moorage.plugins.node_volume_limits.attachable_volumes import (
    Attachable,
    MissingClaim,
    Problem,
    VolumeId,
    attachable_volumes,
    is_attachable,
    may_be_uncountable,
)
from moorage.plugins.node_volume_limits.attached_volumes import AttachedVolumes, CountsByRow
from moorage.plugins.volumes.awaited_claims import BY_CLAIM
from moorage.plugins.volumes.csi_migration import plugin_of
from moorage.plugins.volumes.csi_nodes import CSINodes, csi_nodes
from moorage.plugins.volumes.persistent_volumes import names_claim


def after_csi_node_update(pod: Pod, old: CSINode, new: CSINode) -> Hint:
    """Queue if a driver was added or its limit was raised; a driver without a limit allows any."""
    before, after = _limits_by_driver(old), _limits_by_driver(new)
    came = after.keys() - before.keys()
    raised = any(after.get(driver, math.inf) > limit for driver, limit in before.items())
    return Hint.QUEUE if came or raised else Hint.SKIP


def _limits_by_driver(node: CSINode) -> dict[str, float]:
    limits: dict[str, float] = {}
    for driver in node.spec.drivers:
        count = None if driver.allocatable is None else driver.allocatable.count
        limits[driver.name] = math.inf if count is None else count
    return limits


def after_driver_change(pod: Pod, old: CSIDriver, new: CSIDriver | None) -> Hint:
    """Queue if the driver no longer requires to be installed on a node (or is deleted)."""
    asks = new is not None and new.spec.prevent_pod_scheduling_if_missing
    return Hint.QUEUE if old.spec.prevent_pod_scheduling_if_missing and not asks else Hint.SKIP


def after_pod_deleted(pod: Pod, deleted: Pod, _: None) -> Hint:
    was_placed = deleted.spec.node_name or deleted.status.nominated_node_name
    frees = any(map(is_attachable, deleted.spec.volumes))
    return Hint.QUEUE if was_placed and frees else Hint.SKIP


def after_claim_added(pod: Pod, _: None, claim: PersistentVolumeClaim) -> Hint:
    return Hint.QUEUE if names_claim(pod, claim) else Hint.SKIP


def after_detach(pod: Pod, detached: VolumeAttachment, _: None) -> Hint:
    """Queue for a pod with claims, or with in-tree volumes of the driver that was detached."""
    for volume in pod.spec.volumes:
        plugin = plugin_of(volume)
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            return Hint.QUEUE
        if plugin is None:
            continue
        if plugin.driver == detached.spec.attacher or may_be_uncountable(volume):
            return Hint.QUEUE
    return Hint.SKIP


EXCEEDED: Final = "node(s) exceed max volume count"
NOT_INSTALLED: Final = "{} CSI driver is not installed on the node"

_EXCEEDED = 1

Outcome = Rejection | Problem


class VolumesToAttach:
    """The volumes that the pod would attach to nodes with a CSINode, or to nodes without one."""

    def __init__(
        self, found: list[Attachable | MissingClaim | Problem], has_csi_node: bool
    ) -> None:
        shown = [
            volume
            for volume in found
            if isinstance(volume, MissingClaim) or has_csi_node or not volume.migrated
        ]
        self.trouble = next((v for v in shown if isinstance(v, MissingClaim | Problem)), None)
        self.names: set[VolumeId] = {v.name for v in shown if isinstance(v, Attachable)}
        self.drivers = list(dict.fromkeys(v.driver for v in shown if isinstance(v, Attachable)))

    @property
    def demand(self) -> tuple[tuple[str, int], ...]:
        """(driver, number of volumes), in the order of the volumes."""
        return tuple((driver, self.count(driver)) for driver in self.drivers)

    def count(self, driver: str) -> int:
        return sum(name[0] == driver for name in self.names)


class AttachDemand:
    """The volumes that the pod would attach, and the outcomes that codes stand for."""

    def __init__(self, objects: ObjectStore, pod: Pod) -> None:
        found = list(attachable_volumes(objects, pod))
        self.on_csi_nodes = VolumesToAttach(found, True)
        self.elsewhere = VolumesToAttach(found, False)
        self.outcomes: list[Outcome] = [unschedulable(EXCEEDED)]

    def code(self, outcome: Outcome) -> int:
        if outcome not in self.outcomes:
            self.outcomes.append(outcome)
        return self.outcomes.index(outcome) + 1


class NodeVolumeLimits(PreFilter, Filter, frozen=True):
    """If a node's volumes cannot be counted because a pod on it is invalid, the node is refused; if
    no node is left, the attempt ends in an error instead of a refusal."""

    def concerns(self) -> int:
        return Feature.VOLUMES

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        return None if any(map(is_attachable, pod.spec.volumes)) else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        wanted, csi = _attach_demand(cycle), csi_nodes(cycle)
        present = csi.present[nodes.rows]
        for part, where in ((wanted.on_csi_nodes, present), (wanted.elsewhere, ~present)):
            if part.trouble is not None:
                out[where] = wanted.code(_outcome(part.trouble))
            else:
                _require_drivers(cycle, part, where, nodes, out)
        if wanted.on_csi_nodes.names:
            _apply_limits(cycle, csi, nodes, out)

    def volumes_sign(self, cycle: Cycle) -> Hashable | None:
        """The number of volumes of each driver, and the volumes that some node has attached."""
        wanted = _attach_demand(cycle)
        parts = wanted.on_csi_nodes, wanted.elsewhere
        if any(part.trouble is not None for part in parts):
            return None
        return tuple(part.demand for part in parts), frozenset(_held(cycle, wanted))

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        """False if a pod on some node uses a volume of this pod: it no longer counts as attached
        once that pod leaves."""
        return not any(_held(cycle, _attach_demand(cycle)))

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        outcome = _attach_demand(cycle).outcomes[code - 1]
        if isinstance(outcome, Problem):
            raise PluginError("NodeVolumeLimits", "Filter", outcome.message)
        return outcome

    def events(self) -> tuple[EventHint, ...]:
        csi_node, claim = Resource.CSI_NODE, Resource.PERSISTENT_VOLUME_CLAIM
        detached = ClusterEvent(Resource.VOLUME_ATTACHMENT, Action.DELETE)
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        driver = ClusterEvent(Resource.CSI_DRIVER, Action.UPDATE | Action.DELETE)
        return (
            EventHint(ClusterEvent(Resource.NODE, Action.ADD)),
            EventHint(ClusterEvent(csi_node, Action.ADD | Action.DELETE)),
            EventHint(ClusterEvent(csi_node, Action.UPDATE), after_csi_node_update, per_event=True),
            EventHint(gone, after_pod_deleted, per_event=True),
            EventHint(ClusterEvent(claim, Action.ADD), after_claim_added, keyed=BY_CLAIM),
            EventHint(detached, after_detach, per_spec=True),
            EventHint(driver, after_driver_change, per_event=True),
            EventHint(ClusterEvent(Resource.STORAGE_CLASS, Action.DELETE)),
            EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME, Action.DELETE)),
        )


def _attach_demand(cycle: Cycle) -> AttachDemand:
    found: AttachDemand | None = cycle.state.get("NodeVolumeLimits")
    if found is None:
        found = cycle.state["NodeVolumeLimits"] = AttachDemand(cycle.cache.objects, cycle.pod)
    return found


def _held(cycle: Cycle, wanted: AttachDemand) -> Iterator[VolumeId]:
    """The volumes of the pod that pods on some node use, as far as nodes were counted."""
    attachments: AttachedVolumes | None = cycle.shared.get("NodeVolumeLimits")
    if attachments is not None:
        yield from filter(attachments.rows.holders, wanted.on_csi_nodes.names)


def _outcome(trouble: MissingClaim | Problem) -> Outcome:
    return trouble if isinstance(trouble, Problem) else unresolvable(trouble.message)


def _require_drivers(
    cycle: Cycle,
    part: VolumesToAttach,
    where: NDArray[np.bool_],
    nodes: Nodes,
    out: NDArray[np.int32],
) -> None:
    """Refuse nodes that lack a driver which sets `preventPodSchedulingIfMissing`."""
    for driver in part.drivers:
        found = cycle.get(CSIDriver, driver)
        if found is not None and found.spec.prevent_pod_scheduling_if_missing:
            absent = where & ~csi_nodes(cycle).installed(driver)[nodes.rows] & (out == 0)
            out[absent] = _attach_demand(cycle).code(unschedulable(NOT_INSTALLED.format(driver)))


def _apply_limits(cycle: Cycle, csi: CSINodes, nodes: Nodes, out: NDArray[np.int32]) -> None:
    attachments: AttachedVolumes = cycle.shared.setdefault("NodeVolumeLimits", AttachedVolumes())
    attachments.catch_up(cycle)
    part, open_to = _attach_demand(cycle).on_csi_nodes, out == 0
    at_most = attachments.at_most[nodes.rows]
    close = csi.limited[nodes.rows] & (attachments.doubtful[nodes.rows] > 0)
    for driver in part.drivers:
        close |= at_most + part.count(driver) > csi.limit(driver)[nodes.rows]
    close &= open_to
    if close.any():
        attachments.count(cycle, nodes.index[close].tolist())
        for driver in part.drivers:
            out[close & _is_over(driver, part, attachments.rows, csi, nodes)] = _EXCEEDED
        _refuse_uncountable(_attach_demand(cycle), attachments.rows, nodes, close, out)


def _is_over(
    driver: str, part: VolumesToAttach, rows: CountsByRow, csi: CSINodes, nodes: Nodes
) -> NDArray[np.bool_]:
    """bool (node): the pod's volumes of the driver that are not attached yet exceed its limit."""
    added = np.full(nodes.count, part.count(driver))
    for name in part.names:
        if name[0] == driver:
            held = np.fromiter(rows.holders(name), dtype=np.intp)
            added[nodes.positions(held)] -= 1
    there, limit = rows.count(driver)[nodes.rows], csi.limit(driver)[nodes.rows]
    return (added > 0) & (there + added > limit)


def _refuse_uncountable(
    wanted: AttachDemand,
    rows: CountsByRow,
    nodes: Nodes,
    close: NDArray[np.bool_],
    out: NDArray[np.int32],
) -> None:
    for row, problem in rows.problems.items():
        for position in nodes.positions(np.array([row], dtype=np.intp)).tolist():
            if close[position]:
                out[position] = wanted.code(Problem(problem))
