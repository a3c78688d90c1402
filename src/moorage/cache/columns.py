"""Columns that outlive an attempt: computed once per signature, then kept fresh by the row logs.

A vector rule says what of the pod it reads (`sign`) and what of the node (`depends`). Its output
for one signature is a column over all rows. The next pod with that signature gets the same column
after the rows that changed in between were computed again; nothing else is.
"""

import enum
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.cache.table import NodeTable
from moorage.cache.view import Nodes


class Depends(enum.Flag):
    """What of a node a vector rule reads, so that the engine knows which rows to recompute."""

    NODE = enum.auto()
    USAGE = enum.auto()
    EVERYTHING = enum.auto()


Compute = Callable[[Nodes, NDArray[Any]], None]

_BUDGET_BYTES = 96 * 1024 * 1024
_FULL_PASS_SHARE = 4
"""Where more than one row in this many changed, a pass over all rows is cheaper."""


class Column:
    """One computed column and the version of the table it is true for."""

    __slots__ = ("node_version", "uniform", "usage_version", "values")

    def __init__(self, rows: int, dtype: type[np.generic]) -> None:
        self.values: NDArray[Any] = np.zeros(rows, dtype=dtype)
        self.node_version = -1
        self.usage_version = -1
        self.uniform = False
        """Every row holds the same value (told by the last full pass; a changed row ends it)."""


class ColumnCache:
    """Columns by (what computed it, signature), the least recently used dropped first."""

    def __init__(self) -> None:
        self._columns: OrderedDict[tuple[Any, Hashable], Column] = OrderedDict()
        self._bytes = 0
        self.rows_recomputed = 0
        """Rows computed so far: the measure of work that tests hold still."""

    def get(
        self,
        table: NodeTable,
        key: tuple[Any, Hashable],
        depends: Depends,
        dtype: type[np.generic],
        compute: Compute,
    ) -> Column:
        column = self._columns.get(key)
        if column is None or len(column.values) != table.rows:
            column = self._start(key, table.rows, dtype)
        else:
            self._columns.move_to_end(key)
        self._refresh(table, column, depends, compute)
        return column

    def clear(self) -> None:
        self._columns.clear()
        self._bytes = 0

    def _start(self, key: tuple[Any, Hashable], rows: int, dtype: type[np.generic]) -> Column:
        old = self._columns.pop(key, None)
        if old is not None:
            self._bytes -= old.values.nbytes
        column = self._columns[key] = Column(rows, dtype)
        self._bytes += column.values.nbytes
        while self._bytes > _BUDGET_BYTES and len(self._columns) > 1:
            _, dropped = self._columns.popitem(last=False)
            self._bytes -= dropped.values.nbytes
        return column

    def _refresh(
        self, table: NodeTable, column: Column, depends: Depends, compute: Compute
    ) -> None:
        if depends & Depends.USAGE:
            log, version = table.usage_log, column.usage_version
        else:
            log, version = table.node_log, column.node_version
        if version == log.version:
            return
        changed = log.since(version) if version >= 0 else None
        if changed is None or len(changed) * _FULL_PASS_SHARE > table.rows:
            self._compute_all(table, column, compute)
        else:
            self._compute_some(table, column, changed, compute)
        column.usage_version = table.usage_log.version
        column.node_version = table.node_log.version

    def _compute_all(self, table: NodeTable, column: Column, compute: Compute) -> None:
        values = column.values
        values.fill(0)
        compute(Nodes.all(table), values)
        self.rows_recomputed += table.rows
        column.uniform = len(values) > 0 and bool((values == values[0]).all())

    def _compute_some(
        self, table: NodeTable, column: Column, changed: list[int], compute: Compute
    ) -> None:
        rows = changed if len(changed) == 1 else sorted(set(changed))
        part = np.zeros(len(rows), dtype=column.values.dtype)
        nodes = Nodes.some(table, rows)
        compute(nodes, part)
        if column.uniform and len(column.values) > len(rows):
            anchor = column.values[0]
            column.uniform = bool((part == anchor).all())
        column.values[nodes.rows] = part
        self.rows_recomputed += len(rows)
