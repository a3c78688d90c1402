"""Rows that other pods are nominated to, filtered with those pods counted.

NodeResourcesFit reads a node's usage, and NodePorts the host ports in use, from the view that is
passed in. Given a view with other sums or ports, the plugin itself answers as if pods had come or
gone. That covers many rows at once and needs no trial, and no rule is written twice.
"""

from collections import defaultdict
from collections.abc import Container
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api import int64
from moorage.cache.cache import Cache
from moorage.cache.column_cache import Depends
from moorage.cache.host_ports import JoinedPorts, PortIndex, UsedPorts
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import HostPort, PodInfo
from moorage.cache.table import NodeTable
from moorage.framework.cycle import Cycle
from moorage.framework.points import Filter, is_vector

Amounts = NDArray[np.int64]
Rows = NDArray[np.intp]
Codes = NDArray[np.int32]
Asked = tuple[tuple[tuple[int, int], ...], tuple[HostPort, ...]]
"""What a pod asks for: (resource index, amount) pairs, and host ports."""

KEY: Final = "promised rows"
"""Key in `Cycle.state` of what other pods were promised."""


class Usage(NamedTuple):
    """Numbers of pods and sums of their requests.  `pods` (row), `requested` (resource, row)."""

    pods: Amounts
    requested: Amounts

    @classmethod
    def none(cls, table: NodeTable) -> "Usage":
        """No usage on any row."""
        height, capacity = table.requested.shape
        rows = np.zeros(capacity, dtype=np.int64)
        return cls(rows, np.zeros((height, capacity), dtype=np.int64))

    def add(self, row: int, info: PodInfo, sign: int = 1) -> None:
        """Count one pod on a row, in place."""
        self.pods[row] += sign
        for resource, amount in info.requests:
            total = self.requested.item(resource, row) + sign * amount
            self.requested[resource, row] = int64.wrap(total)

    def at(self, rows: NDArray[np.intp]) -> "Usage":
        return Usage(self.pods[rows], self.requested[:, rows])

    def plus(self, other: "Usage") -> "Usage":
        return Usage(self.pods + other.pods, self.requested + other.requested)

    def minus(self, other: "Usage") -> "Usage":
        return Usage(self.pods - other.pods, self.requested - other.requested)


_READS_THE_NODE = frozenset(
    {
        "NodeAffinity",
        "NodeDeclaredFeatures",
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "VolumeZone",
    }
)
_READS_SUMS = "NodeResourcesFit"
_READS_PORTS = "NodePorts"


class Promised(NamedTuple):
    """The usage and the host ports of nominated pods, by row."""

    usage: Usage
    ports: PortIndex


class Imagined(Nodes):
    """A view of some rows with other sums than the table's, and with additional ports in use."""

    __slots__ = ("_ports", "_usage")

    def __init__(
        self, table: NodeTable, rows: Rows, usage: Usage, ports: PortIndex | None = None
    ) -> None:
        super().__init__(table, rows)
        self._usage = usage
        self._ports = ports

    @property
    def ports(self) -> UsedPorts:
        used = self.table.ports
        return used if self._ports is None else JoinedPorts(used, self._ports)

    @property
    def requested(self) -> Amounts:
        return self._usage.requested

    @property
    def free(self) -> Amounts:
        return self.allocatable - self._usage.requested

    @property
    def pod_count(self) -> Amounts:
        return self._usage.pods


def reads_the_node(plugin: Filter) -> bool:
    """Whether the plugin reads only the node: the pods on it make no difference."""
    known = plugin.plugin_name() in _READS_THE_NODE and plugin.depends is Depends.NODE
    return known and is_vector(plugin, "filter_all")


def reads_sums(plugin: Filter) -> bool:
    """Whether the plugin reads, of the pods on a node, only their number and their requests."""
    known = plugin.plugin_name() == _READS_SUMS and plugin.depends is Depends.USAGE
    return known and is_vector(plugin, "filter_all")


def reads_ports(plugin: Filter) -> bool:
    """Whether the plugin reads, of the pods on a node, only their host ports."""
    known = plugin.plugin_name() == _READS_PORTS and plugin.depends is Depends.USAGE
    return known and is_vector(plugin, "filter_all")


def promised(cycle: Cycle) -> Usage | None:
    """The usage, on each row, of nominated pods that the pod must yield to; None if there are none.

    The pod yields to pods of the same or higher priority that are not yet placed.
    """
    found = promised_to_others(cycle)
    return None if found is None else found.usage


def promised_to_others(cycle: Cycle) -> Promised | None:
    """The same, with their host ports.

    Callers must not write to it: it is kept in the cycle's state until the nominations or the
    table change.
    """
    cache, table = cycle.cache, cycle.table
    if not len(cache.nominations):
        return None
    now = cache.nominations.version, table.pod_log.version, table.node_log.version
    kept: tuple[tuple[int, int, int], Promised | None] | None = cycle.state.get(KEY)
    if kept is None or kept[0] != now:
        incoming = cycle.incoming
        found = _promises(cache, incoming.priority, (incoming.uid,))
        kept = cycle.state[KEY] = (now, _count(table, found))
    return kept[1]


def promised_besides(cache: Cache, priority: int, own: Container[str]) -> Usage | None:
    """The usage of nominated pods other than `own` that a pod of that priority must yield to."""
    found = _count(cache.table, _promises(cache, priority, own)) if cache.nominations else None
    return None if found is None else found.usage


def _promises(cache: Cache, priority: int, own: Container[str]) -> dict[Asked, list[int]]:
    """The rows of the nominated pods to yield to, grouped by what the pods ask for."""
    row_of = cache.table.row_of
    found: dict[Asked, list[int]] = defaultdict(list)
    for name, pods in cache.nominations.by_node():
        row = row_of.get(name)
        if row is not None:
            for uid, info in pods.items():
                if info.priority >= priority and uid not in own and cache.node_of(uid) is None:
                    found[info.requests, info.cls.ports].append(row)
    return found


def _count(table: NodeTable, promises: dict[Asked, list[int]]) -> Promised | None:
    if not promises:
        return None
    usage, used = Usage.none(table), PortIndex()
    for (requests, ports), rows in promises.items():
        where = np.asarray(rows, dtype=np.intp)
        np.add.at(usage.pods, where, 1)
        for resource, amount in requests:
            np.add.at(usage.requested[resource], where, amount)
        for row in rows if ports else ():
            used.count(row, ports, 1)
    return Promised(usage, used)


def codes(cycle: Cycle, plugin: Filter, rows: Rows, usage: Usage, others: Usage | None) -> Codes:
    """The codes of a plugin for rows with this usage: with nominated pods, else without.

    `rows` (n,) and `usage` (n) are in the same order; `others` covers the whole table.
    """
    alone = _ask(cycle, plugin, rows, usage)
    if others is None or reads_the_node(plugin):
        return alone
    crowded = _ask(cycle, plugin, rows, usage.plus(others.at(rows)))
    return np.where(crowded != 0, crowded, alone)


def crowded_codes(cycle: Cycle, plugin: Filter, rows: Rows, others: Promised) -> Codes:
    """The codes of a plugin for rows as the table has them, plus the nominated pods."""
    table = cycle.table
    in_use = Usage(table.pod_count[rows], table.requested[:, rows])
    return _ask(cycle, plugin, rows, in_use.plus(others.usage.at(rows)), others.ports)


def _ask(
    cycle: Cycle, plugin: Filter, rows: Rows, usage: Usage, ports: PortIndex | None = None
) -> Codes:
    """The codes of a plugin for these rows with this usage.

    A single row is passed in twice: for a view of one row a plugin may read the table itself, which
    does not have this usage.
    """
    if len(rows) == 1:
        twice = np.zeros(2, dtype=np.intp)
        return _ask(cycle, plugin, rows[twice], usage.at(twice), ports)[:1]
    out = np.zeros(len(rows), dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, Imagined(cycle.table, rows, usage, ports), out)
    return out
