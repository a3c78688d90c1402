"""A loop that does not get on is found out."""

import asyncio
import threading

import pytest

from moorage.serve.loop_watchdog import (
    BEAT_SECONDS,
    HANGS_SECONDS,
    STUCK_SECONDS,
    LoopWatchdog,
)


class Flag:
    def __init__(self, value: bool) -> None:
        self.value = value

    def is_set(self) -> bool:
        return self.value


class Loop:
    """A scheduler's loop, as it looks from outside."""

    def __init__(self) -> None:
        self.attempts = 0
        self.synced = True
        self.active = Flag(True)
        self.ready = 0
        self.queue = self

    def pending_counts(self) -> dict[str, int]:
        return {"active": self.ready, "backoff": 0, "unschedulable": 5, "gated": 1}


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watchdog(loop: Loop, clock: Clock) -> LoopWatchdog:
    return LoopWatchdog(loop, clock)


def test_a_loop_with_nothing_to_do_is_not_stuck(
    watchdog: LoopWatchdog, loop: Loop, clock: Clock
) -> None:
    loop.ready = 3
    watchdog.beat(BEAT_SECONDS)
    clock.time = 10 * STUCK_SECONDS
    assert watchdog.stuck() is not None

    loop.ready = 0

    assert watchdog.stuck() is None


def test_ready_pods_without_attempts_mean_that_it_is_stuck(
    watchdog: LoopWatchdog, loop: Loop, clock: Clock
) -> None:
    loop.ready = 3
    assert watchdog.stuck() is None

    clock.time = STUCK_SECONDS

    assert watchdog.stuck() == "no attempt for 60 s, and 3 pods are ready"


def test_attempts_mean_that_it_gets_on(watchdog: LoopWatchdog, loop: Loop, clock: Clock) -> None:
    loop.ready = 3
    watchdog.beat(BEAT_SECONDS)
    clock.time = STUCK_SECONDS
    assert watchdog.stuck() is not None

    for minute in range(2, 5):
        loop.attempts += 1
        clock.time = minute * STUCK_SECONDS
        watchdog.beat(BEAT_SECONDS)

        assert watchdog.stuck() is None


@pytest.mark.parametrize("reason", ["standing by", "not synced"])
def test_a_loop_that_may_not_attempt_is_not_stuck(
    watchdog: LoopWatchdog, loop: Loop, clock: Clock, reason: str
) -> None:
    loop.ready = 3
    watchdog.beat(BEAT_SECONDS)
    clock.time = STUCK_SECONDS
    assert watchdog.stuck() is not None

    if reason == "standing by":
        loop.active.value = False
    else:
        loop.synced = False

    assert watchdog.stuck() is None


def test_pods_that_came_late_count_from_when_they_came(
    watchdog: LoopWatchdog, loop: Loop, clock: Clock
) -> None:
    clock.time = 100.0
    watchdog.beat(BEAT_SECONDS)
    loop.ready = 1
    clock.time = 100.0 + STUCK_SECONDS - 1
    assert watchdog.stuck() is None

    clock.time = 100.0 + STUCK_SECONDS
    assert watchdog.stuck() is not None


def test_the_lag_is_the_worst_since_last_asked(watchdog: LoopWatchdog) -> None:
    for seconds in (0.01, 0.5, 0.02):
        watchdog.beat(BEAT_SECONDS + seconds)

    assert watchdog.lag() == pytest.approx(0.5)
    assert watchdog.lag() == 0.0


def test_watching_ends_by_cancellation(watchdog: LoopWatchdog) -> None:
    async def main() -> bool:
        watching = asyncio.ensure_future(watchdog.run())
        await asyncio.sleep(0)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return watching.cancelled()

    assert asyncio.run(main())


def test_a_hang_is_reported_once_with_the_stack_of_the_main_thread(
    loop: Loop, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but Python's own frames is read, so a report cannot end what it reports."""
    clock = Clock()
    watchdog = LoopWatchdog(loop, clock)

    def seen_from_a_thread(seconds: float) -> str:
        clock.time = seconds
        thread = threading.Thread(target=watchdog.report_hang)
        thread.start()
        thread.join()
        return capsys.readouterr().err

    def selector_without_end() -> str:
        return seen_from_a_thread(HANGS_SECONDS)

    early, late, again = (
        seen_from_a_thread(HANGS_SECONDS - 1),
        selector_without_end(),
        seen_from_a_thread(HANGS_SECONDS + 1),
    )

    assert not early
    assert late.startswith("the event loop has been blocked for 10 s\nthread MainThread\n")
    assert ", in selector_without_end\n" in late
    assert not again


def test_hangs_are_watched_for_as_long_as_the_loop_is(watchdog: LoopWatchdog) -> None:
    async def main() -> threading.Thread:
        watching = asyncio.ensure_future(watchdog.run())
        await asyncio.sleep(0)
        thread = next(each for each in threading.enumerate() if each.name == "watchdog")
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return thread

    thread = asyncio.run(main())
    thread.join()

    assert thread.daemon
