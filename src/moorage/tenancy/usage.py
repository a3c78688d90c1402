"""What the pods of each tenant request in all, updated pod by pod."""

from collections import Counter
from collections.abc import Callable

from moorage.api.pod import Pod
from moorage.cache.follower import Follower
from moorage.cache.table import NodeTable, PodChange

Amounts = Counter[int]
"""Amounts by resource index: millicores, bytes, counts."""

_NOTHING: Amounts = Counter()


class TenantUsage:
    """Sums of requests by tenant. `tenant_of` returns the tenant of a pod.

    Changes come from `pod_log`, which includes trials and their rollback. `total` is the sum of
    those tenants that were joined.
    """

    def __init__(self, tenant_of: Callable[[Pod], str]) -> None:
        self._tenant_of = tenant_of
        self.total: Amounts = Counter()
        self._joined: set[str] = set()
        self._used: dict[str, Amounts] = {}
        self._counted: Counter[str] = Counter()
        """The number of pods by tenant; a tenant without pods is dropped."""
        self._of_pod: dict[str, str] = {}
        """The tenant of each counted pod, by uid; another may own its namespace when it leaves."""
        self._pods: Follower[PodChange] = Follower()

    def catch_up(self, table: NodeTable) -> None:
        """Apply the changes of pods since the last call."""

        def afresh() -> list[PodChange]:
            self._used, self._counted, self._of_pod = {}, Counter(), {}
            self.total = Counter()
            return table.placed_pods()

        self._pods.apply(table.pod_log, afresh, self._count)

    def of(self, tenant: str) -> Amounts:
        """The sum of a tenant's requests."""
        return self._used.get(tenant, _NOTHING)

    def join(self, tenant: str) -> None:
        """Count a tenant in `total` from now on."""
        if tenant not in self._joined:
            self._joined.add(tenant)
            self.total.update(self.of(tenant))

    def part(self, tenant: str) -> None:
        """Undo `join`."""
        if tenant in self._joined:
            self._joined.discard(tenant)
            self.total.subtract(self.of(tenant))

    def _count(self, change: PodChange) -> None:
        pod, requests, sign = change.pod.pod, change.pod.requests, change.sign
        known = self._of_pod.pop(pod.uid, None) if sign < 0 else None
        tenant = self._tenant_of(pod) if known is None else known
        if sign > 0:
            self._of_pod[pod.uid] = tenant
        used = self._used.setdefault(tenant, Counter())
        joined = tenant in self._joined
        for index, amount in requests:
            used[index] += sign * amount
            if joined:
                self.total[index] += sign * amount
        self._counted[tenant] += sign
        if not self._counted[tenant]:
            del self._used[tenant], self._counted[tenant]
