"""Quotas in numbers, and what namespaces use, brought up to date on demand."""

from collections import Counter
from collections.abc import Container
from typing import Final, NamedTuple

from moorage.api import quantity
from moorage.api.meta import ResourceList
from moorage.api.podgroup import ElasticQuota
from moorage.api.quantity import QuantityError
from moorage.cache.cache import Cache
from moorage.cache.interner import Interner
from moorage.framework.cycle import Cycle
from moorage.tenancy.usage import Amounts, TenantUsage

Limits = dict[int, int]
"""Amounts by resource index."""


class Quota(NamedTuple):
    """One quota in numbers. Resources that `maximum` does not name are unlimited. Resources that
    `minimum` does not name are not guaranteed."""

    key: str
    minimum: Limits
    maximum: Limits

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]


def problems(quota: ElasticQuota) -> list[str]:
    """What contradicts itself in a quota, in words for its author."""
    found = []
    for name, text in sorted(quota.spec.min.items()):
        most = quota.spec.max.get(name)
        try:
            if most is not None and quantity.parse(text) > quantity.parse(most):
                found.append(f"min asks for {text} {name}, which is more than its max of {most}")
        except QuantityError as error:
            found.append(str(error))
    return found


def _limits(given: ResourceList, resources: Interner[str]) -> Limits:
    return {
        resources.intern(name): quantity.milli_value(text)
        if name == "cpu"
        else quantity.value(text)
        for name, text in given.items()
    }


NAME: Final = "CapacityScheduling"


class Books:
    """The quotas in force by namespace, and what namespaces use, kept up to date change by change.

    Of several quotas of a namespace the first by name is in force; contradictory ones never are.
    `guaranteed` is the sum of all mins.
    """

    def __init__(self, cache: Cache) -> None:
        self.quotas: dict[str, Quota] = {}
        self.guaranteed: Amounts = Counter()
        self.usage = TenantUsage(lambda pod: pod.namespace)
        self._resources = cache.table.resources
        self._guarantors: Counter[int] = Counter()
        """Resource index -> number of quotas whose min names it."""
        self._written: dict[str, dict[str, ElasticQuota]] = {}
        cache.objects.follow(ElasticQuota, self._put, self._remove)

    def _put(self, quota: ElasticQuota) -> None:
        self._written.setdefault(quota.namespace, {})[quota.key] = quota
        self._choose(quota.namespace)

    def _remove(self, quota: ElasticQuota) -> None:
        written = self._written.get(quota.namespace, {})
        written.pop(quota.key, None)
        if not written:
            self._written.pop(quota.namespace, None)
        self._choose(quota.namespace)

    def _choose(self, namespace: str) -> None:
        """Put the right quota of a namespace in force."""
        written = sorted(self._written.get(namespace, {}).items())
        first = next((quota for _, quota in written if not problems(quota)), None)
        before = self.quotas.pop(namespace, None)
        if before is not None:
            self._guarantee(before, -1)
        if first is None:
            self.usage.part(namespace)
            return
        minimum, maximum = (
            _limits(each, self._resources) for each in (first.spec.min, first.spec.max)
        )
        self.quotas[namespace] = Quota(first.key, minimum, maximum)
        self._guarantee(self.quotas[namespace], 1)
        self.usage.join(namespace)

    def _guarantee(self, quota: Quota, sign: int) -> None:
        for index, amount in quota.minimum.items():
            self.guaranteed[index] += sign * amount
            self._guarantors[index] += sign
            if not self._guarantors[index]:
                del self.guaranteed[index], self._guarantors[index]


def books_of(cache: Cache) -> Books:
    """The books of a cache's cluster; made on first use."""
    found: Books | None = cache.table.derived.get(NAME)
    if found is None:
        found = cache.table.derived[NAME] = Books(cache)
    return found


def of(cycle: Cycle) -> Books:
    """The books, up to date with quotas and pods."""
    found = books_of(cycle.cache)
    if found.quotas:
        found.usage.catch_up(cycle.table)
    return found


def used_by(cycle: Cycle, books: Books, namespace: str) -> Amounts:
    """What a namespace uses, including the nominations of its other pods."""
    return books.usage.of(namespace) + promised_to(cycle, books, {cycle.incoming.uid})


def used_by_all(cycle: Cycle, books: Books) -> Amounts:
    used = promised_to(cycle, books, {cycle.incoming.uid}, everywhere=True)
    used.update(books.usage.total)
    return used


def promised_to(
    cycle: Cycle, books: Books, apart_from: Container[str], *, everywhere: bool = False
) -> Amounts:
    """The requests of nominated pods that are not on a node yet, and that the pod must yield to.

    As with scheduler-plugins, they are those of its own namespace that are no less important, or
    room for it could be taken by a less important one. `everywhere`, those of other namespaces
    that are within their min count too, whatever their priority: they take what is theirs.
    """
    nominations, promised = cycle.cache.nominations, Counter[int]()
    own, priority = cycle.pod.namespace, cycle.incoming.priority
    for _, pods in nominations.by_node():
        for uid, info in pods.items():
            namespace = info.pod.namespace
            if uid in apart_from or namespace not in books.quotas:
                continue
            counts = info.priority >= priority if namespace == own else everywhere
            if not counts or cycle.cache.node_of(uid) is not None:
                continue
            if namespace == own or not _is_above_min(books, namespace):
                promised.update(dict(info.requests))
    return promised


def _is_above_min(books: Books, namespace: str) -> bool:
    """Whether a namespace uses more than its min of what any quota guarantees."""
    used, minimum = books.usage.of(namespace), books.quotas[namespace].minimum
    return any(used[index] > minimum.get(index, 0) for index in books.guaranteed)
