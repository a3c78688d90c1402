"""What quotas say and what namespaces use, brought up to date when it is asked for."""

from collections import Counter
from collections.abc import Container
from typing import Final, NamedTuple

from moorage.api.podgroup import ElasticQuota
from moorage.framework.cycle import Cycle
from moorage.policies import elastic_quotas
from moorage.policies.elastic_quotas import Quota
from moorage.policies.tenant_usage import Amounts, TenantUsage

NAME: Final = "CapacityScheduling"


class Books(NamedTuple):
    """The quotas by namespace, as of a version, and what namespaces use."""

    version: int
    quotas: dict[str, Quota]
    usage: TenantUsage


def of(cycle: Cycle) -> Books:
    """The books, up to date with quotas and pods."""
    objects = cycle.cache.objects
    version = objects.version(ElasticQuota)
    found: Books | None = cycle.shared.get(NAME)
    if found is None or found.version != version:
        quotas = elastic_quotas.read(cycle.all(ElasticQuota), cycle.table.resources)
        usage = TenantUsage(lambda pod: pod.namespace) if found is None else found.usage
        found = cycle.shared[NAME] = Books(version, quotas, usage)
    if found.quotas:
        found.usage.catch_up(cycle.table)
    return found


def guaranteed(books: Books) -> Amounts:
    """All mins together."""
    total: Amounts = Counter()
    for quota in books.quotas.values():
        total.update(quota.minimum)
    return total


def used_by(cycle: Cycle, books: Books, namespace: str) -> Amounts:
    """What a namespace uses, what its other pods are promised included."""
    return books.usage.of(namespace) + promised_to(cycle, {namespace}, {cycle.incoming.uid})


def used_by_all(cycle: Cycle, books: Books) -> Amounts:
    used = promised_to(cycle, books.quotas.keys(), {cycle.incoming.uid})
    for namespace in books.quotas:
        used.update(books.usage.of(namespace))
    return used


def promised_to(cycle: Cycle, namespaces: Container[str], apart_from: Container[str]) -> Amounts:
    """What pods were promised that are on no node yet."""
    nominations, promised = cycle.cache.nominations, Counter[int]()
    for node in nominations.nodes() if len(nominations) else ():
        for info in nominations.on(node):
            waits = info.uid not in apart_from and cycle.cache.node_of(info.uid) is None
            if waits and info.pod.namespace in namespaces:
                promised.update(dict(info.requests))
    return promised
