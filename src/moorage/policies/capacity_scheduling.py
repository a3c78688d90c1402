"""CapacityScheduling: namespaces have quotas that may be exceeded while others leave theirs idle.

1. A pod is refused where its namespace would use more than its max, or all namespaces together
   more than all their mins: what is borrowed must be idle elsewhere.
2. A pod within its namespace's min takes back what others have borrowed: pods of namespaces above
   their min may be evicted for it, whatever their priority, until these are back at their min.
3. A pod above it may evict pods of its own namespace that are of lower priority, and no others.

A pod in a namespace without a quota is neither refused nor may it evict pods of those with one.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.api import amounts
from moorage.api.pod import Pod
from moorage.cache.view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, PreFilter
from moorage.framework.verdicts import SKIP, Rejection, Skip, unschedulable
from moorage.framework.victims import EVICTABLE
from moorage.policies import quota_books, quota_victims

OVER_MAX: Final = "ElasticQuota {}: {} {} used and {} asked for exceed its max of {}"
OVER_TOTAL: Final = (
    "ElasticQuota {}: {} {} used and {} asked for exceed what all quotas guarantee together, {}"
)

_OVER_MAX, _OVER_TOTAL = 1, 1 << 16


class CapacityScheduling(PreFilter, Filter, frozen=True):
    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        books = quota_books.of(cycle)
        if not books.quotas:
            return SKIP
        cycle.state[EVICTABLE] = lambda pods: quota_victims.evictable(cycle, books, pods)
        return None if pod.namespace in books.quotas else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        """The same code for every node: a resource, and whether its max or the total is the limit.

        Asked anew for each row of a trial, when victims have left.
        """
        out[:] = _code(cycle, pod)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        books = quota_books.of(cycle)
        quota, total = books.quotas[pod.namespace], code >= _OVER_TOTAL
        index = (code - _OVER_TOTAL if total else code) - 1
        name = cycle.table.resources.values[index]
        used = (
            quota_books.used_by_all(cycle, books)
            if total
            else quota_books.used_by(cycle, books, pod.namespace)
        )
        limit = quota_books.guaranteed(books)[index] if total else quota.maximum[index]
        asked = dict(cycle.incoming.requests).get(index, 0)
        numbers = (amounts.text(name, value) for value in (used[index], asked, limit))
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
    books = quota_books.of(cycle)
    quota = books.quotas[pod.namespace]
    own, everyone = (
        quota_books.used_by(cycle, books, pod.namespace),
        quota_books.used_by_all(cycle, books),
    )
    total = quota_books.guaranteed(books)
    for index, asked in cycle.incoming.requests:
        if index in quota.maximum and own[index] + asked > quota.maximum[index]:
            return _OVER_MAX + index
        if index in total and everyone[index] + asked > total[index]:
            return _OVER_TOTAL + 1 + index
    return 0
