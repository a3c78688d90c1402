"""Facts and usage of each node, as columns with one entry per row of the node table.

Nothing here runs unless somebody looks: `steps` follows the table's log. Each change of a row gets
its own revision, so one number tells what a viewer has missed.
"""

import sys
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.cache.cache import Cache
from moorage.cache.follower import Follower
from moorage.cache.node_view import fullest
from moorage.cache.podinfo import CPU, MEMORY
from moorage.cache.table import NodeTable
from moorage.dashboard.gpu_devices import device_use
from moorage.dashboard.node_facts import NO_NODE, NodeFacts, facts_of
from moorage.dashboard.node_measures import NO_MEASURES, NodeMeasures
from moorage.policies.gpu.devices.node_devices import NodeDevices, read_devices

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
CHUNK: Final = 32
MOST_LABEL_VALUES: Final = 100
"""A label with more values than this is not offered for grouping."""
MEASURES: Final = (
    "pods",
    "allocation",
    "cpu",
    "memory",
    "gpu",
    "gpu_fragmentation",
    "usage",
    "price",
)
MEASURED_EVERY: Final = 8
"""Measurements are read again after this many looks."""
_NO_DEVICES: Final = NodeDevices()
UNKNOWN: Final = float("nan")
"""Written as null in JSON."""


class ClusterColumns:
    """Columns by row of the table; `order` are the rows that hold nodes.

    `revision` is that of the last change of any row. `layout` is incremented when nodes come, go,
    or move to another zone or pool; viewers that were sent rows by position then start again.
    """

    def __init__(self, cache: Cache, measured: NodeMeasures = NO_MEASURES) -> None:
        self._cache = cache
        self._measured = measured
        self._looks = 0
        self._devices: list[NodeDevices] = []
        self._log: Follower[int] = Follower()
        self._stale: OrderedDict[int, None] = OrderedDict()
        """Rows to read again, in the order in which they changed."""
        self._nodes: list[Node | None] = []
        self.facts: list[NodeFacts] = []
        self.tenants: list[str] = []
        self.measures: dict[str, Floats] = {name: np.zeros(0) for name in MEASURES}
        self.revisions: Rows = np.zeros(0, dtype=np.int64)
        self.revision = 0
        self.layout = 0
        self._order: Rows | None = None
        self.label_values: dict[str, set[str]] = {}

    def steps(self, most: int = sys.maxsize) -> Iterator[int]:
        """Read at most `most` changed rows again, in chunks; yields the length of each chunk."""
        self._look()
        while self._stale and most > 0:
            number = min(CHUNK, most, len(self._stale))
            rows = [self._stale.popitem(last=False)[0] for _ in range(number)]
            self._take(np.array(rows, dtype=np.int64))
            most -= number
            yield number
        if self._looks % MEASURED_EVERY == 0:
            yield from self._measure()
        self._looks += 1

    def _measure(self) -> Iterator[int]:
        """Read what no log reports: measurements of feeds, and prices."""
        table, rows = self._cache.table, np.arange(len(self.facts))
        for _ in self._measured.read(table):
            yield 0
        for name, ask in (("usage", self._measured.usage), ("price", self._measured.prices)):
            self._put(rows, {name: ask(table)[rows]})
            yield len(rows)

    @property
    def order(self) -> Rows:
        """The rows that hold nodes."""
        if self._order is None:
            alive = (row for row, each in enumerate(self.facts) if each is not NO_NODE)
            self._order = np.fromiter(alive, dtype=np.int64)
        return self._order

    def changed_since(self, revision: int, most: int) -> tuple[Rows, int, bool]:
        """At most `most` rows changed after a revision, oldest first; the last revision; if all."""
        rows = np.flatnonzero(self.revisions > revision)
        if len(rows) <= most:
            return rows, self.revision, True
        taken = rows[np.argsort(self.revisions[rows])[:most]]
        return taken, int(self.revisions[taken[-1]]), False

    def labels(self) -> list[str]:
        """The label keys that nodes can be grouped by."""
        known = self.label_values.items()
        return sorted(key for key, values in known if 0 < len(values) <= MOST_LABEL_VALUES)

    def _look(self) -> None:
        table = self._cache.table
        self._grow(table)
        self._log.apply(
            table.usage_log, lambda: range(table.rows), lambda row: self._stale.update({row: None})
        )

    def _grow(self, table: NodeTable) -> None:
        lacking = table.rows - len(self.facts)
        if lacking <= 0:
            return
        self._nodes += [None] * lacking
        self._devices += [_NO_DEVICES] * lacking
        self.facts += [NO_NODE] * lacking
        self.tenants += [""] * lacking
        for name, column in self.measures.items():
            self.measures[name] = np.concatenate((column, np.full(lacking, UNKNOWN)))
        self.revisions = np.concatenate((self.revisions, np.zeros(lacking, dtype=np.int64)))

    def _take(self, rows: Rows) -> None:
        seen = [self._take_node(row) | self._take_tenant(row) for row in rows.tolist()]
        self._put(rows, self._usage(rows), np.array(seen, dtype=bool))

    def _put(
        self,
        rows: Rows,
        columns: dict[str, Floats],
        seen: NDArray[np.bool_] | None = None,
    ) -> None:
        """Write values. Rows with a new value, or marked in `seen`, get a revision."""
        changed = np.zeros(len(rows), dtype=bool) if seen is None else seen
        for name, values in columns.items():
            column = self.measures[name]
            before = column[rows]
            changed |= (before != values) & ~(np.isnan(before) & np.isnan(values))
            column[rows] = values
        new = rows[changed]
        self.revisions[new] = self.revision + 1 + np.arange(len(new))
        self.revision += len(new)

    def _take_node(self, row: int) -> bool:
        node = self._cache.table.nodes[row]
        if node is self._nodes[row]:
            return False
        self._nodes[row] = node
        self._devices[row] = _NO_DEVICES if node is None else read_devices(node)
        before, after = self.facts[row], NO_NODE if node is None else facts_of(node)
        if before == after:
            return False
        self.facts[row] = after
        if before[:3] != after[:3]:
            self.layout += 1
            self._order = None
        if node is not None:
            self._note_labels(node)
        return True

    def _note_labels(self, node: Node) -> None:
        for key, value in node.labels.items():
            values = self.label_values.setdefault(key, set())
            if len(values) <= MOST_LABEL_VALUES:
                values.add(value)

    def _take_tenant(self, row: int) -> bool:
        """Store the namespace whose pods request the most CPU of a node; whether it changed."""
        asked: dict[str, int] = {}
        for info in self._cache.table.pods[row].values():
            namespace = info.cls.namespace
            asked[namespace] = asked.get(namespace, 0) + info.nonzero[CPU]
        tenant = max(asked, key=asked.__getitem__, default="")
        changed = tenant != self.tenants[row]
        self.tenants[row] = tenant
        return changed

    def _usage(self, rows: Rows) -> dict[str, Floats]:
        table = self._cache.table
        shares = table.used_share[:, rows]
        return {
            "pods": table.pod_count[rows].astype(np.float64),
            "allocation": fullest(table, rows).round(3),
            "cpu": shares[CPU].round(3),
            "memory": shares[MEMORY].round(3),
            **self._gpus(rows),
        }

    def _gpus(self, rows: Rows) -> dict[str, Floats]:
        share, fragmentation = np.full(len(rows), UNKNOWN), np.full(len(rows), UNKNOWN)
        for place, row in enumerate(rows.tolist()):
            if self._devices[row].number:
                pods = self._cache.table.pods[row].values()
                used = device_use(self._devices[row], self.facts[row].name, pods)
                share[place], fragmentation[place] = used.share, used.fragmentation
        return {"gpu": share, "gpu_fragmentation": fragmentation}
