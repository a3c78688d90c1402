"""Counts of pods per node and per topology domain, updated pod by pod."""

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from moorage.cache.node_view import Nodes
from moorage.cache.topology_domains import NO_DOMAIN, Domains

NO_LEAST: Final = (1 << 31) - 1
"""The least sum if there is no domain: kube-scheduler's math.MaxInt32."""


IntColumn = NDArray[np.signedinteger[Any]]


class TallySource(Protocol):
    """A set of pods that is added to a tally."""

    def leave(self, tally: "Tally") -> None: ...


class Tally:
    """One number per row, and its sums over domains.  count: int32 or int64 (row)."""

    __slots__ = ("_over", "count", "sources")

    def __init__(self, capacity: int, wide: bool = False) -> None:
        self.count: IntColumn = np.zeros(capacity, dtype=np.int64 if wide else np.int32)
        self.sources: set[TallySource] = set()
        self._over: dict[Domains, DomainSums] = {}

    def add(self, row: int, amount: int) -> None:
        self.count[row] += amount
        for sums in self._over.values():
            sums.add(row, amount)

    def over(self, domains: Domains) -> "DomainSums":
        """The sums over these domains; they are kept up to date from the first call on."""
        sums = self._over.get(domains)
        if sums is None:
            sums = self._over[domains] = DomainSums(self, domains)
            domains.sums[sums] = None
        return sums

    def leave(self, domains: Domains) -> None:
        """Drop the sums over these domains."""
        sums = self._over.pop(domains, None)
        if sums is not None:
            del domains.sums[sums]

    def close(self) -> None:
        """Leave all sources, and drop all sums."""
        for source in list(self.sources):
            source.leave(self)
        for domains in list(self._over):
            self.leave(domains)

    def grow_rows(self, capacity: int) -> None:
        grown = np.zeros(capacity, dtype=self.count.dtype)
        grown[: len(self.count)] = self.count
        self.count = grown

    @property
    def nbytes(self) -> int:
        return self.count.nbytes + sum(sums.values.nbytes for sums in self._over.values())


class DomainSums:
    """A tally summed over domains, with the least and the greatest sum.

    values: dtype of the tally's count (domain). Entry 0 is for rows in no domain, and stays 0.
    """

    __slots__ = ("_at_least", "_known", "_least", "_most", "domains", "tally", "values")

    def __init__(self, tally: Tally, domains: Domains) -> None:
        self.tally = tally
        self.domains = domains
        self.rebuild()

    def rebuild(self) -> None:
        rows = self.domains.table.rows
        of_row, count = self.domains.of_row[:rows], self.tally.count[:rows]
        summed = np.bincount(of_row, weights=count, minlength=self.domains.width)
        self.values: IntColumn = summed.astype(count.dtype)
        self.values[NO_DOMAIN] = 0
        self._known = False

    def widen(self, width: int) -> None:
        grown = np.zeros(width, dtype=self.values.dtype)
        grown[: len(self.values)] = self.values
        self.values = grown

    def add(self, row: int, amount: int) -> None:
        domain = self.domains.of_row.item(row)
        if domain == NO_DOMAIN:
            return
        old = self.values.item(domain)
        new = old + amount
        self.values[domain] = new
        if self._known:
            self._follow(old, new)

    def move(self, row: int, old: int, new: int) -> None:
        """Move a row's count from one domain to another."""
        amount = self.tally.count.item(row)
        self.values[old] -= amount
        self.values[new] += amount
        self.values[NO_DOMAIN] = 0
        self._known = False

    def close(self) -> None:
        """Drop these sums from the tally."""
        self.tally.leave(self.domains)

    @property
    def least(self) -> int:
        """The smallest sum of a domain that has nodes."""
        if not self._known:
            self._measure()
        return self._least

    @property
    def most(self) -> int:
        """The greatest sum of a domain that has nodes; 0 if there is none."""
        if not self._known:
            self._measure()
        return self._most

    def occupied(self, nodes: Nodes) -> NDArray[np.bool_]:
        """bool (node): the sum of the node's domain is above 0."""
        if self.domains.every_node_alone:
            return self.tally.count[nodes.rows] > 0
        return (self.values > 0)[self.domains.of_row[nodes.rows]]

    def _measure(self) -> None:
        found = self.values[self.domains.members > 0]
        self._known = True
        if not len(found):
            self._least, self._at_least, self._most = NO_LEAST, 0, 0
            return
        self._least, self._most = int(found.min()), int(found.max())
        self._at_least = int(np.count_nonzero(found == self._least))

    def _follow(self, old: int, new: int) -> None:
        """Update least and most for a sum that went from old to new, or mark them as unknown."""
        if new > self._most:
            self._most = new
        elif old == self._most:
            self._known = False
            return
        if new < self._least:
            self._least, self._at_least = new, 1
        elif old == self._least:
            self._at_least -= 1
            self._known = self._at_least > 0
        elif new == self._least:
            self._at_least += 1
