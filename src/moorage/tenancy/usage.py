"""What the pods of each tenant use, kept up pod by pod."""

from collections import Counter
from collections.abc import Callable

from moorage.api.pod import Pod
from moorage.cache.follower import Follower
from moorage.cache.table import NodeTable, PodChange

Amounts = Counter[int]
"""By resource index: millicores, bytes, counts."""

_NOTHING: Amounts = Counter()


class TenantUsage:
    """Sums of requests by tenant. `tenant_of` tells whose a pod is.

    Pods come and go by `pod_log`, so trials are seen, and seen to end.
    """

    def __init__(self, tenant_of: Callable[[Pod], str]) -> None:
        self._tenant_of = tenant_of
        self._used: dict[str, Amounts] = {}
        self._counted: Counter[str] = Counter()
        """Pods by tenant: of one that has none, nothing is kept."""
        self._of_pod: dict[str, str] = {}
        """By uid, whose a counted pod is; it may have been labelled anew when it leaves."""
        self._pods: Follower[PodChange] = Follower()

    def catch_up(self, table: NodeTable) -> None:
        """Take in the pods as they are now."""
        changes = self._pods.missed(table.pod_log)
        if changes is None:
            self._used, self._counted, self._of_pod = {}, Counter(), {}
            changes = table.placed_pods()
        for change in changes:
            self._count(change.pod.pod, change.pod.requests, change.sign)

    def of(self, tenant: str) -> Amounts:
        """What a tenant's pods ask for, all together."""
        return self._used.get(tenant, _NOTHING)

    def _count(self, pod: Pod, requests: tuple[tuple[int, int], ...], sign: int) -> None:
        known = self._of_pod.pop(pod.uid, None) if sign < 0 else None
        tenant = self._tenant_of(pod) if known is None else known
        if sign > 0:
            self._of_pod[pod.uid] = tenant
        used = self._used.setdefault(tenant, Counter())
        for index, amount in requests:
            used[index] += sign * amount
        self._counted[tenant] += sign
        if not self._counted[tenant]:
            del self._used[tenant], self._counted[tenant]
