"""CapacityScheduling: quotas that a namespace may exceed while other namespaces leave theirs idle.

1. A pod is refused if its namespace would use more than its max, or all namespaces together more
   than the sum of all mins: a namespace can only borrow what is idle elsewhere.
2. A pod within its namespace's min takes back what others borrowed. It may evict pods of namespaces
   above their min, whatever their priority, until these namespaces are back at their min.
3. A pod above its namespace's min may evict only pods of its own namespace with lower priority.

A pod in a namespace without a quota is never refused, and may not evict pods of namespaces with
one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from moorage.api import resource_amounts
from moorage.api.pod import Pod
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.eviction import BEING_EVICTED, EVICTABLE, PLACED_TOGETHER
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import SKIP, Rejection, Skip, unschedulable
from moorage.tenancy import quotas
from moorage.tenancy.quotas import Books, Limits, Quota
from moorage.tenancy.usage import Amounts


def evictable(cycle: Cycle, books: Books, pods: Sequence[PodInfo]) -> list[PodInfo]:
    """The pods of a node that may be evicted for the cycle's pod."""
    namespace, priority = cycle.pod.namespace, cycle.incoming.priority
    quota = books.quotas.get(namespace)
    if quota is None:
        return [p for p in pods if p.priority < priority and p.pod.namespace not in books.quotas]
    own = {p.uid for p in pods if p.pod.namespace == namespace and p.priority < priority}
    if _is_within_min(cycle, books, quota):
        own |= _borrowed(cycle, books, pods)
    return [info for info in pods if info.uid in own]


def _is_within_min(cycle: Cycle, books: Books, quota: Quota) -> bool:
    """Whether the pod requests resources that its min names, and no more than is left of each.

    The pods that are placed together with it count, too.
    """
    together: Sequence[PodInfo] = cycle.state.get(PLACED_TOGETHER, (cycle.incoming,))
    asked = books.usage.of(quota.namespace) + quotas.promised_to(
        cycle, books, {info.uid for info in together}
    )
    named = {i for i, _ in cycle.incoming.requests} & quota.minimum.keys()
    for info in together:
        asked.update(dict(info.requests))
    return bool(named) and all(asked[i] <= quota.minimum[i] for i in named)


def _borrowed(cycle: Cycle, books: Books, pods: Sequence[PodInfo]) -> set[str]:
    """Pods that use what their namespaces borrowed: the least important ones, down to the min.

    Pods that are terminating already are included, and their usage is not counted.
    """
    leaving = cycle.shared.get(BEING_EVICTED, set())
    found = {info.uid for info in pods if info.uid in leaving}
    left: dict[str, Amounts] = {}
    for info in sorted(pods, key=_importance):
        namespace = info.pod.namespace
        if info.uid in found or namespace == cycle.pod.namespace or namespace not in books.quotas:
            continue
        if namespace not in left:
            left[namespace] = _used_by_staying(cycle, books, namespace, leaving)
        if _may_give(left[namespace], books.quotas[namespace].minimum, info):
            left[namespace].subtract(dict(info.requests))
            found.add(info.uid)
    return found


def _used_by_staying(cycle: Cycle, books: Books, namespace: str, leaving: Iterable[str]) -> Amounts:
    used = Counter(books.usage.of(namespace))
    for info in map(cycle.cache.pod, leaving):
        if info is not None and info.pod.namespace == namespace:
            used.subtract(dict(info.requests))
    return used


def _may_give(used: Amounts, minimum: Limits, info: PodInfo) -> bool:
    """Whether a namespace would still have its min without the pod."""
    asked = dict(info.requests)
    guaranteed = [(index, amount) for index, amount in asked.items() if index in minimum]
    return all(used[index] - amount >= minimum[index] for index, amount in guaranteed)


def _importance(info: PodInfo) -> tuple[int, float]:
    started = info.pod.status.start_time
    return info.priority, 0.0 if started is None else -started.timestamp()


OVER_MAX: Final = "ElasticQuota {}: {} {} used and {} asked for exceed its max of {}"
OVER_TOTAL: Final = (
    "ElasticQuota {}: {} {} used and {} asked for exceed what all quotas guarantee together, {}"
)

_OVER_MAX, _OVER_TOTAL = 1, 1 << 16


class CapacityScheduling(PreFilter, Filter, frozen=True):
    more_room_helps: ClassVar[bool] = False

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        books = quotas.of(cycle)
        if not books.quotas:
            return SKIP
        cycle.state[EVICTABLE] = lambda pods: evictable(cycle, books, pods)
        return None if pod.namespace in books.quotas else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        """One code for all nodes: the resource, and whether its max or the total is exceeded.

        It is computed again for each row of a trial, when victims have been removed.
        """
        out[:] = _code(cycle, pod)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        books = quotas.of(cycle)
        quota, total = books.quotas[pod.namespace], code >= _OVER_TOTAL
        index = (code - _OVER_TOTAL if total else code) - 1
        name = cycle.table.resources.values[index]
        used = (
            quotas.used_by_all(cycle, books)
            if total
            else quotas.used_by(cycle, books, pod.namespace)
        )
        limit = books.guaranteed[index] if total else quota.maximum[index]
        asked = dict(cycle.incoming.requests).get(index, 0)
        numbers = (
            resource_amounts.format_amount(name, value) for value in (used[index], asked, limit)
        )
        text = OVER_TOTAL if total else OVER_MAX
        return unschedulable(text.format(quota.key, name, *numbers))

    def events(self) -> tuple[EventHint, ...]:
        freed = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)
        return (
            EventHint(ClusterEvent(Resource.ELASTIC_QUOTA, Action.ALL)),
            EventHint(freed),
            EventHint(ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN)),
        )


def _code(cycle: Cycle, pod: Pod) -> int:
    books = quotas.of(cycle)
    quota = books.quotas[pod.namespace]
    own, everyone = (
        quotas.used_by(cycle, books, pod.namespace),
        quotas.used_by_all(cycle, books),
    )
    total = books.guaranteed
    for index, asked in cycle.incoming.requests:
        if index in quota.maximum and own[index] + asked > quota.maximum[index]:
            return _OVER_MAX + index
        if index in total and everyone[index] + asked > total[index]:
            return _OVER_TOTAL + 1 + index
    return 0
