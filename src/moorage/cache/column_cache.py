"""Results of vector plugins kept between attempts; only the rows that changed are recomputed.

1. A vector plugin declares what it reads of the pod and the cluster (`sign`) and of the node
   (`depends`). Its output for one sign is a column over all rows.
2. The next pod with that sign gets the same column, after the rows that changed in between were
   recomputed.
3. A sign gets a column of its own when it is seen for the second time. The first time it is
   computed in a scratch column, so that pods which all differ cost no memory.
"""

import enum
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes
from moorage.cache.table import NodeTable


class Depends(enum.Flag):
    """What a vector plugin reads of a node, so that the engine knows which rows to recompute."""

    NODE = enum.auto()
    USAGE = enum.auto()
    EVERYTHING = enum.auto()


Compute = Callable[[Any, Any, Nodes, NDArray[Any]], None]
"""(cycle, pod, nodes, out): a plugin's vector hook."""

_BUDGET_BYTES = 96 * 1024 * 1024
_COLUMNS_KEPT = 8_192
"""The most columns: with few nodes a sign takes more memory than its column."""
_KEPT_SHARE = 0.75
"""The share of either limit to keep when it is exceeded, so that it is not exceeded again soon."""
_SEEN_ONCE_KEPT = 8_192
_FULL_PASS_SHARE = 4
"""If more than one row in this many changed, a pass over all rows is cheaper."""


class Rule(NamedTuple):
    """How to compute columns: a unique name, the dtype, the log to follow, and the vector hook.

    `by_usage` selects `usage_log`, else `node_log`.
    """

    name: str
    dtype: type[np.generic]
    by_usage: bool
    compute: Compute


class Column:
    """One computed column, which follows the log of what its rule reads.

    `is_zero`: every row holds 0; never set for the scratch column of scores. `is_uniform`: every
    row held the same value in the last full pass, and no row has got another one since.
    """

    __slots__ = ("follower", "is_uniform", "is_zero", "used", "values")

    def __init__(self, rows: int, dtype: type[np.generic]) -> None:
        self.values: NDArray[Any] = np.zeros(rows, dtype=dtype)
        self.follower: Follower[int] = Follower()
        self.is_uniform = False
        self.is_zero = False
        self.used = 0
        """The number of the `get` call that last returned it."""


class ColumnCache:
    """Columns by rule and signature, the least recently used dropped first."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, Hashable], Column] = {}
        self._scratch: dict[str, Column] = {}
        self._seen: OrderedDict[tuple[str, Hashable], None] = OrderedDict()
        self._bytes = 0
        self._asked = 0
        self._table: NodeTable | None = None
        self.rows_recomputed = 0
        """The number of rows computed so far; tests use it as the measure of work."""

    def get(self, rule: Rule, sign: Hashable, table: NodeTable, cycle: Any, pod: Any) -> Column:
        """The column of a sign, brought up to date with the table.

        It is valid until the next call. Callers must not write to it.
        """
        if table is not self._table:
            self.clear()
            self._table = table
        key = (rule.name, sign)
        column = self._columns.get(key)
        log = table.usage_log if rule.by_usage else table.node_log
        if column is None or len(column.values) != table.rows:
            if column is None and not self._seen_before(key):
                return self._once(rule, table, cycle, pod)
            column = self._start(key, table.rows, rule.dtype)
        self._asked = column.used = self._asked + 1
        if column.follower.version != log.version:
            column.follower.read(
                log, lambda changed: self._refresh(rule, column, changed, table, cycle, pod)
            )
        return column

    def clear(self) -> None:
        """Forget everything, as after a change of configuration."""
        self._columns.clear()
        self._scratch.clear()
        self._seen.clear()
        self._bytes = 0

    def _seen_before(self, key: tuple[str, Hashable]) -> bool:
        if key in self._seen:
            del self._seen[key]
            return True
        self._seen[key] = None
        if len(self._seen) > _SEEN_ONCE_KEPT:
            self._seen.popitem(last=False)
        return False

    def _once(self, rule: Rule, table: NodeTable, cycle: Any, pod: Any) -> Column:
        column = self._scratch.get(rule.name)
        if column is None or len(column.values) != table.rows:
            column = self._scratch[rule.name] = Column(table.rows, rule.dtype)
        self._compute_all(rule, column, table, cycle, pod)
        column.is_zero = rule.dtype is np.int32 and not column.values.any()
        return column

    def _start(self, key: tuple[str, Hashable], rows: int, dtype: type[np.generic]) -> Column:
        old = self._columns.pop(key, None)
        if old is not None:
            self._bytes -= old.values.nbytes
        column = self._columns[key] = Column(rows, dtype)
        self._bytes += column.values.nbytes
        if self._bytes > _BUDGET_BYTES or len(self._columns) > _COLUMNS_KEPT:
            column.used = self._asked + 1
            self._drop_least_used()
        return column

    def _drop_least_used(self) -> None:
        by_use = sorted(self._columns, key=lambda key: self._columns[key].used)
        most = _COLUMNS_KEPT * _KEPT_SHARE
        for key in by_use[:-1]:
            if self._bytes <= _BUDGET_BYTES * _KEPT_SHARE and len(self._columns) <= most:
                break
            self._bytes -= self._columns.pop(key).values.nbytes

    def _refresh(
        self,
        rule: Rule,
        column: Column,
        changed: Sequence[int] | None,
        table: NodeTable,
        cycle: Any,
        pod: Any,
    ) -> None:
        """Compute the rows that changed; if the rule raises, all rows are computed next time."""
        if changed is None or len(changed) * _FULL_PASS_SHARE > table.rows:
            self._compute_all(rule, column, table, cycle, pod)
            values = column.values
            column.is_zero = not values.any()
            column.is_uniform = len(values) > 0 and bool((values == values[0]).all())
        else:
            self._compute_some(rule, column, changed, table, cycle, pod)

    def _compute_all(
        self, rule: Rule, column: Column, table: NodeTable, cycle: Any, pod: Any
    ) -> None:
        values = column.values
        values.fill(0)
        rule.compute(cycle, pod, Nodes.all(table), values)
        self.rows_recomputed += table.rows

    def _compute_some(
        self,
        rule: Rule,
        column: Column,
        changed: Sequence[int],
        table: NodeTable,
        cycle: Any,
        pod: Any,
    ) -> None:
        rows = changed if len(changed) == 1 else sorted(set(changed))
        part = np.zeros(len(rows), dtype=column.values.dtype)
        nodes = Nodes.some(table, rows)
        rule.compute(cycle, pod, nodes, part)
        if column.is_uniform and (part != column.values[0]).any():
            column.is_uniform = len(column.values) == len(rows) == 1
        if column.is_zero:
            column.is_zero = not part.any()
        column.values[nodes.rows] = part
        self.rows_recomputed += len(rows)
