"""TenantIsolation: keeps a tenant's nodes for its own pods, and better nodes for higher tiers."""

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.cluster_objects import Namespace
from moorage.api.pod import Pod
from moorage.cache.column_cache import Depends
from moorage.cache.follower import Follower
from moorage.cache.interner import Interner
from moorage.cache.node_view import Nodes
from moorage.cache.table import NodeTable, PodChange
from moorage.config.field_errors import unsupported
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, Score
from moorage.framework.verdicts import Rejection, unresolvable, unschedulable
from moorage.policies import label_values

NO_TENANT: Final = 0
SEVERAL_TENANTS: Final = -1


class TenantsByNode:
    """The owner of each node's pods.  sole: int32 (row), an id of `owners`, NO_TENANT or
    SEVERAL_TENANTS.

    `owner_of` names a pod's owner; the empty name is nobody. Changes come from `pod_log`, which
    includes trials and their rollback.
    """

    def __init__(self, owner_of: Callable[[Pod], str]) -> None:
        self._owner_of = owner_of
        self.owners: Interner[str] = Interner([""])
        self.sole: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._counts: dict[int, Counter[int]] = {}
        self._of_pod: dict[str, int] = {}
        """The owner of each counted pod, by uid; another may own its namespace when it leaves."""
        self._pods: Follower[PodChange] = Follower()

    def catch_up(self, table: NodeTable) -> NDArray[np.int32]:
        """The column, up to date with the pods."""
        if len(self.sole) < len(table.alive):
            self.sole = np.concatenate(
                (self.sole, np.zeros(len(table.alive) - len(self.sole), dtype=np.int32))
            )

        def afresh() -> list[PodChange]:
            self.sole.fill(NO_TENANT)
            self._counts.clear()
            self._of_pod.clear()
            return table.placed_pods()

        self._pods.apply(table.pod_log, afresh, self._count)
        return self.sole

    def _count(self, change: PodChange) -> None:
        row, pod, sign = change.row, change.pod.pod, change.sign
        if sign > 0:
            owner = self._of_pod[pod.uid] = self.owners.intern(self._owner_of(pod))
        else:
            owner = self._of_pod.pop(pod.uid, NO_TENANT)
        if owner == NO_TENANT:
            return
        counts = self._counts.setdefault(row, Counter())
        counts[owner] += sign
        if counts[owner] <= 0:
            del counts[owner]
        self.sole[row] = next(iter(counts), NO_TENANT) if len(counts) < 2 else SEVERAL_TENANTS


ANOTHER_TENANT: Final = "node(s) were kept for another tenant"
HIGHER_TIER: Final = "node(s) were kept for tenants of a higher tier"
SHARED: Final = "node(s) ran pods of another tenant"

OWN, OWN_TIER, SETTLED, COMMON, LOWER_TIER = 100, 75, 60, 50, 25
"""The scores of a tenant's own nodes, nodes of its tier, nodes of nobody that run its pods, other
nodes of nobody, and nodes of a lower tier."""

_TENANT, _TIER, _SHARED = 1, 2, 3


class Tenant(NamedTuple):
    """A pod's tenant; `tier` counts from 0, the best, and the last number stands for no tier."""

    name: str
    tier: int


class TenantIsolation(Filter, Score, frozen=True):
    """A node labelled `tenant` takes the pods of that tenant only.

    A pod's tenant is the value of its namespace's label `tenantLabel`; other pods belong to nobody.
    Labels of pods do not count: their authors choose them. A node labelled `tenantTierLabel` takes
    the pods of tenants of that tier or a higher one. A tenant's tier is in `tenantTiers`, or else
    in the same label of the namespace. `tierOrder` lists tiers from the best. With `exclusive`, no
    node runs pods of two tenants. Scores: the tenant's own nodes 100, nodes of its tier 75, nodes
    of nobody 50, or 60 if `exclusive` reserves them for the tenant while its pods run there, nodes
    of a lower tier 25.
    """

    tenant_label: str = "tenant"
    tenant_tier_label: str = "tenant-tier"
    tenant_tiers: dict[str, str] = msgspec.field(default_factory=dict)
    tier_order: tuple[str, ...] = ("gold", "silver", "bronze")
    exclusive: bool = False

    aliases = ("TenantIsolationPlugin",)
    depends = Depends.USAGE

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        tiers = args["tierOrder"]
        twice = [] if len(set(tiers)) == len(tiers) else ["tierOrder: one is listed twice"]
        return twice + [
            f"tenantTiers.{tenant}: {unsupported(tier, tiers)}"
            for tenant, tier in args["tenantTiers"].items()
            if tier not in tiers
        ]

    def sign(self, cycle: Cycle) -> Hashable:
        return self.tenant(cycle, cycle.pod), cycle.cache.objects.version(Namespace)

    def tenant(self, cycle: Cycle, pod: Pod) -> Tenant:
        """The tenant of a pod."""
        name = label_values.namespace_label(cycle, pod, self.tenant_label) or ""
        said = label_values.namespace_label(cycle, pod, self.tenant_tier_label) or ""
        return Tenant(name, self._rank(self.tenant_tiers.get(name, said)))

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        name, tier = self.tenant(cycle, pod)
        if self.exclusive and name:
            sole, own = self._sole(cycle, nodes), self._occupants(cycle).owners.intern(name)
            out[(sole != NO_TENANT) & (sole != own)] = _SHARED
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
        gone = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        return EventHint(node), EventHint(gone), label_values.NAMESPACE_LABELLED

    def _rank(self, tier: str) -> int:
        return self.tier_order.index(tier) if tier in self.tier_order else len(self.tier_order)

    def _tiers(self, nodes: Nodes) -> NDArray[np.int64]:
        """The rank of each node's tier, the last number without one.  int64 (node)"""
        words = nodes.table.label(self.tenant_tier_label).values.values
        ranks = np.array([self._rank(word or "") for word in words], dtype=np.int64)
        return ranks[nodes.label(self.tenant_tier_label)]

    def _own(self, name: str, nodes: Nodes) -> int:
        """The label id of a tenant's own nodes; -1 if there are none."""
        found = nodes.table.label(self.tenant_label).values.find(name) if name else None
        return -1 if found is None else found

    def _sole(self, cycle: Cycle, nodes: Nodes) -> NDArray[np.int32]:
        """The owner of each node's pods.  int32 (node)"""
        return self._occupants(cycle).catch_up(cycle.table)[nodes.rows]

    def _occupants(self, cycle: Cycle) -> TenantsByNode:
        """The owners of pods by node; counted again after a change of a namespace."""
        version = cycle.cache.objects.version(Namespace)
        known: tuple[int, TenantsByNode] | None = cycle.shared.get("TenantIsolation")
        if known is None or known[0] != version:
            cache, key = cycle.cache, self.tenant_label

            def owner(pod: Pod) -> str:
                named = cache.objects.get(Namespace, pod.namespace)
                return named.labels.get(key, "") if named else ""

            known = cycle.shared["TenantIsolation"] = (version, TenantsByNode(owner))
        return known[1]
