"""TenantZones: a tenant's pods stay in the zones it pays for, and prefer its home zone."""

from moorage import MAX_SCORE, Cycle, Filter, Node, Pod, Rejection, Score, unresolvable

OUTSIDE = "node(s) were outside the tenant's zones"


class TenantZones(Filter, Score, frozen=True):
    """Hold a tenant's pods to the zones it pays for, and prefer its home zone."""

    zones: frozenset[str]
    home: str

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None if node.zone in self.zones else unresolvable(OUTSIDE)

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return MAX_SCORE if node.zone == self.home else 0
