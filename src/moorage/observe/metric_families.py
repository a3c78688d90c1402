"""Cheap counters and histograms, and their conversion to Prometheus metric families.

Everything is counted on the event loop's thread, without locks; Prometheus' own client takes ten
times as long for one observation. Counts are converted to Prometheus metrics only at a scrape.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from moorage.observe.catalogue import Metric

if TYPE_CHECKING:
    from prometheus_client import core

    Family = core.Metric
else:
    Family = object
    """What is told to Prometheus. Its client is imported when somebody looks: it brings a web
    server, and the first pod would wait for it."""

Values = Iterable[tuple[tuple[str, ...], float]]
"""(label values, number) pairs."""


def gauge(metric: Metric, values: Values) -> Family:
    """A gauge with these values."""
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def counter(metric: Metric, values: Values) -> Family:
    """A counter with these values."""
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def unlabelled(value: float) -> Values:
    """The value of a metric without labels."""
    return [((), value)]


class Tally:
    """How many values fell into which bucket, and their sum.

    `counts` has one entry more than `bounds`, for values greater than the last bound.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    def add(self, other: "Tally") -> None:
        """Add the counts of another tally with the same bounds."""
        self.counts = [
            mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)
        ]
        self.total += other.total

    def coarser(self, bounds: Sequence[float]) -> "Tally":
        """The same values in fewer buckets; every bound must be one of ours."""
        tally = Tally(bounds)
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            tally.counts[bisect_left(bounds, bound)] += count
        tally.total = self.total
        return tally


class Tallies:
    """One tally for each combination of label values; callers may keep those they use often."""

    __slots__ = ("_bounds", "_tallies")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._tallies: dict[tuple[str, ...], Tally] = {}

    def of(self, *labels: str) -> Tally:
        """The tally for these label values."""
        found = self._tallies.get(labels)
        if found is None:
            found = self._tallies[labels] = Tally(self._bounds)
        return found

    def items(self) -> Iterable[tuple[tuple[str, ...], Tally]]:
        return self._tallies.items()


_INFINITE: Final = "+Inf"


def histogram(metric: Metric, tallies: Iterable[tuple[tuple[str, ...], Tally]]) -> Family:
    """The tallies as a Prometheus histogram."""
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, tally in tallies:
        family.add_metric(labels, _cumulative(tally), tally.total)
    return family


def _cumulative(tally: Tally) -> list[tuple[str, float]]:
    from prometheus_client.utils import floatToGoString

    buckets: list[tuple[str, float]] = []
    seen = 0
    names = [*map(floatToGoString, tally.bounds), _INFINITE]
    for name, count in zip(names, tally.counts, strict=True):
        seen += count
        buckets.append((name, seen))
    return buckets
