"""All topologies in use, kept true to the nodes."""

from collections import OrderedDict

from moorage.cache.table import NodeTable
from moorage.cache.topologies import Domains, Eligible, EligibleDomains, Topology

_KEPT = 256
"""Topologies and their restrictions kept at most; the ones not asked for longest go first."""

_FULL_PASS_SHARE = 4
"""Where more than one row in this many changed, a pass over all rows is cheaper."""


class TopologyIndex:
    """Topologies by key, and the domains of the nodes that rules count in them."""

    __slots__ = ("_known", "_seen", "table")

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self._known: OrderedDict[tuple[str, Eligible | None], Domains] = OrderedDict()
        self._seen = table.node_log.version

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
        """The nodes that a rule counts, by their value of a label key."""
        topology = self.topology(key)
        if eligible is None:
            return topology
        found = self._known.get((key, eligible))
        if found is None:
            return self._keep((key, eligible), EligibleDomains(topology, eligible))
        self._known.move_to_end((key, eligible))
        return found

    def catch_up(self) -> None:
        """Look again at the nodes that changed since the last time."""
        log = self.table.node_log
        if self._seen == log.version:
            return
        changed = log.since(self._seen)
        self._seen = log.version
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
                sums.tally.leave(sums.domains)
