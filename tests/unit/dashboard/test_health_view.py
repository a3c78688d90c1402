"""What is wrong is told, with a remedy; what is well is not."""

from typing import Any, NamedTuple

import pytest

from moorage.clock import VirtualClock
from moorage.dashboard.health_view import ApiAnswers, HealthSource, HealthView
from moorage.feeds.feeds import Feed
from moorage.observe.client_metrics import ClientMetrics
from moorage.serve.health import Check
from moorage.watch.api_resources import NODES
from moorage.watch.reflector import Reflector

OPEN = {
    "name": "Rules",
    "profile": "default-scheduler",
    "breaker": "open",
    "last_failure": "Filter: boom",
}


class Rare(NamedTuple):
    """Something that is to be read now and again."""

    name: str = "usage"
    seconds: float = 15.0


def watch(state: Any, heard_at: float) -> Reflector:
    made = Reflector.__new__(Reflector)
    made.resource, made.state, made.heard_at = NODES, state, heard_at
    made.failures, made.known = 2, {}
    return made


def page(**sources: Any) -> dict[str, Any]:
    return HealthView(HealthSource(**sources), lambda: 1000.0).page()


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        pytest.param(
            {"checks": lambda: [Check("up-to-date", lambda: "behind: pods")]},
            "up-to-date: behind: pods",
            id="a check that fails",
        ),
        pytest.param(
            {"watches": lambda: [watch("waiting", 999.0)]},
            "the watch of nodes failed, and waits to try again",
            id="a watch that failed",
        ),
        pytest.param(
            {"watches": lambda: [watch("watching", 800.0)]},
            "the watch of nodes has brought nothing for 200 s",
            id="a watch that is silent",
        ),
        pytest.param(
            {"plugins": lambda: [OPEN]},
            "plugin Rules of default-scheduler is switched off: Filter: boom",
            id="a plugin that is switched off",
        ),
    ],
)
def test_what_is_wrong_is_an_alert(sources: dict[str, Any], words: str) -> None:
    (alert,) = page(**sources)["alerts"]

    assert alert["text"] == words
    assert alert["remedy"]


def test_a_feed_that_was_never_read_is_not_well() -> None:
    clock = VirtualClock(1000.0)
    feed = Feed(Rare(), None, clock)  # type: ignore[arg-type] # nobody reads it

    found = page(feeds=lambda: [feed])

    assert found["feeds"] == [{"name": feed.source.name, "age_s": 0.0, "ok": False}]
    assert len(found["alerts"]) == 1


def test_well_is_well() -> None:
    found = page(
        checks=lambda: [Check("ping", lambda: None)], watches=lambda: [watch("watching", 999.0)]
    )

    assert found["alerts"] == []
    assert found["watches"][0] | {"objects": 0} == {
        "resource": "nodes",
        "group": "",
        "state": "watching",
        "age_s": 1.0,
        "relists": 2,
        "objects": 0,
    }


def test_the_api_server_is_as_fast_as_its_answers() -> None:
    requests = ClientMetrics("host")
    for _ in range(99):
        requests.answered("POST", 201, 0.004)
    requests.answered("GET", 503, 2.0)

    told = page(api=lambda: ApiAnswers(requests.durations(), requests.failed))["api"]

    assert told["p50_ms"] == 5.0
    assert told["errors_per_s"] == 0.0
    assert requests.failed == 1
