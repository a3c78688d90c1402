"""Network latency between zones and nodes: from the configured table, and as measured.

A place is a value of the topology label (a zone) or a node. A latency known in one direction holds
for the other too, unless that is known itself. A measurement takes precedence over the table while
it is fresh. Feeds record measurements in the store of the profile:

    latencies.store(profile.shared).record("zone-a", "zone-b", 3.2, at=clock.now())
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.table import NodeTable

LATENCY_STORE: Final = "latencies"

Floats = NDArray[np.float64]
LatencyTable = Mapping[str, Mapping[str, float]]
"""Milliseconds by start and end."""


class LatencyStore:
    """The last measured latency of each pair, with its time."""

    def __init__(self) -> None:
        self.version = 0
        self._measured: dict[tuple[str, str], tuple[float, float]] = {}

    def record(self, start: str, end: str, milliseconds: float, at: float) -> None:
        """Record a measurement."""
        self._measured[start, end] = (milliseconds, at)
        self.version += 1

    @property
    def measured(self) -> Mapping[tuple[str, str], tuple[float, float]]:
        """Milliseconds and the time of measurement, by start and end."""
        return self._measured

    def fresh(self, since: float) -> dict[tuple[str, str], float]:
        """The milliseconds that were measured since then."""
        return {pair: ms for pair, (ms, at) in self._measured.items() if at >= since}

    def oldest(self, since: float) -> float:
        """The time of the oldest measurement since then."""
        return min((at for _, at in self._measured.values() if at >= since), default=math.inf)


def latency_store(shared: dict[str, Any]) -> LatencyStore:
    """The store of a profile, created on first use."""
    found: LatencyStore = shared.setdefault(LATENCY_STORE, LatencyStore())
    return found


class NodePairs(NamedTuple):
    """Latencies between single pairs of nodes.  rows: intp (pair), ms: float64 (pair)"""

    start: NDArray[np.intp]
    end: NDArray[np.intp]
    milliseconds: Floats


class LatencyMatrix:
    """Latencies as arrays: `zones` (zone id, zone id), NaN where unknown, and `pairs` of nodes."""

    def __init__(
        self, known: Mapping[tuple[str, str], float], table: NodeTable, label: str
    ) -> None:
        values = table.label(label).values
        self.zones: Floats = np.full((len(values), len(values)), np.nan)
        starts, ends, found = [], [], []
        for (start, end), milliseconds in known.items():
            rows = table.row_of.get(start), table.row_of.get(end)
            ids = values.find(start), values.find(end)
            if rows[0] is not None and rows[1] is not None:
                starts.append(rows[0])
                ends.append(rows[1])
                found.append(milliseconds)
            elif ids[0] is not None and ids[1] is not None:
                self.zones[ids[0], ids[1]] = milliseconds
        self.is_known = bool(known)
        self.pairs = NodePairs(
            np.array(starts, dtype=np.intp), np.array(ends, dtype=np.intp), np.array(found)
        )


class LatencyMatrixCache:
    """The current matrix, rebuilt when nodes, measurements or their freshness change."""

    def __init__(self, table: LatencyTable, label: str, believed_seconds: float) -> None:
        self._known = dict(_pairs(table))
        self._label = label
        self._believed = believed_seconds
        self._drawn_for: tuple[object, ...] = ()
        self._until = -math.inf
        self._chart: LatencyMatrix | None = None

    def chart(self, nodes: NodeTable, measured: LatencyStore, now: float) -> LatencyMatrix:
        drawn_for = (nodes, nodes.node_log.version, measured, measured.version)
        if self._chart is None or self._drawn_for != drawn_for or now > self._until:
            since = now - self._believed
            known = {**self._known, **measured.fresh(since)}
            for (start, end), milliseconds in list(known.items()):
                known.setdefault((end, start), milliseconds)
            self._chart = LatencyMatrix(known, nodes, self._label)
            self._drawn_for = drawn_for
            self._until = measured.oldest(since) + self._believed
        return self._chart


def _pairs(table: LatencyTable) -> Iterator[tuple[tuple[str, str], float]]:
    for start, row in table.items():
        for end, milliseconds in row.items():
            yield (start, end), milliseconds
