"""Topology domains: for each topology key in use, the domain that each node belongs to.

A domain is a value of the key that some node has. Its id is small, and is reused once no node has
the value; id 0 stands for no domain: the node has no such label, or does not count for the rule.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moorage.cache.follower import Follower
from moorage.cache.node_view import Nodes
from moorage.cache.table import NodeTable

NO_DOMAIN = 0
_INITIAL_WIDTH = 8


class Eligible(Protocol):
    """Which nodes count for a plugin. It must be hashable: equal ones share their domains."""

    def mask(self, nodes: Nodes) -> NDArray[np.bool_]:
        """bool (node)"""
        ...


class SumsByDomain(Protocol):
    """Sums kept over domains, which are told when nodes move between domains."""

    def rebuild(self) -> None:
        """Sum up all rows anew."""
        ...

    def widen(self, width: int) -> None:
        """Make room for this many domains."""
        ...

    def move(self, row: int, old: int, new: int) -> None:
        """Called when a row's node went from one domain to another."""
        ...

    def close(self) -> None:
        """Called when the domains are dropped."""
        ...


class Domains:
    """The nodes that count for a plugin, by domain, and the sums kept over them.

    | column    | shape    | dtype | meaning                                 |
    |-----------|----------|-------|-----------------------------------------|
    | `of_row`  | (row)    | intp  | the row's domain, 0 = none              |
    | `members` | (domain) | int64 | how many rows are in it; none in 0      |
    """

    __slots__ = ("counted", "members", "of_row", "present", "sums", "table")

    def __init__(self, table: NodeTable, width: int) -> None:
        self.table = table
        self.of_row: NDArray[np.intp] = np.zeros(len(table.alive), dtype=np.intp)
        self.members: NDArray[np.int64] = np.zeros(width, dtype=np.int64)
        self.present = 0
        """How many domains have members."""
        self.counted = 0
        """How many rows are in a domain."""
        self.sums: dict[SumsByDomain, None] = {}

    @property
    def width(self) -> int:
        """The number of domain ids in use or free; every id is below it."""
        return len(self.members)

    @property
    def covers_all(self) -> bool:
        """Whether every node is in a domain."""
        return self.counted == len(self.table.row_of)

    @property
    def every_node_alone(self) -> bool:
        """Whether every node is in a domain of its own, as with hostnames."""
        return self.present == len(self.table.row_of)

    def refresh(self, rows: Sequence[int]) -> None:
        """Find the domains of rows whose node changed."""
        for row, domain in zip(rows, self._now(rows), strict=True):
            self._move(row, domain)

    def rebuild(self) -> None:
        """Find the domain of every row anew."""
        count = self.table.rows
        self.of_row.fill(NO_DOMAIN)
        self.of_row[:count] = self._all_now()
        self.members = np.bincount(self.of_row[:count], minlength=self.width)
        self.members[NO_DOMAIN] = 0
        self.present = int(np.count_nonzero(self.members))
        self.counted = int(self.members.sum())
        for sums in self.sums:
            sums.rebuild()

    def grow_rows(self, capacity: int) -> None:
        grown = np.zeros(capacity, dtype=np.intp)
        grown[: len(self.of_row)] = self.of_row
        self.of_row = grown

    def widen(self, width: int) -> None:
        grown = np.zeros(width, dtype=np.int64)
        grown[: len(self.members)] = self.members
        self.members = grown
        for sums in self.sums:
            sums.widen(width)

    def _now(self, rows: Sequence[int]) -> Iterable[int]:
        raise NotImplementedError

    def _all_now(self) -> NDArray[np.intp]:
        raise NotImplementedError

    def _vacated(self, domain: int) -> None:
        """Called when the last member has left a domain."""

    def _move(self, row: int, domain: int) -> None:
        old = self.of_row.item(row)
        if old == domain:
            return
        self.of_row[row] = domain
        for sums in self.sums:
            sums.move(row, old, domain)
        if domain != NO_DOMAIN:
            self.counted += 1
            self.members[domain] += 1
            self.present += self.members.item(domain) == 1
        if old != NO_DOMAIN:
            self.counted -= 1
            self.members[old] -= 1
            if self.members.item(old) == 0:
                self.present -= 1
                self._vacated(old)


class Topology(Domains):
    """Every node, by its value of one label key."""

    __slots__ = ("_domain_of", "_free", "_next", "_value_of", "key")

    def __init__(self, table: NodeTable, key: str) -> None:
        super().__init__(table, _INITIAL_WIDTH)
        self.key = key
        self._domain_of: dict[int, int] = {}
        self._value_of: dict[int, int] = {}
        self._free: list[int] = []
        self._next = NO_DOMAIN + 1
        self.rebuild()

    def domain_of(self, value: str) -> int:
        """The domain of a label value; 0 if no node has it."""
        known = self.table.label(self.key).values.find(value)
        return NO_DOMAIN if known is None else self._domain_of.get(known, NO_DOMAIN)

    def _now(self, rows: Sequence[int]) -> Iterator[int]:
        ids = self.table.label(self.key).ids
        for row in rows:
            value = ids.item(row)
            yield self._claim(value) if value else NO_DOMAIN

    def _claim(self, value: int) -> int:
        domain = self._domain_of.get(value)
        if domain is None:
            domain = self._free.pop() if self._free else self._fresh()
            self._domain_of[value] = domain
            self._value_of[domain] = value
        return domain

    def _fresh(self) -> int:
        domain, self._next = self._next, self._next + 1
        if domain == self.width:
            self.widen(2 * self.width)
        return domain

    def _all_now(self) -> NDArray[np.intp]:
        ids = self.table.label(self.key).ids[: self.table.rows]
        values, positions = np.unique(ids, return_inverse=True)
        offset = 0 if len(values) and values[0] == 0 else 1
        numbered = {int(value): index + offset for index, value in enumerate(values) if value}
        self._domain_of = numbered
        self._value_of = {domain: value for value, domain in numbered.items()}
        self._free = []
        self._next = len(numbered) + 1
        while self.width < self._next:
            self.widen(2 * self.width)
        return np.asarray(positions + offset, dtype=np.intp)

    def _vacated(self, domain: int) -> None:
        del self._domain_of[self._value_of.pop(domain)]
        self._free.append(domain)


class EligibleDomains(Domains):
    """The nodes of a topology that count for a plugin, under the topology's domain ids."""

    __slots__ = ("eligible", "topology")

    def __init__(self, topology: Topology, eligible: Eligible) -> None:
        super().__init__(topology.table, topology.width)
        self.topology = topology
        self.eligible = eligible
        self.rebuild()

    def _now(self, rows: Sequence[int]) -> Iterable[int]:
        self._keep_width()
        nodes = Nodes.some(self.table, list(rows))
        counted = np.where(self.eligible.mask(nodes), self.topology.of_row[nodes.rows], NO_DOMAIN)
        domains: list[int] = counted.tolist()
        return domains

    def _all_now(self) -> NDArray[np.intp]:
        self._keep_width()
        nodes = Nodes.all(self.table)
        return np.where(self.eligible.mask(nodes), self.topology.of_row[nodes.rows], NO_DOMAIN)

    def _keep_width(self) -> None:
        if self.width < self.topology.width:
            self.widen(self.topology.width)


_KEPT = 256
"""The most topologies and restrictions of them kept; the least recently used are dropped."""

_FULL_PASS_SHARE = 4
"""If more than one row in this many changed, a pass over all rows is cheaper."""


class TopologyIndex:
    """Topologies by key, and their restrictions to the nodes that count for plugins."""

    __slots__ = ("_known", "_nodes", "table")

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self._known: OrderedDict[tuple[str, Eligible | None], Domains] = OrderedDict()
        self._nodes = Follower(table.node_log)

    def topology(self, key: str) -> Topology:
        """Every node, by its value of a label key."""
        found = self._known.get((key, None))
        if found is None:
            found = self._keep((key, None), Topology(self.table, key))
        else:
            self._known.move_to_end((key, None))
        assert isinstance(found, Topology)
        return found

    def domains(self, key: str, eligible: Eligible | None) -> Domains:
        """The nodes that count for a plugin (None for all), by their value of a label key."""
        topology = self.topology(key)
        if eligible is None:
            return topology
        found = self._known.get((key, eligible))
        if found is None:
            return self._keep((key, eligible), EligibleDomains(topology, eligible))
        self._known.move_to_end((key, eligible))
        return found

    def catch_up(self) -> None:
        """Update the domains of the nodes that changed since the last call."""
        log = self.table.node_log
        if self._nodes.version != log.version:
            self._nodes.read(log, self._update)

    def _update(self, changed: Sequence[int] | None) -> None:
        rows = None if changed is None else sorted(set(changed))
        for domains in self._topologies_first():
            if rows is None or len(rows) * _FULL_PASS_SHARE > self.table.rows:
                domains.rebuild()
            else:
                domains.refresh(rows)

    def grow_rows(self, capacity: int) -> None:
        for domains in self._known.values():
            domains.grow_rows(capacity)

    def _topologies_first(self) -> list[Domains]:
        return sorted(self._known.values(), key=lambda each: not isinstance(each, Topology))

    def _keep(self, key: tuple[str, Eligible | None], domains: Domains) -> Domains:
        self._known[key] = domains
        if len(self._known) > _KEPT:
            self._drop(next(iter(self._known)))
        return domains

    def _drop(self, key: tuple[str, Eligible | None]) -> None:
        label, eligible = key
        alike = [key] if eligible is not None else [k for k in self._known if k[0] == label]
        for each in alike:
            for sums in list(self._known.pop(each).sums):
                sums.close()
