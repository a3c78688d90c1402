"""A server that cannot be reached is one line, and few more while that lasts."""

import logging
from typing import Any

import pytest

from moorage.observe.decision_log import UNREACHABLE, DecisionLog
from moorage.observe.repeated_failures import RepeatedFailures
from moorage.watch.api_errors import Forbidden, Unreachable


class Sink:
    verbosity = 0
    levels: Any = None
    render: Any = None
    writer: Any = None


class Time:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_it_is_said_first_then_ever_more_rarely() -> None:
    time = Time()
    failures = RepeatedFailures(time)
    said = []
    for second in range(400):
        time.now = 1000.0 + second
        if failures.due("refused") is not None:
            said.append(second)

    assert said == [0, 30, 90, 210]


def test_what_was_over_is_said_at_once_when_it_comes_again() -> None:
    time = Time()
    failures = RepeatedFailures(time)
    assert failures.due("refused") == 0
    assert failures.due("refused") is None
    time.now += 121

    assert failures.due("refused") == 0


def test_all_watches_that_get_no_answer_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    log = DecisionLog(Sink(), Time())
    with caplog.at_level(logging.WARNING, "moorage"):
        for kind in ("nodes", "pods", "services"):
            log.failed(f"watch/{kind}", "", Unreachable(f"GET /{kind}: Connection refused"))
        log.failed("watch/pods", "", Forbidden("pods is forbidden"))
        log.failed("watch/nodes", "", Forbidden("nodes is forbidden"))

    said = [record.getMessage() for record in caplog.records]
    assert said == [UNREACHABLE, "Failed", "Failed"]


def test_another_obstacle_than_before_is_said_at_once(caplog: pytest.LogCaptureFixture) -> None:
    """The API server is back, with a certificate that nobody knows, say."""
    log = DecisionLog(Sink(), Time())

    with caplog.at_level(logging.WARNING, "moorage"):
        for path in ("pods", "nodes"):
            log.failed(
                f"watch/{path}", "", Unreachable(f"GET https://api/{path}: Connection refused")
            )
            for why in ("certificate has expired", "Connection refused"):
                log.failed(f"watch/{path}", "", Unreachable(f"GET https://api/{path}: {why}"))
        for second in range(3):
            log.failed("watch/pods", "", Unreachable(f"config: exec: it ended with 1, {second}"))

    said = [record.fields["err"] for record in caplog.records]  # type: ignore[attr-defined]
    assert said == [
        "GET https://api/pods: Connection refused",
        "GET https://api/pods: certificate has expired",
        "config: exec: it ended with 1, 0",
    ]
