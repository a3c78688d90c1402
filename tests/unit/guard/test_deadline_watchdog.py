"""When a late call may be interrupted: never while Moorage's own code is at work."""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from moorage.guard import deadline_watchdog
from moorage.guard.deadline_watchdog import (
    GRACE_SECONDS,
    GUARD_MODULE,
    NEVER,
    DeadlineWatchdog,
    Overdue,
    TimedCall,
)

PLUGIN, ENGINE, LIBRARY = "rules", "moorage.cache.table", "numpy"
GUARD = "moorage.guard.node_hooks"


def frames(*modules: str) -> FrameType:
    """The innermost frame of a stack of calls, the outermost module first."""

    def code(module: str) -> Callable[[Any], Any]:
        scope: dict[str, Any] = {"__name__": module, "sys": __import__("sys")}
        exec("def f(then):\n    return then() if then else sys._getframe()", scope)
        made: Callable[[Any], Any] = scope["f"]
        return made

    def called(rest: tuple[str, ...]) -> Any:
        function = code(rest[0])
        return function((lambda: called(rest[1:])) if len(rest) > 1 else None)

    frame: FrameType = called(modules)
    return frame


@pytest.mark.parametrize(
    ("stack", "own"),
    [
        pytest.param((GUARD, PLUGIN), False, id="a plugin's own code"),
        pytest.param((GUARD, PLUGIN, LIBRARY), False, id="a library that a plugin called"),
        pytest.param((GUARD, LIBRARY), False, id="a hook that comes from a library"),
        pytest.param((GUARD, PLUGIN, ENGINE), True, id="our code that a plugin called"),
        pytest.param((GUARD, PLUGIN, ENGINE, LIBRARY), True, id="a library that our code called"),
        pytest.param((GUARD, PLUGIN, ENGINE, PLUGIN), False, id="a plugin that we called back"),
        pytest.param((GUARD,), True, id="the guard's loop over nodes"),
    ],
)
def test_whose_code_is_at_work(stack: tuple[str, ...], own: bool) -> None:
    assert deadline_watchdog._is_own(frames(*stack), PLUGIN) is own


@pytest.fixture
def overdue(monkeypatch: pytest.MonkeyPatch) -> DeadlineWatchdog:
    """A run whose time is over since a moment, by a clock that stands still."""
    made = DeadlineWatchdog()
    made.running = TimedCall(PLUGIN)
    made.running.due = 100.0
    monkeypatch.setattr(deadline_watchdog, "now", lambda: 100.1)
    return made


def test_a_late_plugin_is_interrupted(overdue: DeadlineWatchdog) -> None:
    with pytest.raises(Overdue):
        overdue._interrupt(signal.SIGURG, frames(GUARD, PLUGIN))


def test_our_own_code_is_let_finish_for_a_while(
    overdue: DeadlineWatchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    overdue._interrupt(signal.SIGURG, frames(GUARD, PLUGIN, ENGINE))

    monkeypatch.setattr(deadline_watchdog, "now", lambda: 100.1 + GRACE_SECONDS)
    with pytest.raises(Overdue):
        overdue._interrupt(signal.SIGURG, frames(GUARD, PLUGIN, ENGINE))


def test_where_calls_begin_and_end_nothing_is_interrupted(
    overdue: DeadlineWatchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline_watchdog, "now", lambda: 1000.0)

    overdue._interrupt(signal.SIGURG, frames(GUARD_MODULE))


def test_what_the_watchdog_itself_waits_for_is_not_interrupted(
    overdue: DeadlineWatchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline_watchdog, "now", lambda: 1000.0)

    overdue._interrupt(signal.SIGURG, frames(GUARD_MODULE, deadline_watchdog.__name__, "threading"))


def test_a_call_has_its_whole_time_once_the_thread_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Starting a thread on a busy machine may take longer than a plugin's deadline."""
    before = signal.getsignal(signal.SIGURG)
    clock = [100.0]

    class SlowToStart(threading.Thread):
        def start(self) -> None:
            assert made.running is None
            clock[0] += 5.0

    made, run = DeadlineWatchdog(), TimedCall(PLUGIN)
    monkeypatch.setattr(deadline_watchdog, "now", lambda: clock[0])
    monkeypatch.setattr(threading, "Thread", SlowToStart)
    try:
        made.enter(run, 0.05)
        assert (made.running, run.due) == (run, 105.05)
    finally:
        signal.signal(signal.SIGURG, before)


def test_a_signal_that_comes_too_late_does_nothing(overdue: DeadlineWatchdog) -> None:
    assert overdue.running is not None
    overdue.leave(overdue.running)

    overdue._interrupt(signal.SIGURG, frames(GUARD, PLUGIN))


def test_who_swallows_the_interruption_is_interrupted_again(
    overdue: DeadlineWatchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for later in (100.1, 101.2, 102.3):
        monkeypatch.setattr(deadline_watchdog, "now", lambda later=later: later)
        with pytest.raises(Overdue):
            overdue._interrupt(signal.SIGURG, frames(GUARD, PLUGIN))


def test_of_runs_within_runs_the_innermost_late_one_is_named(overdue: DeadlineWatchdog) -> None:
    outer, inner = overdue.running, TimedCall(PLUGIN)
    inner.due, inner.outer = NEVER, outer
    overdue.running = inner

    with pytest.raises(Overdue) as raised:
        overdue._interrupt(signal.SIGURG, frames(GUARD, PLUGIN))

    assert raised.value.run is outer


def hang(watching: DeadlineWatchdog, run: TimedCall) -> None:
    watching.enter(run, 0.02)
    threading.Event().wait(30)


def test_the_thread_sleeps_when_there_is_nothing_to_watch_and_wakes_when_there_is() -> None:
    before = signal.getsignal(signal.SIGURG)
    made, run = DeadlineWatchdog(), TimedCall(__name__)
    made.expect(0.02)
    try:
        made.enter(run, 100)
        made.leave(run)
        deadline = time.monotonic() + 30
        while not made._idle:
            assert time.monotonic() < deadline
        with pytest.raises(Overdue):
            hang(made, run)
        made.leave(run)
    finally:
        signal.signal(signal.SIGURG, before)


def test_once_calls_are_over_the_thread_looks_twice_more_at_the_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = signal.getsignal(signal.SIGURG)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        pause(seconds)

    pause = time.sleep
    made, run = DeadlineWatchdog(), TimedCall(__name__)
    made.expect(0.02)
    monkeypatch.setattr(time, "sleep", sleep)
    try:
        made.enter(run, 100)
        made.leave(run)
        looked = len(pauses)
        deadline = time.monotonic() + 30
        while not made._idle:
            assert time.monotonic() < deadline
        assert len(pauses) <= looked + 2
    finally:
        signal.signal(signal.SIGURG, before)
