"""Numbers that nodes carry in annotations and labels, as columns kept fresh by the node log.

A number is read once per node object, never once per attempt; what a node does not say, or does
not say in numbers, is NaN.
"""

import math
from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.cache.table import NodeTable

Floats = NDArray[np.float64]
Read = Callable[[Node], float]

UNKNOWN = math.nan


class NodeColumn:
    """What `read` says of each node.  values: float64 (row)"""

    __slots__ = ("_read", "_version", "values")

    def __init__(self, read: Read) -> None:
        self._read = read
        self._version = -1
        self.values: Floats = np.zeros(0, dtype=np.float64)

    def catch_up(self, table: NodeTable) -> Floats:
        """The column, true for the nodes as they are now."""
        log, capacity = table.node_log, len(table.alive)
        if self._version == log.version and len(self.values) == capacity:
            return self.values
        changed = log.since(self._version) if self._version >= 0 else None
        if changed is None or len(self.values) != capacity:
            self.values = np.full(capacity, UNKNOWN)
            changed = list(range(table.rows))
        for row in set(changed):
            node = table.nodes[row]
            self.values[row] = UNKNOWN if node is None else self._read(node)
        self._version = log.version
        return self.values


def column(table: NodeTable, key: Hashable, read: Read) -> Floats:
    """The column of a key, which stands for what `read` reads.  float64 (row)"""
    known: dict[Hashable, NodeColumn] = table.derived.setdefault("NodeColumns", {})
    found = known.get(key)
    if found is None:
        found = known[key] = NodeColumn(read)
    return found.catch_up(table)


def numbers(table: NodeTable, name: str) -> Floats:
    """What nodes say under a name, in an annotation or else in a label.  float64 (row)"""
    return column(table, ("number", name), lambda node: number(said(node, name)))


def said(node: Node, name: str) -> str | None:
    """What a node says under a name: annotations go before labels."""
    return node.annotations.get(name, node.labels.get(name))


def number(text: str | None) -> float:
    """The number a text stands for; NaN where it stands for none."""
    try:
        value = float(text) if text is not None else UNKNOWN
    except ValueError:
        return UNKNOWN
    return value if math.isfinite(value) else UNKNOWN
