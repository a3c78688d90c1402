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
