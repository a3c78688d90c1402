"""Numbers that were counted elsewhere, as Prometheus metrics."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family

from moorage.observe.catalogue import Metric

Values = Iterable[tuple[tuple[str, ...], float]]
"""Numbers by label values."""


def gauge(metric: Metric, values: Values) -> Family:
    """A gauge with these values."""
    family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def counter(metric: Metric, values: Values) -> Family:
    """A counter with these values."""
    family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def one(value: float) -> Values:
    """The value of a metric without labels."""
    return [((), value)]
