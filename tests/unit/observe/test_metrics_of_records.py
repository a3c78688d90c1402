"""What Prometheus reads after single records were told, without a scheduler."""

import random
from pathlib import Path
from typing import Any

import pytest

from moorage.app.inputs import MetricFlags
from moorage.config.field_errors import InputError
from moorage.framework.verdicts import PluginError
from moorage.observe.metric_filter import filter_of
from moorage.observe.prometheus_metrics import NOMINATIONS_KEPT, Metrics
from moorage.observe.records import Attempt, Bound, Result
from moorage.watch.api_errors import Unreachable
from tests.unit.observe.scraped_metrics import PROFILE, names, read, value


def bound(**more: Any) -> Bound:
    given = {"attempts": 1, "since_added": 9.0, "since_ready": 4.0, "seconds": 0.5, "time": 20.0}
    fixed = {"attempt": "1", "pod": "default/web", "profile": PROFILE, "node": "a"}
    return Bound(**{"uid": "uid", **fixed, **given, **more})


@pytest.mark.parametrize(
    ("attempts", "label"),
    [
        pytest.param(1, "1", id="one attempt"),
        pytest.param(14, "14", id="fourteen attempts"),
        pytest.param(15, "15+", id="fifteen attempts are many"),
        pytest.param(40, "15+", id="and so are forty"),
    ],
)
def test_waiting_is_told_by_the_number_of_attempts(attempts: int, label: str) -> None:
    metrics = Metrics()
    metrics.bound(bound(attempts=attempts))

    name = "scheduler_pod_scheduling_sli_duration_seconds_sum"
    assert value(read(metrics), name, attempts=label) == 4.0


def test_pods_that_only_time_brought_back_are_counted() -> None:
    metrics = Metrics()
    metrics.bound(bound(flushed=True))
    metrics.bound(bound())

    assert value(read(metrics), "scheduler_pod_scheduled_after_flush_total") == 1


def test_calls_to_extenders_are_timed_by_verb_and_result() -> None:
    metrics = Metrics()
    metrics.called("http://x", "filter", "success", 0.003)
    metrics.called("http://x", "filter", "timeout", 1.0)

    labels = {"extender": "http://x", "verb": "filter"}
    name = "moorage_extender_call_duration_seconds_count"
    assert value(read(metrics), name, **labels, result="success") == 1
    assert value(read(metrics), name, **labels, result="timeout") == 1


def test_what_fails_beside_attempts_is_counted_by_kind() -> None:
    metrics = Metrics()
    metrics.failed("watch/pods", "", Unreachable("gone"))
    metrics.failed("default/web", "1", Unreachable("gone"))
    metrics.failed("default/web", "1", PluginError("Mine", "PostBind", "boom"))

    found = read(metrics)
    assert value(found, "moorage_errors_total", kind="watch/pods") == 1
    assert value(found, "moorage_errors_total", kind="Unreachable") == 1
    assert value(found, "moorage_plugin_errors_total", plugin="Mine", extension_point="PostBind")


def nominated(uid: str, time: float) -> Attempt:
    result = Result.UNSCHEDULABLE
    return Attempt("1", "default/web", uid, PROFILE, result, time, nominated="a", victims=1)


def test_a_nomination_counts_from_when_it_was_first_made() -> None:
    metrics = Metrics()
    metrics.attempted(nominated("uid", 5.0))
    metrics.attempted(nominated("uid", 12.0))
    metrics.bound(bound(time=20.0))

    assert value(read(metrics), "moorage_nomination_duration_seconds_sum") == 15.0


def test_nominations_that_come_to_nothing_are_forgotten_in_the_end() -> None:
    metrics = Metrics()
    for number in range(NOMINATIONS_KEPT + 1):
        metrics.attempted(nominated(str(number), 0.0))
    metrics.bound(bound(uid="0"))
    metrics.bound(bound(uid="1"))

    assert value(read(metrics), "moorage_nomination_duration_seconds_count") == 1


def test_the_configuration_in_force_is_told() -> None:
    metrics = Metrics()
    metrics.configured(3, "abc")

    found = read(metrics)
    assert value(found, "moorage_config_generation") == 3
    assert value(found, "moorage_config_info", digest="abc") == 1


def test_the_share_of_attempts_that_are_sampled_is_as_asked() -> None:
    metrics = Metrics(rng=random.Random(1))
    sampled = 0
    for _ in range(2000):
        timer = metrics.timer(PROFILE)
        timer.step("Score")
        sampled += not isinstance(timer.each([("A", None)]), list)

    assert 150 < sampled < 250


@pytest.mark.parametrize(
    ("accept", "want"),
    [
        pytest.param("", "text/plain", id="text by default"),
        pytest.param(
            "application/openmetrics-text; version=1.0.0",
            "application/openmetrics-text",
            id="OpenMetrics when asked for",
        ),
    ],
)
def test_formats(accept: str, want: str) -> None:
    _, content_type = Metrics().render(accept)

    assert content_type.startswith(want)


def test_metrics_may_be_left_out_and_their_labels_limited() -> None:
    shown = filter_of(
        ["scheduler_pending_pods", "scheduler_schedule_attempts_total"],
        ["moorage_errors_total,kind='watch/pods'"],
    )
    metrics = Metrics(shown=shown)
    metrics.attempted(Attempt("1", "a/b", "u", PROFILE, Result.ERROR, 0.0))
    for kind in ("watch/pods", "watch/nodes", "watch/secrets"):
        metrics.failed(kind, "", Unreachable("no answer"))
    found = read(metrics)

    assert not names(found) & {"scheduler_pending_pods", "scheduler_schedule_attempts_total"}
    assert value(found, "moorage_errors_total", kind="watch/pods") == 1
    assert value(found, "moorage_errors_total", kind="unexpected") == 2
    assert value(found, "moorage_errors_total", kind="watch/nodes") is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("errors,kind: a,b\n", id="at the top, as kube-scheduler reads it"),
        pytest.param(
            'allowListMapping:\n  "errors,kind": "a,b"\n', id="as kube-scheduler's help shows it"
        ),
    ],
)
def test_a_manifest_limits_labels(text: str, tmp_path: Path) -> None:
    manifest = tmp_path / "labels.yaml"
    manifest.write_text(text)

    assert filter_of((), (), str(manifest)).allowed == {("errors", "kind"): frozenset("ab")}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a: [1", "labels.yaml: while parsing a flow sequence", id="no YAML"),
        pytest.param("- errors,kind", "labels.yaml: not a mapping of METRIC,LABEL", id="a list"),
        pytest.param("errors: a", "labels.yaml: errors: write METRIC,LABEL", id="no label"),
        pytest.param(None, "labels.yaml: No such file or directory", id="no file"),
    ],
)
def test_a_manifest_of_labels_that_cannot_be_read_is_named(
    text: str | None, want: str, tmp_path: Path
) -> None:
    manifest = tmp_path / "labels.yaml"
    if text is not None:
        manifest.write_text(text)

    with pytest.raises(InputError) as caught:
        MetricFlags(allow_metric_labels_manifest=str(manifest)).filter()

    assert str(caught.value).startswith("--allow-metric-labels-manifest ")
    assert want in str(caught.value)
