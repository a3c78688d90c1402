"""What is said, at which verbosity, and how it ties together."""

import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from moorage.framework.verdicts import PluginError
from moorage.observe import logs
from moorage.observe.logs import Logs, say
from moorage.observe.records import Attempt, Bound, Result

SCHEDULED = Attempt(
    id="1f",
    pod="default/web",
    uid="uid",
    profile="moorage",
    result=Result.SCHEDULED,
    time=1000.0,
    seconds=0.00025,
    node="node-7",
    score=412,
    feasible=40,
    evaluated=50,
)
UNSCHEDULABLE = msgspec.structs.replace(
    SCHEDULED,
    result=Result.UNSCHEDULABLE,
    message="0/50 nodes are available: 50 Insufficient cpu.",
    nominated="node-3",
    victims=2,
)
ERROR = msgspec.structs.replace(
    SCHEDULED,
    result=Result.ERROR,
    message="running Filter plugin 'Mine': boom",
    plugin="Mine",
    point="Filter",
)
BOUND = Bound("1f", "default/web", "uid", "moorage", "node-7", 1000.5, 1, 2.0, 2.0, 0.5)

Open = Callable[[int], Logs]


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def opened(stream: io.StringIO) -> Iterator[Open]:
    made: list[Logs] = []

    def open_at(verbosity: int) -> Logs:
        made.append(logs.configure(verbosity, "json", stream))
        return made[-1]

    yield open_at
    for log in made:
        log.close()


def lines(log: Logs, stream: io.StringIO) -> list[dict[str, Any]]:
    log.flush()
    return [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]


def test_a_decision_is_one_line(opened: Open, stream: io.StringIO) -> None:
    log = opened(2)
    log.decisions().attempted(SCHEDULED)

    assert lines(log, stream) == [
        {
            "ts": 1_000_000.25,
            "v": 2,
            "logger": "decisions",
            "msg": "Scheduled",
            "pod": "default/web",
            "node": "node-7",
            "score": 412,
            "feasible": 40,
            "evaluated": 50,
            "profile": "moorage",
            "attempt": "1f",
            "attempts": 1,
            "ms": 0.25,
        }
    ]


def test_a_pod_that_fits_nowhere_says_why_and_where_room_is_made(
    opened: Open, stream: io.StringIO
) -> None:
    log = opened(2)
    log.decisions().attempted(UNSCHEDULABLE)

    [line] = lines(log, stream)
    assert line["msg"] == "Unschedulable"
    assert line["reason"] == "0/50 nodes are available: 50 Insufficient cpu."
    assert (line["nominated"], line["victims"], line["attempt"]) == ("node-3", 2, "1f")


def test_a_failed_attempt_is_told_at_any_verbosity_and_names_the_plugin(
    opened: Open, stream: io.StringIO
) -> None:
    log = opened(0)
    log.decisions().attempted(ERROR)

    [line] = lines(log, stream)
    assert (line["level"], line["msg"], line["attempt"]) == ("error", "Attempt failed", "1f")
    assert (line["plugin"], line["extension_point"]) == ("Mine", "Filter")


@pytest.mark.parametrize(
    ("verbosity", "want"),
    [
        pytest.param(0, [], id="at 0 nothing is said of decisions"),
        pytest.param(2, ["Scheduled"], id="at 2 each decision is a line"),
        pytest.param(4, ["Scheduled", "Bound"], id="at 4 each binding, too"),
    ],
)
def test_verbosity(opened: Open, stream: io.StringIO, verbosity: int, want: list[str]) -> None:
    log = opened(verbosity)
    decisions = log.decisions()
    decisions.attempted(SCHEDULED)
    decisions.bound(BOUND)

    assert [line["msg"] for line in lines(log, stream)] == want


def test_verbosity_changes_while_running(opened: Open, stream: io.StringIO) -> None:
    log = opened(0)
    decisions = log.decisions()
    decisions.attempted(SCHEDULED)
    log.verbosity = 2
    decisions.attempted(UNSCHEDULABLE)

    assert [line["msg"] for line in lines(log, stream)] == ["Unschedulable"]


def test_a_negative_verbosity_is_refused(opened: Open) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        opened(0).verbosity = -1


@pytest.mark.parametrize(
    ("verbosity", "want"),
    [
        pytest.param(0, ["V0"], id="-v 0 shows V(0)"),
        pytest.param(4, ["V0", "V4"], id="-v 4 shows up to V(4)"),
        pytest.param(10, ["V0", "V4", "V10"], id="-v 10 shows everything"),
    ],
)
def test_levels(opened: Open, stream: io.StringIO, verbosity: int, want: list[str]) -> None:
    log = opened(verbosity)
    for level in (0, 4, 10):
        say(logs.level(level), f"V{level}")

    assert [(line["msg"], line["v"]) for line in lines(log, stream)] == [
        (name, int(name[1:])) for name in want
    ]


def test_other_libraries_are_heard_when_they_warn(opened: Open, stream: io.StringIO) -> None:
    log = opened(2)
    logging.getLogger("somebody.else").info("chatter")
    logging.getLogger("somebody.else").warning("watch out")

    assert [line["msg"] for line in lines(log, stream)] == ["watch out"]


def test_an_exception_is_told_with_its_stack_in_one_line(opened: Open, stream: io.StringIO) -> None:
    log = opened(0)
    try:
        raise ValueError("boom")
    except ValueError:
        logging.getLogger("moorage.kube").exception("broken")

    [line] = lines(log, stream)
    assert line["logger"] == "kube"
    assert line["stacktrace"].endswith("ValueError: boom")


def test_what_fails_beside_attempts_is_a_warning_with_the_attempts_id(
    opened: Open, stream: io.StringIO
) -> None:
    log = opened(0)
    log.decisions().failed("default/web", "1f", PluginError("Mine", "Unreserve", "boom"))

    [line] = lines(log, stream)
    assert (line["level"], line["about"], line["attempt"]) == ("warning", "default/web", "1f")
    assert (line["plugin"], line["extension_point"]) == ("Mine", "Unreserve")


def test_closing_leaves_the_loggers_as_they_were(stream: io.StringIO) -> None:
    logs.configure(5, "text", stream).close()

    assert logging.getLogger("moorage").level == logging.NOTSET
    assert not any(isinstance(handler, Logs) for handler in logging.getLogger().handlers)
