"""Mean, median, p95, p99 and maximum of some values."""

import math
from collections.abc import Iterable, Sequence

import msgspec


class Quantiles(msgspec.Struct, frozen=True):
    """Without values, each is None."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


def quantiles(values: Iterable[float]) -> Quantiles:
    """The quantiles of some values, in any order."""
    ordered = sorted(values)
    if not ordered:
        return Quantiles()
    return Quantiles(
        math.fsum(ordered) / len(ordered),
        quantile(ordered, 0.50),
        quantile(ordered, 0.95),
        quantile(ordered, 0.99),
        ordered[-1],
    )


def quantile(ordered: Sequence[float], q: float) -> float:
    """The value at rank q(n-1) of ascending values, linear between the two ranks around it."""
    rank = q * (len(ordered) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)
