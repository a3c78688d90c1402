"""Who may be evicted for a pod, by the quotas of its namespace and of others.

1. Pods of its own namespace that are of lower priority.
2. If the pod is within its namespace's min: pods that others run on what they have borrowed.
3. For a pod of a namespace without a quota, pods of lower priority in others that have none.
"""

from collections import Counter
from collections.abc import Sequence

from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.victims import LEAVING, TOGETHER
from moorage.policies import quota_books
from moorage.policies.elastic_quotas import Limits, Quota
from moorage.policies.quota_books import Books
from moorage.policies.tenant_usage import Amounts


def evictable(cycle: Cycle, books: Books, pods: Sequence[PodInfo]) -> list[PodInfo]:
    """Who of a node's pods may leave for the cycle's pod."""
    namespace, priority = cycle.pod.namespace, cycle.incoming.priority
    quota = books.quotas.get(namespace)
    if quota is None:
        return [p for p in pods if p.priority < priority and p.pod.namespace not in books.quotas]
    own = {p.uid for p in pods if p.pod.namespace == namespace and p.priority < priority}
    if _is_within_min(cycle, books, quota):
        own |= _borrowed(cycle, books, pods)
    return [info for info in pods if info.uid in own]


def _is_within_min(cycle: Cycle, books: Books, quota: Quota) -> bool:
    """Whether the pod asks for resources that its min names, and for no more than is left of any.

    So do, all in all, the pods that are placed together with it.
    """
    together: Sequence[PodInfo] = cycle.state.get(TOGETHER, (cycle.incoming,))
    asked = books.usage.of(quota.namespace) + quota_books.promised_to(
        cycle, {quota.namespace}, {info.uid for info in together}
    )
    named = {i for i, _ in cycle.incoming.requests} & quota.minimum.keys()
    for info in together:
        asked.update(dict(info.requests))
    return bool(named) and all(asked[i] <= quota.minimum[i] for i in named)


def _borrowed(cycle: Cycle, books: Books, pods: Sequence[PodInfo]) -> set[str]:
    """Pods that others run on what is not theirs: the least important, down to their min.

    Those that are leaving already may leave, and what they use is not counted as theirs.
    """
    others = books.quotas.keys() - {cycle.pod.namespace}
    left = {name: Counter(books.usage.of(name)) for name in others}
    for uid in cycle.shared.get(LEAVING, ()):
        info = cycle.cache.pod(uid)
        if info is not None and info.pod.namespace in left:
            left[info.pod.namespace].subtract(dict(info.requests))
    leaving = cycle.shared.get(LEAVING, set())
    found = {info.uid for info in pods if info.uid in leaving}
    for info in sorted(pods, key=_importance):
        used = left.get(info.pod.namespace)
        if used is None or info.uid in found:
            continue
        if _may_give(used, books.quotas[info.pod.namespace].minimum, info):
            used.subtract(dict(info.requests))
            found.add(info.uid)
    return found


def _may_give(used: Amounts, minimum: Limits, info: PodInfo) -> bool:
    """Whether a namespace is above its min with a pod, and not below it without."""
    asked = dict(info.requests)
    guaranteed = [(index, amount) for index, amount in asked.items() if index in minimum]
    return all(used[index] - amount >= minimum[index] for index, amount in guaranteed)


def _importance(info: PodInfo) -> tuple[int, float]:
    started = info.pod.status.start_time
    return info.priority, 0.0 if started is None else -started.timestamp()
