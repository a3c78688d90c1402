"""NodePorts: a node must have the pod's host ports free."""

from collections.abc import Hashable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.host_ports import ANY
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature, host_ports
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.plugin import Needs
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import SKIP, Rejection, Skip, unschedulable

FEW_ROWS = 64
"""Up to this many rows are looked up one by one, however many nodes use the port."""
TAKEN = "node(s) didn't have free ports for the requested pod ports"


class NodePorts(PreFilter, Filter, frozen=True):
    same_for_equal_pods = True
    reads_claims = False
    reads_labels = False
    depends = Depends.USAGE
    needs: ClassVar[Needs] = {"filter": "preFilter"}

    def concerns(self) -> int:
        return Feature.PORTS

    def sign(self, cycle: Cycle) -> Hashable:
        return cycle.incoming.cls.ports

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        return None if cycle.incoming.cls.ports else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        used, ports = nodes.ports, cycle.incoming.cls.ports
        if nodes.count <= FEW_ROWS:
            for position, row in enumerate(nodes.index.tolist()):
                out[position] = any(used.is_taken(port, row) for port in ports)
            return
        for port in ports:
            rows = np.fromiter(used.conflicts(port), dtype=np.intp)
            out[nodes.positions(rows)] = 1

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        return True

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unschedulable(TAKEN)

    def events(self) -> tuple[EventHint, ...]:
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        node = ClusterEvent(Resource.NODE, Action.ADD)
        return EventHint(gone, after_pod_deleted, per_spec=True), EventHint(node)


def after_pod_deleted(pod: Pod, deleted: Pod, _: None) -> Hint:
    if not deleted.spec.node_name and not deleted.status.nominated_node_name:
        return Hint.SKIP
    freed = host_ports(deleted)
    clash = any(
        (a.protocol, a.port) == (b.protocol, b.port) and (a.ip == b.ip or ANY in (a.ip, b.ip))
        for a in host_ports(pod)
        for b in freed
    )
    return Hint.QUEUE if clash else Hint.SKIP
