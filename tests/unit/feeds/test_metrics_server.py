"""What nodes use, as metrics.k8s.io says."""

import asyncio
from typing import Any

import pytest

from moorage.clock import VirtualClock
from moorage.feeds.metrics_server import NOT_ALLOWED, NOT_SERVED, MetricsServerUsage
from moorage.feeds.readings import FeedError
from moorage.policies.telemetry.node_measurements import Usage
from moorage.watch.api_errors import ApiError, Forbidden, NotFound, Unreachable
from tests.unit.feeds.fakes import NOW, FakeServer


def read(answer: dict[str, Any] | Exception) -> tuple[dict[str, Usage], FakeServer]:
    server: Any = FakeServer(answer)
    return asyncio.run(MetricsServerUsage(server, VirtualClock(NOW)).read()).found, server


def node_metrics(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "window": "20s", **more}


def test_usage_is_read_in_millicores_and_bytes() -> None:
    measured = {"timestamp": "1970-01-12T13:46:30Z", "usage": {"cpu": "1500m", "memory": "2Gi"}}

    found, server = read({"items": [node_metrics("n1", **measured)]})

    assert found == {"n1": Usage(1500.0, 2.0 * 2**30, NOW - 10)}
    assert server.asked == ["/apis/metrics.k8s.io/v1beta1/nodes"]


def test_nanocores_as_metrics_server_writes_them() -> None:
    usage = {"cpu": "156340112n", "memory": "1024Ki"}

    found, _ = read({"items": [node_metrics("n1", usage=usage)]})

    assert found == {"n1": Usage(157.0, 2.0**20, NOW)}


def test_without_a_time_it_was_measured_now() -> None:
    found, _ = read({"items": [node_metrics("n1", usage={"cpu": "1"})]})

    assert found["n1"].at == NOW


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(NotFound("no"), NOT_SERVED, id="a cluster without metrics-server"),
        pytest.param(Forbidden("no"), f"{NOT_ALLOWED} (no)", id="a role without the right to read"),
        pytest.param(Unreachable("gone"), "gone", id="an API server that is away"),
        pytest.param(
            {"items": [{"usage": {}}]},
            "metrics.k8s.io answers something else: Object missing required field `metadata`",
            id="an answer of another kind",
        ),
        pytest.param(
            {"items": [node_metrics("n1", usage={"cpu": "much"})]},
            "NodeMetrics n1: usage: ",
            id="a quantity that is none",
        ),
    ],
)
def test_what_goes_wrong_is_said_with_the_remedy(answer: Any, want: str) -> None:
    assert not isinstance(answer, FeedError)
    assert isinstance(answer, ApiError | dict)
    with pytest.raises(FeedError) as caught:
        read(answer)

    assert str(caught.value).startswith(want)
