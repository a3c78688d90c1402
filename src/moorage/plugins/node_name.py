"""NodeName: a pod with spec.nodeName fits that node only."""

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import SKIP, NodeNames, Rejection, Skip, unresolvable

OTHER_NODE = "node(s) didn't match the requested node name"


class NodeName(PreFilter, Filter, frozen=True):
    def concerns(self) -> int:
        return Feature.NODE_NAME

    def pre_filter(self, cycle: Cycle, pod: Pod) -> NodeNames | Skip | None:
        wanted = pod.spec.node_name
        return NodeNames(frozenset({wanted})) if wanted else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        if not pod.spec.node_name:
            return
        out.fill(1)
        row = cycle.table.row_of.get(pod.spec.node_name)
        if row is not None:
            out[nodes.positions(np.array([row], dtype=np.intp))] = 0

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(OTHER_NODE)

    def events(self) -> tuple[EventHint, ...]:
        return (EventHint(ClusterEvent(Resource.NODE, Action.ADD)),)
