"""The last measurement of each node: cpu and memory in use, temperature and power."""

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.api import quantity
from moorage.api.node import Node
from moorage.api.quantity import QuantityError
from moorage.cache.follower import Follower, RowLog
from moorage.cache.table import NodeTable
from moorage.policies import label_values

M = TypeVar("M", bound=tuple[float, ...])

Matrix = NDArray[np.float64]


class Measurements(Generic[M]):
    """The last measurement of each node, by name; a log tells which nodes have a new one.

    `unknown` is the value of a node that was never measured.
    """

    def __init__(self, unknown: M) -> None:
        self._unknown = unknown
        self._known: dict[str, M] = {}
        self._log: RowLog[str] = RowLog()
        self._columns: Matrix = self._empty(0)
        self._measured: Follower[str] = Follower()
        self._nodes: Follower[int] = Follower()

    def record(self, node: str, measured: M) -> None:
        """Record a measurement."""
        self._known[node] = measured
        self._log.append(node)

    def forget(self, node: str) -> None:
        """Drop a node's measurement."""
        if self._known.pop(node, None) is not None:
            self._log.append(node)

    @property
    def version(self) -> int:
        """Increases with every measurement."""
        return self._log.version

    @property
    def known(self) -> Mapping[str, M]:
        """The last measurement of each node, by name."""
        return self._known

    def columns(self, table: NodeTable) -> Matrix:
        """The measurements by row, brought up to date.  float64 (quantity, row)"""
        capacity = len(table.alive)
        if self._columns.shape[1] != capacity:
            self._nodes.forget()

        def afresh() -> range:
            self._columns = self._empty(capacity)
            return range(table.rows)

        def put(row: int) -> None:
            self._columns[:, row] = self._of(table, row)

        def put_node(name: str) -> None:
            if name in table.row_of:
                put(table.row_of[name])

        self._nodes.apply(table.node_log, afresh, put)
        self._measured.apply(self._log, lambda: tuple(self._known), put_node)
        return self._columns

    def _of(self, table: NodeTable, row: int) -> M:
        node = table.nodes[row]
        return self._unknown if node is None else self._known.get(node.name, self._unknown)

    def _empty(self, rows: int) -> Matrix:
        return np.full((len(self._unknown), rows), np.nan)


ENERGY_STORE: Final = "energies"


class Energy(NamedTuple):
    """Degrees Celsius and watts, NaN where not measured, and when: seconds since the epoch."""

    celsius: float = math.nan
    watts: float = math.nan
    at: float = math.nan


def energy_store(shared: dict[str, Any]) -> Measurements[Energy]:
    """The store of a profile, created on first use."""
    found: Measurements[Energy] = shared.setdefault(ENERGY_STORE, Measurements(Energy()))
    return found


USAGE_STORE: Final = "metrics"
CPU_ANNOTATION: Final = "metrics.moorage.io/cpu"
MEMORY_ANNOTATION: Final = "metrics.moorage.io/memory"
TIME_ANNOTATION: Final = "metrics.moorage.io/measured-at"

Floats = NDArray[np.float64]


class Usage(NamedTuple):
    """Millicores and bytes in use, NaN where not measured, and when: seconds since the epoch."""

    cpu: float = math.nan
    memory: float = math.nan
    at: float = math.nan


class UsageColumns(NamedTuple):
    """The last measurement of each node.  float64 (row), NaN where there is none

    `at` is also NaN for a measurement without a time.
    """

    cpu: Floats
    memory: Floats
    at: Floats


def usage_store(shared: dict[str, Any]) -> Measurements[Usage]:
    """The store of a profile, created on first use."""
    found: Measurements[Usage] = shared.setdefault(USAGE_STORE, Measurements(Usage()))
    return found


def usage_columns(table: NodeTable, shared: dict[str, Any]) -> UsageColumns:
    """The newer of each node's annotations and the store's measurement."""
    said = UsageColumns(*annotated_columns(table))
    if USAGE_STORE not in shared:
        return said
    stored = UsageColumns(*usage_store(shared).columns(table))
    silent = np.isnan(said.cpu) & np.isnan(said.memory)
    newer = silent | (stored.at >= said.at)
    return UsageColumns(*(np.where(newer, new, old) for new, old in zip(stored, said, strict=True)))


def annotated_columns(table: NodeTable) -> Iterator[NDArray[np.float64]]:
    """CPU, memory and time by the nodes' annotations; the first call for each is slow."""
    yield label_values.node_column(table, CPU_ANNOTATION, _annotated_cpu)
    yield label_values.node_column(table, MEMORY_ANNOTATION, _annotated_memory)
    yield label_values.node_column(table, TIME_ANNOTATION, _annotated_time)


def _annotated_cpu(node: Node) -> float:
    text = node.annotations.get(CPU_ANNOTATION)
    return math.nan if text is None else _quantity_or_nan(text, quantity.milli_value)


def _annotated_memory(node: Node) -> float:
    text = node.annotations.get(MEMORY_ANNOTATION)
    return math.nan if text is None else _quantity_or_nan(text, quantity.value)


def _quantity_or_nan(text: str, read: Any) -> float:
    try:
        return float(read(text))
    except QuantityError:
        return math.nan


def _annotated_time(node: Node) -> float:
    text = node.annotations.get(TIME_ANNOTATION)
    seconds = label_values.parse_number(text)
    if text is None or not math.isnan(seconds):
        return seconds
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return math.nan
