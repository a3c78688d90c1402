"""Metrics of plugins: counters, gauges and histograms that a plugin keeps through its handle.

`self.handle.counter("quorums", "Groups let go.", ("namespace",)).count("default")` is served as
`moorage_plugin_<plugin>_quorums_total{namespace="default"}`. Asking for a metric again is cheap and
returns the same object, in every profile that runs the plugin.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, TypeVar

PREFIX: Final = "moorage_plugin"
SECONDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0)
"""Upper bounds of the buckets of a histogram that names none."""
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class PluginMetric:
    """One metric: its full name, help text and label names; `values` by label values."""

    def __init__(self, name: str, help: str, labels: tuple[str, ...]) -> None:
        self.name = name
        self.help = help
        self.labels = labels
        self.values: dict[tuple[str, ...], float] = {}

    def _key(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        if len(labels) != len(self.labels):
            wanted = ", ".join(self.labels) or "none"
            raise ValueError(f"{self.name} has the labels {wanted}; {len(labels)} were given")
        return labels


class PluginCounter(PluginMetric):
    """A counter: it only goes up."""

    def count(self, *labels: str, by: float = 1.0) -> None:
        key = self._key(labels)
        self.values[key] = self.values.get(key, 0.0) + by


class PluginGauge(PluginMetric):
    """A gauge: it goes up and down."""

    def set(self, value: float, *labels: str) -> None:
        self.values[self._key(labels)] = value


class PluginHistogram(PluginMetric):
    """A histogram: counts of values by bucket; `values` are the sums."""

    def __init__(
        self, name: str, help: str, labels: tuple[str, ...], bounds: tuple[float, ...] = SECONDS
    ) -> None:
        super().__init__(name, help, labels)
        self.bounds = tuple(sorted(bounds))
        self.counts: dict[tuple[str, ...], list[int]] = {}

    def observe(self, value: float, *labels: str) -> None:
        key = self._key(labels)
        counts = self.counts.setdefault(key, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        self.values[key] = self.values.get(key, 0.0) + value


M = TypeVar("M", bound=PluginMetric)


class PluginMetrics:
    """The metrics of all plugins of a scheduler, by full name."""

    def __init__(self) -> None:
        self._metrics: dict[str, PluginMetric] = {}

    def __iter__(self) -> Iterator[PluginMetric]:
        return iter(self._metrics.values())

    def counter(self, plugin: str, name: str, help: str, labels: tuple[str, ...]) -> PluginCounter:
        found = self._known(PluginCounter, plugin, name, labels)
        return found or self._add(PluginCounter(_whole(plugin, name), help, labels))

    def gauge(self, plugin: str, name: str, help: str, labels: tuple[str, ...]) -> PluginGauge:
        found = self._known(PluginGauge, plugin, name, labels)
        return found or self._add(PluginGauge(_whole(plugin, name), help, labels))

    def histogram(
        self,
        plugin: str,
        name: str,
        help: str,
        labels: tuple[str, ...],
        bounds: tuple[float, ...] = SECONDS,
    ) -> PluginHistogram:
        found = self._known(PluginHistogram, plugin, name, labels)
        return found or self._add(PluginHistogram(_whole(plugin, name), help, labels, bounds))

    def _known(self, kind: type[M], plugin: str, name: str, labels: tuple[str, ...]) -> M | None:
        found = self._metrics.get(_whole(plugin, name))
        if found is None:
            return None
        if not isinstance(found, kind) or found.labels != labels:
            raise ValueError(f"{found.name} is there already, of another kind or by other labels")
        return found

    def _add(self, made: M) -> M:
        self._metrics[made.name] = made
        return made


def _whole(plugin: str, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"a metric cannot be named {name!r}: use letters, digits and _")
    return f"{PREFIX}_{re.sub('[^a-zA-Z0-9_]', '_', plugin)}_{name}"
