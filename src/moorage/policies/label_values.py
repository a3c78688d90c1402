"""Values in labels and annotations: numbers of nodes as columns, labels of pods and namespaces.

A number is read once per node object, not once per attempt. A missing value, or one that is no
number, is NaN.
"""

import math
from collections.abc import Callable, Hashable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.cluster_objects import Namespace
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.follower import Follower
from moorage.cache.table import NodeTable
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource

Floats = NDArray[np.float64]
ReadNumber = Callable[[Node], float]

UNKNOWN = math.nan


class NodeColumn:
    """The number that `read` finds on each node.  values: float64 (row)"""

    __slots__ = ("_nodes", "_read", "values")

    def __init__(self, read: ReadNumber) -> None:
        self._read = read
        self._nodes: Follower[int] = Follower()
        self.values: Floats = np.zeros(0, dtype=np.float64)

    def catch_up(self, table: NodeTable) -> Floats:
        """The column, up to date with the nodes."""
        capacity = len(table.alive)
        if len(self.values) != capacity:
            self._nodes.forget()

        def afresh() -> range:
            self.values = np.full(capacity, UNKNOWN)
            return range(table.rows)

        def read(row: int) -> None:
            node = table.nodes[row]
            self.values[row] = UNKNOWN
            if node is not None:
                self.values[row] = self._read(node)

        self._nodes.apply(table.node_log, afresh, read)
        return self.values


def node_column(table: NodeTable, key: Hashable, read: ReadNumber) -> Floats:
    """The column of a key, which identifies `read`.  float64 (row)"""
    known: dict[Hashable, NodeColumn] = table.derived.setdefault("NodeColumns", {})
    found = known.get(key)
    if found is None:
        found = known[key] = NodeColumn(read)
    return found.catch_up(table)


def node_numbers(table: NodeTable, name: str) -> Floats:
    """The numbers in an annotation, or else in a label, of that name.  float64 (row)"""
    return node_column(
        table, ("number", name), lambda node: parse_number(annotation_or_label(node, name))
    )


def annotation_or_label(node: Node, name: str) -> str | None:
    """The value of an annotation, or else of the label, of that name."""
    return node.annotations.get(name, node.labels.get(name))


def parse_number(text: str | None) -> float:
    """The number in a text; NaN if it is none."""
    try:
        value = float(text) if text is not None else UNKNOWN
    except ValueError:
        return UNKNOWN
    return value if math.isfinite(value) else UNKNOWN


def namespace_label(cycle: Cycle, pod: Pod, key: str) -> str | None:
    """The value of a label of the pod's namespace."""
    found = cycle.get(Namespace, pod.namespace)
    return None if found is None else found.labels.get(key)


def after_namespace_change(pod: Pod, old: Namespace | None, new: Namespace | None) -> Hint:
    """A pod may fit once the labels of its own namespace change."""
    if new is None or new.name != pod.namespace:
        return Hint.SKIP
    return Hint.QUEUE if old is None or old.labels != new.labels else Hint.SKIP


NAMESPACE_LABELLED: Final = EventHint(
    ClusterEvent(Resource.NAMESPACE, Action.ADD | Action.UPDATE), after_namespace_change
)
"""The event hint of plugins that read labels of pods' namespaces."""
