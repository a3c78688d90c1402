"""kube-scheduler's metrics, by their names, labels and buckets."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from moorage.observe import catalogue
from moorage.observe.catalogue import CATALOGUE, Metric

BY_NAME = {
    metric.name + ("_total" if metric.kind == "counter" else ""): metric for metric in CATALOGUE
}

KUBE = {
    "schedule_attempts_total": ("STABLE", ("result", "profile"), None),
    "scheduling_attempt_duration_seconds": ("STABLE", ("result", "profile"), (0.001, 2, 15)),
    "preemption_victims": ("STABLE", (), (1, 2, 7)),
    "preemption_attempts_total": ("STABLE", (), None),
    "pending_pods": ("STABLE", ("queue",), None),
    "pod_scheduling_attempts": ("STABLE", (), (1, 2, 5)),
    "framework_extension_point_duration_seconds": (
        "STABLE",
        ("extension_point", "status", "profile"),
        (0.0001, 2, 12),
    ),
    "queue_incoming_pods_total": ("STABLE", ("queue", "event"), None),
    "scheduling_algorithm_duration_seconds": ("BETA", (), (0.001, 2, 15)),
    "goroutines": ("BETA", ("operation",), None),
    "pod_scheduling_sli_duration_seconds": ("BETA", ("attempts",), (0.01, 2, 20)),
    "plugin_execution_duration_seconds": (
        "BETA",
        ("plugin", "extension_point", "status"),
        (0.00001, 1.5, 20),
    ),
    "permit_wait_duration_seconds": ("BETA", ("result",), (0.001, 2, 15)),
    "unschedulable_pods": ("BETA", ("plugin", "profile"), None),
    "plugin_evaluation_total": ("BETA", ("plugin", "extension_point", "profile"), None),
    "cache_size": ("ALPHA", ("type",), None),
    "inflight_events": ("ALPHA", ("event",), None),
    "pod_scheduled_after_flush_total": ("ALPHA", (), None),
}


@pytest.mark.parametrize("name", KUBE, ids=lambda name: f"scheduler_{name} is kube-scheduler's")
def test_kube_scheduler_metrics(name: str) -> None:
    stability, labels, buckets = KUBE[name]
    metric = BY_NAME[f"scheduler_{name}"]

    assert (metric.stability, metric.labels) == (stability, labels)
    if buckets is None:
        assert metric.buckets == ()
    else:
        start, factor, count = buckets
        assert len(metric.buckets) == count
        assert metric.buckets[0] == start
        for low, high in pairwise(metric.buckets):
            assert high / low == pytest.approx(factor)


def test_no_metric_calls_itself_kube_schedulers_that_is_not() -> None:
    ours = {name.removeprefix("scheduler_") for name in BY_NAME if name.startswith("scheduler_")}

    assert ours == set(KUBE)


def faults(metric: Metric) -> list[str]:
    prefixes = ("scheduler_", "rest_client_") if metric.stability != "moorage" else ("moorage_",)
    rules = {
        "its help is no sentence": metric.help.endswith("."),
        "its name is another's": metric.name.startswith(prefixes),
        "histograms, and they alone, have buckets": (
            bool(metric.buckets) == (metric.kind == "histogram")
        ),
        "_total is added where it is exported": not metric.name.endswith("_total"),
    }
    return [f"{metric.name}: {rule}" for rule, kept in rules.items() if not kept]


def test_every_metric_says_what_it_is() -> None:
    assert [fault for metric in CATALOGUE for fault in faults(metric)] == []


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"help": "No sentence"}, "its help is no sentence"),
        ({"name": "scheduler_ours"}, "its name is another's"),
        ({"stability": "STABLE"}, "its name is another's"),
        ({"buckets": (1.0,)}, "histograms, and they alone, have buckets"),
        ({"kind": "histogram"}, "histograms, and they alone, have buckets"),
        ({"name": "moorage_x_total"}, "_total is added where it is exported"),
    ],
)
def test_a_metric_that_says_it_wrongly_is_noticed(wrong: dict[str, Any], fault: str) -> None:
    metric = msgspec.structs.replace(Metric("moorage_x", "counter", "A sentence."), **wrong)

    assert faults(Metric("moorage_x", "counter", "A sentence.")) == []
    assert faults(metric) == [f"{metric.name}: {fault}"]


def test_the_fine_buckets_contain_those_of_extension_points() -> None:
    assert set(catalogue.POINT_DURATION.buckets) <= set(catalogue.FINE)
    assert list(catalogue.FINE) == sorted(catalogue.FINE)
