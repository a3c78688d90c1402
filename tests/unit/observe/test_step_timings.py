"""Steps and plugins are timed by what the engine says, to the tick."""

import pytest

from moorage.observe.step_timings import Timer, Timings

PLUGINS = [("First", None), ("Second", None), ("Third", None)]


class Clock:
    """Moves when told to."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time

    def wait(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timings(clock: Clock) -> Timings:
    return Timings(clock)


def steps(timings: Timings) -> dict[tuple[str, ...], tuple[int, float]]:
    return {key: (tally.count, round(tally.total, 6)) for key, tally in timings.steps()}


def plugins(timings: Timings) -> dict[tuple[str, ...], tuple[int, float]]:
    return {key: (t.count, round(t.total, 6)) for key, t in timings.plugins.items()}


def timer(timings: Timings, *, sampled: bool = False) -> Timer:
    return Timer(timings.of("web"), sampled)


def test_a_step_lasts_until_the_next_begins_or_none_does(clock: Clock, timings: Timings) -> None:
    attempt = timer(timings)
    attempt.step("PreFilter")
    clock.wait(1)
    attempt.step("Filter")
    clock.wait(2)
    attempt.step("")
    clock.wait(4)
    attempt.step("Reserve")
    clock.wait(8)
    attempt.step("", "Unschedulable")

    assert steps(timings) == {
        ("PreFilter", "Success", "web"): (1, 1.0),
        ("Filter", "Success", "web"): (1, 2.0),
        ("Reserve", "Unschedulable", "web"): (1, 8.0),
    }


def test_deciding_lasts_from_the_beginning_until_no_step_follows(
    clock: Clock, timings: Timings
) -> None:
    attempt = timer(timings)
    clock.wait(1)
    attempt.step("Filter")
    clock.wait(2)
    attempt.step("")
    clock.wait(4)
    attempt.step("Bind")
    attempt.step("")

    assert (timings.algorithm.count, timings.algorithm.total) == (1, 3.0)


def test_ending_when_nothing_has_begun_counts_nothing(timings: Timings) -> None:
    timer(timings).step("", "Error")

    assert steps(timings) == {}


def test_waiting_for_permission_is_counted_by_its_result(clock: Clock, timings: Timings) -> None:
    attempt = timer(timings)
    attempt.step("WaitOnPermit")
    clock.wait(5)
    attempt.step("", "Unschedulable")

    assert steps(timings) == {}
    assert timings.permits.of("Unschedulable").total == 5.0


def test_who_is_asked_is_counted_in_every_attempt(timings: Timings) -> None:
    for _ in range(2):
        attempt = timer(timings)
        attempt.step("Score")
        assert list(attempt.each(PLUGINS)) == PLUGINS
        attempt.step("Bind")
        assert list(attempt.each(PLUGINS)) == PLUGINS

    assert timings.of("web").asked == {("Score", ("First", "Second", "Third")): 2}
    assert plugins(timings) == {}


def test_a_sampled_attempt_is_timed_plugin_by_plugin(clock: Clock, timings: Timings) -> None:
    attempt = timer(timings, sampled=True)
    attempt.step("Filter")
    for seconds, (_, _) in enumerate(attempt.each(PLUGINS), start=1):
        clock.wait(seconds)
    attempt.step("")

    assert plugins(timings) == {
        ("First", "Filter", "Success"): (1, 1.0),
        ("Second", "Filter", "Success"): (1, 2.0),
        ("Third", "Filter", "Success"): (1, 3.0),
    }


def test_the_plugin_that_ends_a_point_has_the_status_of_the_point(
    clock: Clock, timings: Timings
) -> None:
    attempt = timer(timings, sampled=True)
    attempt.step("Reserve")
    for name, _ in attempt.each(PLUGINS):
        clock.wait(1)
        if name == "Second":
            break
    clock.wait(10)
    attempt.step("", "Unschedulable")

    assert plugins(timings) == {
        ("First", "Reserve", "Success"): (1, 1.0),
        ("Second", "Reserve", "Unschedulable"): (1, 1.0),
    }


def test_a_plugin_that_raises_ends_its_point_with_an_error(clock: Clock, timings: Timings) -> None:
    def score() -> None:
        for _ in attempt.each(PLUGINS):
            clock.wait(1)
            raise ZeroDivisionError

    attempt = timer(timings, sampled=True)
    attempt.step("Score")
    with pytest.raises(ZeroDivisionError):
        score()
    attempt.step("", "Error")

    assert plugins(timings) == {("First", "Score", "Error"): (1, 1.0)}
    assert steps(timings) == {("Score", "Error", "web"): (1, 1.0)}


def test_a_step_taken_while_a_plugin_runs_ends_the_plugin(clock: Clock, timings: Timings) -> None:
    """Binding takes the next step before it leaves its loop."""
    attempt = timer(timings, sampled=True)
    attempt.step("Bind")
    for _ in attempt.each(PLUGINS):
        clock.wait(2)
        attempt.step("")
        break
    attempt.step("PostBind")
    attempt.step("")

    assert plugins(timings) == {("First", "Bind", "Success"): (1, 2.0)}
