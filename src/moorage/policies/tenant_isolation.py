"""TenantIsolation: a tenant's nodes are its own, and better tenants have better nodes."""

from collections.abc import Hashable
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.api.workloads import Namespace
from moorage.cache.columns import Depends
from moorage.cache.view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import Rejection, unresolvable, unschedulable
from moorage.policies import namespaces
from moorage.policies.occupants import NOBODY, Occupants

ANOTHER_TENANT: Final = "node(s) were kept for another tenant"
HIGHER_TIER: Final = "node(s) were kept for tenants of a higher tier"
SHARED: Final = "node(s) ran pods of another tenant"

OWN, OWN_TIER, SETTLED, COMMON, LOWER_TIER = 100, 75, 60, 50, 25
"""The scores of a tenant's own nodes, those of its tier, those of nobody with and without pods of
its own, and those below it."""

_TENANT, _TIER, _SHARED = 1, 2, 3


class Tenant(NamedTuple):
    """Whose a pod is; the tier counts from 0, the best, and no tier is below all of them."""

    name: str
    tier: int


class TenantIsolation(Filter, Score, frozen=True):
    """A node labelled `tenant` takes the pods of that tenant only.

    A pod is the tenant's that its label `tenantLabel` names, or else its namespace's; other pods
    are nobody's. A node labelled `tenantTierLabel` takes the pods of tenants of that tier or a
    higher one; a tenant's tier is in `tenantTiers`, or on the pod or its namespace under the same
    label, and `tierOrder` lists tiers from the best. With `exclusive` no node runs pods of two
    tenants. Scores: own nodes 100, nodes of one's tier 75, nodes of nobody 50, or 60 where
    `exclusive` makes it one's own for the time being, lower tiers' 25.
    """

    tenant_label: str = "tenant"
    tenant_tier_label: str = "tenant-tier"
    tenant_tiers: dict[str, str] = msgspec.field(default_factory=dict)
    tier_order: tuple[str, ...] = ("gold", "silver", "bronze")
    exclusive: bool = False

    aliases = ("TenantIsolationPlugin",)
    depends = Depends.USAGE

    def sign(self, cycle: Cycle) -> Hashable:
        return self.tenant(cycle, cycle.pod), cycle.cache.objects.version(Namespace)

    def tenant(self, cycle: Cycle, pod: Pod) -> Tenant:
        """Whose the pod is."""
        name = namespaces.label(cycle, pod, self.tenant_label) or ""
        said = namespaces.label(cycle, pod, self.tenant_tier_label) or ""
        return Tenant(name, self._rank(self.tenant_tiers.get(name, said)))

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        name, tier = self.tenant(cycle, pod)
        if self.exclusive and name:
            sole, own = self._sole(cycle, nodes), self._occupants(cycle).owners.intern(name)
            out[(sole != NOBODY) & (sole != own)] = _SHARED
        out[self._tiers(nodes) < tier] = _TIER
        owned = nodes.label(self.tenant_label)
        out[(owned != 0) & (owned != self._own(name, nodes))] = _TENANT

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code == _SHARED:
            return unschedulable(SHARED)
        return unresolvable(ANOTHER_TENANT if code == _TENANT else HIGHER_TIER)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        name, tier = self.tenant(cycle, pod)
        tiers = self._tiers(nodes)
        labelled = tiers < len(self.tier_order)
        own = nodes.label(self.tenant_label) == self._own(name, nodes)
        out[:] = np.where(labelled, np.where(tiers == tier, OWN_TIER, LOWER_TIER), COMMON)
        if self.exclusive and name:
            settled = self._sole(cycle, nodes) == self._occupants(cycle).owners.intern(name)
            out[settled & (out == COMMON)] = SETTLED
        out[own] = OWN

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_LABEL)
        pod = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
        return EventHint(node), EventHint(gone), EventHint(pod)

    def _rank(self, tier: str) -> int:
        return self.tier_order.index(tier) if tier in self.tier_order else len(self.tier_order)

    def _tiers(self, nodes: Nodes) -> NDArray[np.int64]:
        """int64 (node): the node's tier, below all where it has none."""
        words = nodes.table.label(self.tenant_tier_label).values.values
        ranks = np.array([self._rank(word or "") for word in words], dtype=np.int64)
        return ranks[nodes.label(self.tenant_tier_label)]

    def _own(self, name: str, nodes: Nodes) -> int:
        """The label id of a tenant's own nodes; none has -1."""
        found = nodes.table.label(self.tenant_label).values.find(name) if name else None
        return -1 if found is None else found

    def _sole(self, cycle: Cycle, nodes: Nodes) -> NDArray[np.int32]:
        """int32 (node): whose pods it runs."""
        return self._occupants(cycle).catch_up(cycle.table)[nodes.rows]

    def _occupants(self, cycle: Cycle) -> Occupants:
        """Whose pods are where; counted afresh when a namespace has changed."""
        version = cycle.cache.objects.version(Namespace)
        known: tuple[int, Occupants] | None = cycle.shared.get("TenantIsolation")
        if known is None or known[0] != version:
            cache, key = cycle.cache, self.tenant_label

            def owner(pod: Pod) -> str:
                named = cache.objects.get(Namespace, pod.namespace)
                return pod.labels.get(key) or (named.labels.get(key, "") if named else "")

            known = cycle.shared["TenantIsolation"] = (version, Occupants(owner))
        return known[1]
