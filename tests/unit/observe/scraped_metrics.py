"""Metrics as Prometheus reads them: samples by name and labels."""

from prometheus_client.parser import text_string_to_metric_families

from moorage.observe.prometheus_metrics import Metrics

Read = dict[tuple[str, frozenset[tuple[str, str]]], float]
PROFILE = "default-scheduler"


def read(metrics: Metrics) -> Read:
    body, _ = metrics.render()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def value(found: Read, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def names(found: Read) -> set[str]:
    return {name for name, _ in found}
