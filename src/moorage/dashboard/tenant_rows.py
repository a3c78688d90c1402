"""Tenants as JSON: the quotas of namespaces, what each uses and borrows, and its fair share."""

from collections.abc import Callable
from typing import Any, Final

from moorage.cache.cache import Cache
from moorage.cache.table import NodeTable
from moorage.tenancy import quotas
from moorage.tenancy.feature import ElasticQuotas
from moorage.tenancy.quotas import Quota
from moorage.tenancy.usage import Amounts

MOST: Final = 200


def tenant_rows(cache: Cache, feature: ElasticQuotas) -> Callable[[], list[dict[str, Any]]]:
    """A function that returns the tenants; none while quotas are not enabled."""

    def rows() -> list[dict[str, Any]]:
        books = quotas.books_of(cache)
        found, usage = books.quotas, books.usage
        if not found or not feature.enabled:
            return []
        usage.catch_up(cache.table)
        totals = _totals(cache.table)
        told = (
            _row(cache.table, each, usage.of(each.namespace), totals) for each in found.values()
        )
        return sorted(told, key=lambda each: -each["fair_share"])[:MOST]

    return rows


def _row(table: NodeTable, quota: Quota, used: Amounts, totals: dict[int, int]) -> dict[str, Any]:
    names = table.resources.values
    limited = sorted({*quota.minimum, *quota.maximum})
    own = {
        names[index]: {
            "min": _plain(names[index], quota.minimum.get(index)),
            "max": _plain(names[index], quota.maximum.get(index)),
            "used": _plain(names[index], used[index]),
        }
        for index in limited
    }
    borrowed = {
        names[index]: _plain(names[index], used[index] - least)
        for index, least in quota.minimum.items()
        if used[index] > least
    }
    shares = (used[index] / total for index, total in totals.items() if total)
    return {
        "name": quota.namespace,
        "quota": own,
        "borrowed": borrowed,
        "fair_share": round(max(shares, default=0.0), 4),
    }


def _plain(resource: str, amount: int | None) -> float | None:
    """An amount in cores, where the table has millicores; others unchanged."""
    if amount is None:
        return None
    return amount / 1000 if resource == "cpu" else amount


def _totals(table: NodeTable) -> dict[int, int]:
    """The totals that all nodes offer, by resource index."""
    return dict(enumerate(table.allocatable.sum(axis=1).tolist()))
