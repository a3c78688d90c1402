"""Network latency between zones and nodes: from the configured table, and as measured since.

A place is a value of the topology label (a zone) or a node. A latency that is known one way holds
for the way back too, unless that is known itself. What was measured goes before the table for as
long as it is fresh; feeds record it in the store of the profile:

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
"""Milliseconds by where from and where to."""


class LatencyStore:
    """Latencies as measured: the last one of each pair, with its time."""

    def __init__(self) -> None:
        self.version = 0
        self._measured: dict[tuple[str, str], tuple[float, float]] = {}

    def record(self, start: str, end: str, milliseconds: float, at: float) -> None:
        """Take note of a measurement."""
        self._measured[start, end] = (milliseconds, at)
        self.version += 1

    @property
    def measured(self) -> Mapping[tuple[str, str], tuple[float, float]]:
        """Milliseconds, and when they were measured, by where from and where to."""
        return self._measured

    def fresh(self, since: float) -> dict[tuple[str, str], float]:
        """What was measured since then."""
        return {pair: ms for pair, (ms, at) in self._measured.items() if at >= since}

    def oldest(self, since: float) -> float:
        """When the oldest of those was measured."""
        return min((at for _, at in self._measured.values() if at >= since), default=math.inf)


def latency_store(shared: dict[str, Any]) -> LatencyStore:
    """The store of a profile, made when it is first asked for."""
    found: LatencyStore = shared.setdefault(LATENCY_STORE, LatencyStore())
    return found


class NodePairs(NamedTuple):
    """Latencies between nodes that are known one by one.  rows: intp (pair), ms: float64 (pair)"""

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
    """The chart in force, drawn anew when nodes, measurements or their freshness change."""

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
