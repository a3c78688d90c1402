"""A view of some rows of the node table: what a vector plugin gets as `nodes`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.cache.host_ports import UsedPorts
from moorage.cache.table import NodeTable

Rows = slice | NDArray[np.intp]


class FloatColumns(NamedTuple):
    """One resource of the nodes in view: allocatable, requested, and the share in use.

    All are float64 (node). `scored` is the requested amount for scoring, with kube's defaults for
    containers that request none. Where nothing is allocatable, `offered` is 1.
    """

    offered: NDArray[np.float64]
    used: NDArray[np.float64]
    share: NDArray[np.float64]
    scored: NDArray[np.float64]


class Nodes:
    """Some rows of the table, with the table's columns cut to them.

    A kernel is written once over these columns. The engine decides which rows they cover: the whole
    table, the rows that changed since the last attempt, or the single row of a trial. Callers must
    not write to the columns.
    """

    __slots__ = ("_floats", "_layout", "count", "rows", "table")

    def __init__(self, table: NodeTable, rows: Rows) -> None:
        self.table = table
        self.rows = rows
        self.count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        self._layout = table.layout
        self._floats: dict[int, FloatColumns] = {}

    @classmethod
    def all(cls, table: NodeTable) -> "Nodes":
        """Every row. All callers share one view, which is replaced when the columns are moved."""
        whole: Nodes | None = table.derived.get("Nodes")
        if whole is None or whole._layout != table.layout:
            whole = table.derived["Nodes"] = cls(table, slice(0, table.rows))
        return whole

    @classmethod
    def one(cls, table: NodeTable, row: int) -> "Nodes":
        return cls(table, slice(row, row + 1))

    @classmethod
    def some(cls, table: NodeTable, rows: Sequence[int]) -> "Nodes":
        if len(rows) == 1:
            return cls.one(table, rows[0])
        return cls(table, np.asarray(rows, dtype=np.intp))

    @property
    def index(self) -> NDArray[np.intp]:
        """The row numbers.  intp (node)."""
        if isinstance(self.rows, slice):
            return np.arange(self.rows.start, self.rows.stop, dtype=np.intp)
        return self.rows

    @property
    def is_contiguous(self) -> bool:
        """Whether each column of the view is a slice of the table's column, not a copy."""
        return isinstance(self.rows, slice)

    @property
    def first(self) -> int:
        """The row number of the first node."""
        rows = self.rows
        return rows.start if isinstance(rows, slice) else int(rows[0])

    def positions(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The positions in this view of these table rows; rows outside of it are dropped."""
        if isinstance(self.rows, slice):
            inside = rows[(rows >= self.rows.start) & (rows < self.rows.stop)]
            return np.asarray(inside - self.rows.start, dtype=np.intp)
        return np.flatnonzero(np.isin(self.rows, rows))

    def node(self, position: int) -> Node:
        rows = self.rows
        return self.table.node(
            rows.start + position if isinstance(rows, slice) else int(rows[position])
        )

    @property
    def ports(self) -> UsedPorts:
        """The host ports in use, by row of the table."""
        return self.table.ports

    @property
    def alive(self) -> NDArray[np.bool_]:
        return self.table.alive[self.rows]

    @property
    def allocatable(self) -> NDArray[np.int64]:
        """(resource, node)"""
        return self.table.allocatable[:, self.rows]

    @property
    def requested(self) -> NDArray[np.int64]:
        """(resource, node)"""
        return self.table.requested[:, self.rows]

    @property
    def free(self) -> NDArray[np.int64]:
        """(resource, node)"""
        return self.table.free[:, self.rows]

    @property
    def nonzero(self) -> NDArray[np.int64]:
        """(cpu memory, node)"""
        return self.table.nonzero[:, self.rows]

    def floats(self, resource: int) -> FloatColumns:
        """The columns of one resource as float64."""
        table, rows = self.table, self.rows
        if resource >= len(table.allocatable_f8):
            return _as_floats(table.allocatable[resource, rows], table.requested[resource, rows])
        found = self._floats.get(resource)
        if found is None:
            used = table.requested_f8[resource, rows]
            found = self._floats[resource] = FloatColumns(
                table.allocatable_f8[resource, rows],
                used,
                table.used_share[resource, rows],
                table.nonzero_f8[resource, rows] if resource < len(table.nonzero_f8) else used,
            )
        return found

    @property
    def allowed_pods(self) -> NDArray[np.int64]:
        return self.table.allowed_pods[self.rows]

    @property
    def pod_count(self) -> NDArray[np.int64]:
        return self.table.pod_count[self.rows]

    @property
    def unschedulable(self) -> NDArray[np.bool_]:
        return self.table.unschedulable[self.rows]

    @property
    def taint_set(self) -> NDArray[np.int32]:
        return self.table.taint_set[self.rows]

    def label(self, key: str) -> NDArray[np.int32]:
        """Value ids of a label; `table.label(key).values` maps them to values."""
        return self.table.label(key).ids[self.rows]

    def resource(self, name: str) -> int | None:
        """The index of a resource, or None if no node or pod has ever named it."""
        index = self.table.resources.find(name)
        return index if index is not None and index < len(self.table.allocatable) else None


def fullest(table: NodeTable, rows: Rows) -> NDArray[np.float64]:
    """The share in use of each node's most used resource.  float64 (node)."""
    amounts = table.allocatable[:, rows], table.requested[:, rows]
    if len(amounts[0]) > len(table.used_share):
        shares = _as_floats(*amounts).share
    else:
        shares = table.used_share[:, rows]
    found: NDArray[np.float64] = np.where(amounts[0] > 0, shares, 0.0).max(axis=0)
    return found


def _as_floats(allocatable: NDArray[np.int64], requested: NDArray[np.int64]) -> FloatColumns:
    """As the table keeps them for the first resources."""
    offered = np.maximum(allocatable, 1).astype(np.float64)
    used = requested.astype(np.float64)
    return FloatColumns(offered, used, np.minimum(used / offered, 1.0), used)
