"""The last measurement of each node, by row: feeds write them, policies read them."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.cache.rowlog import RowLog
from moorage.cache.table import NodeTable

M = TypeVar("M", bound=tuple[float, ...])

Floats = NDArray[np.float64]


class Measurements(Generic[M]):
    """The last measurement of each node, by name; a log tells which have a new one.

    `unknown` stands for a node that was never measured.
    """

    def __init__(self, unknown: M) -> None:
        self._unknown = unknown
        self._known: dict[str, M] = {}
        self._log: RowLog[str] = RowLog()
        self._columns: Floats = self._empty(0)
        self._seen = (-1, -1)

    def record(self, node: str, measured: M) -> None:
        """Take note of a measurement."""
        self._known[node] = measured
        self._log.append(node)

    def forget(self, node: str) -> None:
        """Drop what was measured of a node."""
        if self._known.pop(node, None) is not None:
            self._log.append(node)

    def columns(self, table: NodeTable) -> Floats:
        """The measurements by row, brought up to date.  float64 (quantity, row)"""
        seen = self._log.version, table.node_log.version
        if self._seen != seen or self._columns.shape[1] != len(table.alive):
            rows = list(self._changed(table))
            if rows:
                self._columns[:, rows] = np.array([self._of(table, row) for row in rows]).T
            self._seen = seen
        return self._columns

    def _of(self, table: NodeTable, row: int) -> M:
        node = table.nodes[row]
        return self._unknown if node is None else self._known.get(node.name, self._unknown)

    def _changed(self, table: NodeTable) -> set[int]:
        """The rows to look at: of nodes that were measured, and where another node moved in."""
        measured, moved = self._log.since(self._seen[0]), table.node_log.since(self._seen[1])
        afresh = self._seen[0] < 0 or measured is None or moved is None
        if afresh or self._columns.shape[1] != len(table.alive):
            self._columns = self._empty(len(table.alive))
            return set(range(table.rows))
        rows = (table.row_of.get(name) for name in measured or ())
        return {row for row in rows if row is not None} | set(moved or ())

    def _empty(self, rows: int) -> Floats:
        return np.full((len(self._unknown), rows), np.nan)
