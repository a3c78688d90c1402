"""Quotas in numbers, and what namespaces use, brought up to date on demand."""

from collections import Counter
from collections.abc import Container, Iterable
from typing import Final, NamedTuple

from moorage.api import quantity
from moorage.api.meta import ResourceList
from moorage.api.podgroup import ElasticQuota
from moorage.api.quantity import QuantityError
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


def read(quotas: Iterable[ElasticQuota], resources: Interner[str]) -> dict[str, Quota]:
    """The quota of each namespace: of several the first by name; contradictory ones are ignored."""
    made: dict[str, Quota] = {}
    for quota in sorted(quotas, key=lambda quota: quota.key):
        if quota.namespace not in made and not problems(quota):
            least, most = (_limits(given, resources) for given in (quota.spec.min, quota.spec.max))
            made[quota.namespace] = Quota(quota.key, least, most)
    return made


def _limits(given: ResourceList, resources: Interner[str]) -> Limits:
    return {
        resources.intern(name): quantity.milli_value(text)
        if name == "cpu"
        else quantity.value(text)
        for name, text in given.items()
    }


NAME: Final = "CapacityScheduling"


class Books(NamedTuple):
    """The quotas by namespace at some version, and what namespaces use."""

    version: int
    quotas: dict[str, Quota]
    usage: TenantUsage


def of(cycle: Cycle) -> Books:
    """The books, up to date with quotas and pods."""
    objects = cycle.cache.objects
    version = objects.version(ElasticQuota)
    found: Books | None = cycle.shared.get(NAME)
    if found is None or found.version != version:
        quotas = read(cycle.all(ElasticQuota), cycle.table.resources)
        usage = TenantUsage(lambda pod: pod.namespace) if found is None else found.usage
        found = cycle.shared[NAME] = Books(version, quotas, usage)
    if found.quotas:
        found.usage.catch_up(cycle.table)
    return found


def guaranteed(books: Books) -> Amounts:
    """The sum of all mins."""
    total: Amounts = Counter()
    for quota in books.quotas.values():
        total.update(quota.minimum)
    return total


def used_by(cycle: Cycle, books: Books, namespace: str) -> Amounts:
    """What a namespace uses, including the nominations of its other pods."""
    return books.usage.of(namespace) + promised_to(cycle, books, {cycle.incoming.uid})


def used_by_all(cycle: Cycle, books: Books) -> Amounts:
    used = promised_to(cycle, books, {cycle.incoming.uid}, everywhere=True)
    for namespace in books.quotas:
        used.update(books.usage.of(namespace))
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
    used, minimum, total = (
        books.usage.of(namespace),
        books.quotas[namespace].minimum,
        guaranteed(books),
    )
    return any(used[index] > minimum.get(index, 0) for index in total)
