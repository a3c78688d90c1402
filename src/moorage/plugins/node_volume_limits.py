"""NodeVolumeLimits: a node attaches no more volumes of a CSI driver than the driver can there."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.api.storage import CSIDriver
from moorage.cache.objects import Objects
from moorage.cache.podinfo import Feature
from moorage.cache.view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import (
    SKIP,
    PluginError,
    Rejection,
    Skip,
    unresolvable,
    unschedulable,
)
from moorage.plugins import node_volume_limits_hints as hints
from moorage.plugins.node_volume_limits_counting import Attachments
from moorage.plugins.node_volume_limits_resolving import (
    Attachable,
    Missing,
    Name,
    Problem,
    attachables,
    is_attachable,
)
from moorage.plugins.node_volume_limits_rows import Rows
from moorage.plugins.volume_nodes import CSINodes, csi_nodes

EXCEEDED: Final = "node(s) exceed max volume count"
NOT_INSTALLED: Final = "{} CSI driver is not installed on the node"

_EXCEEDED = 1

Outcome = Rejection | Problem


class Part:
    """What the pod would attach to one sort of node: with a CSINode, or without."""

    def __init__(self, found: list[Attachable | Missing | Problem], has_csi_node: bool) -> None:
        shown = [
            volume
            for volume in found
            if isinstance(volume, Missing) or has_csi_node or not volume.migrated
        ]
        self.trouble = next((v for v in shown if isinstance(v, Missing | Problem)), None)
        self.names: set[Name] = {v.name for v in shown if isinstance(v, Attachable)}
        self.drivers = list(dict.fromkeys(v.driver for v in shown if isinstance(v, Attachable)))

    def count(self, driver: str) -> int:
        return sum(name[0] == driver for name in self.names)


class Wanted:
    """What the pod would attach, and the outcomes that codes stand for."""

    def __init__(self, objects: Objects, pod: Pod) -> None:
        found = list(attachables(objects, pod))
        self.on_csi_nodes = Part(found, True)
        self.elsewhere = Part(found, False)
        self.outcomes: list[Outcome] = [unschedulable(EXCEEDED)]

    def code(self, outcome: Outcome) -> int:
        if outcome not in self.outcomes:
            self.outcomes.append(outcome)
        return self.outcomes.index(outcome) + 1


class NodeVolumeLimits(PreFilter, Filter, frozen=True):
    """Where pods on a node are wrong beyond counting, the node is refused; if that decides the
    attempt, it is an error and no refusal."""

    def concerns(self) -> int:
        return Feature.VOLUMES

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        return None if any(map(is_attachable, pod.spec.volumes)) else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        wanted, csi = _wanted(cycle), csi_nodes(cycle)
        present = csi.present[nodes.rows]
        for part, where in ((wanted.on_csi_nodes, present), (wanted.elsewhere, ~present)):
            if part.trouble is not None:
                out[where] = wanted.code(_outcome(part.trouble))
            else:
                _require_drivers(cycle, part, where, nodes, out)
        if wanted.on_csi_nodes.names:
            _apply_limits(cycle, csi, nodes, out)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        outcome = _wanted(cycle).outcomes[code - 1]
        if isinstance(outcome, Problem):
            raise PluginError("NodeVolumeLimits", "Filter", outcome.message)
        return outcome

    def events(self) -> tuple[EventHint, ...]:
        csi_node, claim = Resource.CSI_NODE, Resource.PERSISTENT_VOLUME_CLAIM
        detached = ClusterEvent(Resource.VOLUME_ATTACHMENT, Action.DELETE)
        driver = Action.UPDATE | Action.DELETE
        return (
            EventHint(ClusterEvent(Resource.NODE, Action.ADD)),
            EventHint(ClusterEvent(csi_node, Action.ADD | Action.DELETE)),
            EventHint(ClusterEvent(csi_node, Action.UPDATE), hints.after_csi_node_update),
            EventHint(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), hints.after_pod_deleted),
            EventHint(ClusterEvent(claim, Action.ADD), hints.after_claim_added),
            EventHint(detached, hints.after_detach),
            EventHint(ClusterEvent(Resource.CSI_DRIVER, driver), hints.after_driver_change),
            EventHint(ClusterEvent(Resource.STORAGE_CLASS, Action.DELETE)),
            EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME, Action.DELETE)),
        )


def _wanted(cycle: Cycle) -> Wanted:
    found: Wanted | None = cycle.state.get("NodeVolumeLimits")
    if found is None:
        found = cycle.state["NodeVolumeLimits"] = Wanted(cycle.cache.objects, cycle.pod)
    return found


def _outcome(trouble: Missing | Problem) -> Outcome:
    return trouble if isinstance(trouble, Problem) else unresolvable(trouble.message)


def _require_drivers(
    cycle: Cycle, part: Part, where: NDArray[np.bool_], nodes: Nodes, out: NDArray[np.int32]
) -> None:
    """A driver that asks for it must be on the node before its volumes are."""
    for driver in part.drivers:
        found = cycle.get(CSIDriver, driver)
        if found is not None and found.spec.prevent_pod_scheduling_if_missing:
            absent = where & ~csi_nodes(cycle).installed(driver)[nodes.rows] & (out == 0)
            out[absent] = _wanted(cycle).code(unschedulable(NOT_INSTALLED.format(driver)))


def _apply_limits(cycle: Cycle, csi: CSINodes, nodes: Nodes, out: NDArray[np.int32]) -> None:
    attachments: Attachments = cycle.shared.setdefault("NodeVolumeLimits", Attachments())
    attachments.catch_up(cycle)
    part, open_to = _wanted(cycle).on_csi_nodes, out == 0
    at_most = attachments.at_most[nodes.rows]
    close = csi.limited[nodes.rows] & (attachments.doubtful[nodes.rows] > 0)
    for driver in part.drivers:
        close |= at_most + part.count(driver) > csi.limit(driver)[nodes.rows]
    close &= open_to
    if close.any():
        attachments.count(cycle, nodes.index[close].tolist())
        for driver in part.drivers:
            out[close & _is_over(driver, part, attachments.rows, csi, nodes)] = _EXCEEDED
        _tell_problems(_wanted(cycle), attachments.rows, nodes, close, out)


def _is_over(driver: str, part: Part, rows: Rows, csi: CSINodes, nodes: Nodes) -> NDArray[np.bool_]:
    """bool (node): with the pod's new volumes of the driver there would be too many."""
    added = np.full(nodes.count, part.count(driver))
    for name in part.names:
        if name[0] == driver:
            held = np.fromiter(rows.holders(name), dtype=np.intp)
            added[nodes.positions(held)] -= 1
    there, limit = rows.count(driver)[nodes.rows], csi.limit(driver)[nodes.rows]
    return (added > 0) & (there + added > limit)


def _tell_problems(
    wanted: Wanted, rows: Rows, nodes: Nodes, close: NDArray[np.bool_], out: NDArray[np.int32]
) -> None:
    for row, problem in rows.problems.items():
        for position in nodes.positions(np.array([row], dtype=np.intp)).tolist():
            if close[position]:
                out[position] = wanted.code(Problem(problem))
