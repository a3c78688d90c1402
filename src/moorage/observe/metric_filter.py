"""Which metrics are shown, and which values of their labels: kube's metrics flags."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

import msgspec
import yaml

from moorage.observe.metric_families import Family

UNEXPECTED: Final = "unexpected"
"""The value that replaces a label's value that is not allowed, as in kube."""


class Collector(Protocol):
    """Collects metrics."""

    def collect(self) -> Iterable[Family]: ...


class MetricFilter(msgspec.Struct, frozen=True):
    """`disabled` by full name; `allowed` values by (metric, label)."""

    disabled: frozenset[str] = frozenset()
    allowed: Mapping[tuple[str, str], frozenset[str]] = {}

    def shown(self, registry: Collector) -> "Collector":
        """A registry's metrics after filtering."""
        return registry if not (self.disabled or self.allowed) else _Shown(self, registry)


class _Shown:
    def __init__(self, terms: MetricFilter, registry: Collector) -> None:
        self._terms = terms
        self._registry = registry

    def collect(self) -> Iterator[Family]:
        terms = self._terms
        labels: dict[str, dict[str, frozenset[str]]] = {}
        for (metric, label), values in terms.allowed.items():
            labels.setdefault(metric, {})[label] = values
        for family in self._registry.collect():
            names = {family.name, f"{family.name}_total"}
            if names & terms.disabled:
                continue
            limited = [labels[name] for name in names if name in labels]
            yield _limited(family, limited[0]) if limited else family


def _limited(family: Family, allowed: Mapping[str, frozenset[str]]) -> Family:
    """The family with values that are not allowed counted together."""
    from prometheus_client.core import Metric
    from prometheus_client.samples import Sample

    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for name, labels, value, *_ in family.samples:
        kept = tuple(
            (key, UNEXPECTED if key in allowed and text not in allowed[key] else text)
            for key, text in labels.items()
        )
        sums[name, kept] = sums.get((name, kept), 0.0) + value
    made = Metric(family.name, family.documentation, family.type, family.unit)
    made.samples = [Sample(name, dict(kept), value) for (name, kept), value in sums.items()]
    return made


def filter_of(
    disabled: Iterable[str], allowed: Iterable[str] = (), manifest: str = ""
) -> MetricFilter:
    """The filter of `--disabled-metrics`, `--allow-metric-labels` and its manifest."""
    listed = _manifest_values(manifest) if manifest else {}
    for text in allowed:
        key, equals, values = text.partition("=")
        if not equals or "," not in key:
            raise ValueError(f"--allow-metric-labels {text}: write METRIC,LABEL='VALUE,VALUE'")
        listed[_key(key)] = _values(values)
    return MetricFilter(frozenset(disabled), listed)


def _manifest_values(path: str) -> dict[tuple[str, str], frozenset[str]]:
    """The values of a manifest file by METRIC,LABEL.

    They are at the top level, as kube-scheduler reads them, or below `allowListMapping`, as its
    `--help` shows them.
    """
    option = f"--allow-metric-labels-manifest {path}"
    try:
        said = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {}
        if not isinstance(said, dict):
            raise ValueError("not a mapping of METRIC,LABEL to values")
        mapping = said.get("allowListMapping", said) or {}
        if not isinstance(mapping, dict):
            raise ValueError("allowListMapping: not a mapping of METRIC,LABEL to values")
        return {_key(str(key)): _values(str(values)) for key, values in mapping.items()}
    except OSError as error:
        raise ValueError(f"{option}: {error.strerror}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{option}: {' '.join(str(error).split())}") from None


def _key(text: str) -> tuple[str, str]:
    metric, comma, label = text.strip().partition(",")
    if not comma:
        raise ValueError(f"{text}: write METRIC,LABEL")
    return metric, label


def _values(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.strip().strip("'\"").split(",")))
