"""One rule, written twice: crowded nodes are refused, and the emptier is the better."""

import numpy as np
from numpy.typing import NDArray

from moorage import Cycle, Filter, Node, Nodes, Pod, Rejection, Score, unschedulable

MOST = 100
CROWDED = unschedulable("node(s) were crowded")


class ByNode(Filter, Score, frozen=True):
    """For one node at a time."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return CROWDED if len(cycle.pods_on(node.name)) >= MOST else None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return max(MOST - len(cycle.pods_on(node.name)), 0)


class ByColumn(Filter, Score, frozen=True):
    """For all nodes at once."""

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        out[:] = nodes.pod_count >= MOST

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return CROWDED

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        np.maximum(MOST - nodes.pod_count, 0, out=out)
