"""NodeUnschedulable: cordoned nodes take only pods that tolerate the unschedulable taint."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.taints import Taint, tolerates
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import Rejection, unresolvable

CORDONED = "node(s) were unschedulable"

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(PreFilter, Filter, frozen=True):
    same_for_equal_pods = True
    reads_claims = False
    reads_labels = False
    depends = Depends.NODE

    def sign(self, cycle: Cycle) -> Hashable:
        return cycle.pod.spec.tolerations

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        return None

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        if not tolerates_cordon(pod):
            out[nodes.unschedulable] = 1

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(CORDONED)

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)
        pod = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION)
        return EventHint(node, after_node_change, per_event=True), EventHint(pod, after_toleration)


def tolerates_cordon(pod: Pod) -> bool:
    return any(tolerates(toleration, _CORDON) for toleration in pod.spec.tolerations)


def after_node_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    opened = not new.spec.unschedulable and (old is None or old.spec.unschedulable)
    return Hint.QUEUE if opened else Hint.SKIP


def after_toleration(pod: Pod, old: Pod, new: Pod) -> Hint:
    return Hint.QUEUE if tolerates_cordon(new) else Hint.SKIP
