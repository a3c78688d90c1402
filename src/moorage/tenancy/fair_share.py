"""FairShare: the queue serves the tenants with the smallest shares first, not the earliest pods.

1. Higher priority goes first, as with PrioritySort.
2. Within a priority, the pod goes first whose tenant has the smallest share. That is its dominant
   share, the largest share of any resource of the cluster, divided by its weight. What its pods
   ahead in the queue request is included.
3. Among equal shares, the pod goes first that came first.

Pods ahead in the queue count because a pod gets its place when it enters. A tenant that creates a
thousand pods at once has them one behind the other, with pods of other tenants between them. As
pods come and go on nodes, the queue is sorted again every few seconds (`resort_seconds`).
"""

from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, ClassVar

import msgspec

from moorage.api.cluster_objects import Namespace
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.framework.points import QueueSort
from moorage.framework.queued_pod import QueuedPod
from moorage.tenancy.usage import Amounts, TenantUsage

Weight = Annotated[float, msgspec.Meta(gt=0)]
Key = tuple[int, float, float]


class FairShare(QueueSort, frozen=True):
    """`weights` are by tenant, 1 by default. A tenant is a namespace or, with `tenantLabel`, all
    namespaces with one value of that label. Labels of pods do not count: their authors choose them.
    """

    resort_seconds: ClassVar[float] = 5.0

    weights: dict[str, Weight] = msgspec.field(default_factory=dict)
    tenant_label: str = ""

    @cached_property
    def line(self) -> "Line":
        """What each tenant uses, and its pods ahead in the queue."""
        return Line(self.handle.cache, self.tenant_of)

    def tenant_of(self, pod: Pod) -> str:
        found = self.handle.cache.objects.get(Namespace, pod.namespace)
        return (found.labels.get(self.tenant_label) if found else "") or pod.namespace

    def sort_key(self, queued: QueuedPod) -> Key:
        tenant = self.tenant_of(queued.info.pod)
        share = self.line.enter(tenant, queued) / self.weights.get(tenant, 1.0)
        return -queued.info.priority, share, queued.timestamp

    def begin_sort(self) -> None:
        self.line.clear()


class Line:
    """What each tenant uses, and what its pods ahead in the queue request."""

    def __init__(self, cache: Cache, tenant_of: Callable[[Pod], str]) -> None:
        self._cache = cache
        self._tenant_of = tenant_of
        self._usage = TenantUsage(tenant_of)
        self._namespaces = cache.objects.version(Namespace)
        self._ahead: dict[str, OrderedDict[str, QueuedPod]] = {}
        self._asked: dict[str, Amounts] = {}

    def clear(self) -> None:
        """Start again: every pod is about to enter again, in the order of the queue."""
        self._ahead.clear()
        self._asked.clear()
        namespaces = self._cache.objects.version(Namespace)
        if namespaces != self._namespaces:  # one may belong to another tenant now
            self._usage, self._namespaces = TenantUsage(self._tenant_of), namespaces

    def enter(self, tenant: str, queued: QueuedPod) -> float:
        """Put a pod at the end of its tenant's line; returns the tenant's share without it."""
        ahead = self._ahead.setdefault(tenant, OrderedDict())
        asked = self._asked.setdefault(tenant, Counter())
        self._leave(ahead, asked, queued.info.uid)
        while ahead and not next(iter(ahead.values())).is_ahead:
            self._leave(ahead, asked, next(iter(ahead)))
        share = self._share(tenant, asked)
        ahead[queued.info.uid] = queued
        asked.update(dict(queued.info.requests))
        return share

    def _leave(self, ahead: OrderedDict[str, QueuedPod], asked: Amounts, uid: str) -> None:
        known = ahead.pop(uid, None)
        if known is not None:
            asked.subtract(dict(known.info.requests))

    def _share(self, tenant: str, asked: Amounts) -> float:
        table = self._cache.table
        self._usage.catch_up(table)
        used, offered = self._usage.of(tenant), table.allocatable.sum(axis=1)
        return max(
            (
                (used[index] + asked[index]) / total
                for index, total in enumerate(offered.tolist())
                if total > 0
            ),
            default=0.0,
        )
