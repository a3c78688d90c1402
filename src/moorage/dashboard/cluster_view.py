"""All nodes as JSON, by columns: all rows at once, or the rows that changed."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.cache.cache import Cache
from moorage.cache.podinfo import CPU, MEMORY
from moorage.dashboard.cluster_columns import MEASURES, ClusterColumns
from moorage.dashboard.node_measures import NO_MEASURES, NodeMeasures
from moorage.dashboard.pod_verdicts import Verdicts
from moorage.dashboard.slices import Later, at_once, between_attempts, sliced

MOST_ROWS: Final = 400
"""Rows in one delta; the next delta has the rest."""
SNAPSHOT_ROWS: Final = 2000
"""A viewer with more missing rows than this is told to fetch everything again."""
AskVerdicts = Callable[[], Verdicts]
_ENCODE: Final = msgspec.json.Encoder().encode


class ClusterCursor(NamedTuple):
    """The state that a viewer has been sent."""

    layout: int
    revision: int


class ClusterView:
    """Answers requests for nodes."""

    def __init__(
        self, cache: Cache, later: Later = at_once, measured: NodeMeasures = NO_MEASURES
    ) -> None:
        self._cache = cache
        self._later = later
        self.columns = ClusterColumns(cache, measured)

    async def catch_up(self) -> None:
        """Read all rows that have changed since the last look."""
        await sliced(self._later, self.columns.steps())

    async def catch_up_some(self) -> None:
        """Read at most as many changed rows as one delta holds."""
        await sliced(self._later, self.columns.steps(MOST_ROWS))

    async def whole(self, label: str = "", ask: AskVerdicts | None = None) -> bytes:
        """Every node; with `ask`, also what each node's filters say of a pod."""
        await self.catch_up()
        head, taken = await between_attempts(self._later, lambda: self._read(label, ask))
        parts = []
        for name, values in taken.items():
            parts.append(_ENCODE(name) + b":" + _ENCODE(_listed(values)))
            await asyncio.sleep(0)
        return _ENCODE(head)[:-1] + b',"nodes":{' + b",".join(parts) + b"}}"

    def _read(self, label: str, ask: AskVerdicts | None) -> tuple[dict[str, Any], dict[str, Any]]:
        columns = self.columns
        taken = self._taken(columns.order, label)
        head = {
            "revision": columns.revision,
            "layout": columns.layout,
            "resources": list(self._cache.table.resources.values),
            "labels": columns.labels(),
        }
        if ask is not None:
            found = ask()
            head["verdicts"] = found.told
            taken["verdict"] = found.of_row[columns.order]
        return head, taken

    def cursor(self) -> ClusterCursor:
        """The state of a viewer that fetches everything now."""
        return ClusterCursor(self.columns.layout, self.columns.revision)

    def since(self, seen: ClusterCursor) -> tuple[dict[str, Any] | None, ClusterCursor]:
        """The changes since a viewer's state (None if there are none), and its new state."""
        columns = self.columns
        if seen.layout != columns.layout:
            return {"snapshot": True}, self.cursor()
        if seen.revision == columns.revision:
            return None, seen
        behind = int((columns.revisions > seen.revision).sum())
        if behind > SNAPSHOT_ROWS:
            return {"snapshot": True}, self.cursor()
        rows, revision, _ = columns.changed_since(seen.revision, MOST_ROWS)
        taken = {name: _listed(each) for name, each in self._changing(rows)}
        places = np.searchsorted(columns.order, rows).tolist()
        delta = {
            "since": seen.revision,
            "revision": revision,
            "layout": seen.layout,
            "rows": places,
            "columns": taken,
        }
        return delta, ClusterCursor(seen.layout, revision)

    def _taken(self, rows: NDArray[np.int64], label: str) -> dict[str, Any]:
        facts = [self.columns.facts[row] for row in rows.tolist()]
        found: dict[str, Any] = {
            "name": [each.name for each in facts],
            "zone": [each.zone for each in facts],
            "pool": [each.pool for each in facts],
            "cores": self._allocatable(CPU, rows, 1000),
            "gib": self._allocatable(MEMORY, rows, 1 << 30),
            **dict(self._changing(rows)),
        }
        if label:
            nodes = self._cache.table.nodes
            kept = (nodes[row] for row in rows.tolist())
            found["label"] = ["" if node is None else node.labels.get(label, "") for node in kept]
        return found

    def _allocatable(self, resource: int, rows: NDArray[np.int64], unit: int) -> Any:
        return (self._cache.table.allocatable[resource, rows] / unit).round(1)

    def _changing(self, rows: NDArray[np.int64]) -> Iterator[tuple[str, Any]]:
        columns, listed = self.columns, rows.tolist()
        yield "ready", [columns.facts[row].ready for row in listed]
        yield "tainted", [columns.facts[row].tainted for row in listed]
        yield "tenant", [columns.tenants[row] for row in listed]
        yield "pods", columns.measures["pods"][rows].astype(np.int64)
        for name in MEASURES[1:]:
            yield name, columns.measures[name][rows]


def _listed(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else values
