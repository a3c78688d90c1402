"""What nodes really use, as someone measured it.

Nothing here fetches; `moorage.feeds` does. A measurement arrives in one of two ways, and the newer
one counts:

- in annotations of the node: `metrics.moorage.io/cpu` and `metrics.moorage.io/memory`, as
  quantities, and `metrics.moorage.io/measured-at`, in RFC 3339 or in seconds since the epoch;
- through the store of a profile, to which feeds write what metrics.k8s.io or Prometheus says:

      metrics.store(profile.shared).record("node-1", Usage(cpu=1500, memory=2**30, at=now))
"""

import datetime
import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api import quantity
from moorage.api.node import Node
from moorage.api.quantity import QuantityError
from moorage.cache.table import NodeTable
from moorage.policies import node_columns
from moorage.policies.measurements import Measurements

STORE: Final = "metrics"
CPU_ANNOTATION: Final = "metrics.moorage.io/cpu"
MEMORY_ANNOTATION: Final = "metrics.moorage.io/memory"
TIME_ANNOTATION: Final = "metrics.moorage.io/measured-at"

Floats = NDArray[np.float64]


class Usage(NamedTuple):
    """Millicores and bytes in use, NaN where not measured, and when: seconds since the epoch."""

    cpu: float = math.nan
    memory: float = math.nan
    at: float = math.nan


class Columns(NamedTuple):
    """The last measurement of each node.  float64 (row), NaN where there is none

    `at` is NaN, too, where a measurement has no time.
    """

    cpu: Floats
    memory: Floats
    at: Floats


def store(shared: dict[str, Any]) -> Measurements[Usage]:
    """The store of a profile, made when it is first asked for."""
    found: Measurements[Usage] = shared.setdefault(STORE, Measurements(Usage()))
    return found


def columns(table: NodeTable, shared: dict[str, Any]) -> Columns:
    """The newer of what nodes say and what the store has."""
    said = Columns(
        node_columns.column(table, CPU_ANNOTATION, _cpu),
        node_columns.column(table, MEMORY_ANNOTATION, _memory),
        node_columns.column(table, TIME_ANNOTATION, _time),
    )
    if STORE not in shared:
        return said
    stored = Columns(*store(shared).columns(table))
    silent = np.isnan(said.cpu) & np.isnan(said.memory)
    newer = silent | (stored.at >= said.at)
    return Columns(*(np.where(newer, new, old) for new, old in zip(stored, said, strict=True)))


def _cpu(node: Node) -> float:
    text = node.annotations.get(CPU_ANNOTATION)
    return math.nan if text is None else _quantity(text, quantity.milli_value)


def _memory(node: Node) -> float:
    text = node.annotations.get(MEMORY_ANNOTATION)
    return math.nan if text is None else _quantity(text, quantity.value)


def _quantity(text: str, read: Any) -> float:
    try:
        return float(read(text))
    except QuantityError:
        return math.nan


def _time(node: Node) -> float:
    text = node.annotations.get(TIME_ANNOTATION)
    seconds = node_columns.number(text)
    if text is None or not math.isnan(seconds):
        return seconds
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return math.nan
