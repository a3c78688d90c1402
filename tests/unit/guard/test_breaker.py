"""A breaker opens after failures in a row, tries again later, and closes when that works."""

import pytest

from moorage.guard.breaker import Breaker, State


def attempts(breaker: Breaker, outcomes: str, *, now: float = 0.0, strand: str = "deciding") -> str:
    """Run units, `x` failing and `.` passing; what the breaker said: asked, or not (`-`)."""
    said = ""
    for outcome in outcomes:
        asked = breaker.begin(strand, object(), now)
        if asked and outcome == "x":
            breaker.fail(strand, now, "boom")
        said += outcome if asked else "-"
    return said


@pytest.mark.parametrize(
    ("outcomes", "want"),
    [
        pytest.param("xxx", State.OPEN, id="as many failures in a row as the threshold open it"),
        pytest.param("xx", State.CLOSED, id="fewer do not"),
        pytest.param("xx.xx", State.CLOSED, id="a unit that passes starts the count anew"),
        pytest.param("xx.xxx", State.OPEN, id="and then the count is full again"),
    ],
)
def test_opening(outcomes: str, want: State) -> None:
    breaker = Breaker(3, 30.0)

    attempts(breaker, outcomes)

    assert breaker.state is want


def test_an_open_breaker_lets_nobody_through_until_the_cooldown_is_over() -> None:
    breaker = Breaker(3, 30.0)

    assert attempts(breaker, "xxx") == "xxx"
    assert attempts(breaker, "..", now=29.9) == "--"
    assert attempts(breaker, ".", now=30.0) == "."
    assert breaker.state is State.HALF_OPEN


def test_one_failure_on_trial_opens_it_again() -> None:
    breaker = Breaker(3, 30.0)

    attempts(breaker, "xxx")
    attempts(breaker, "x", now=31.0)

    assert (breaker.state, breaker.until, breaker.trips) == (State.OPEN, 61.0, 2)


def test_a_trial_that_passes_closes_it_and_forgets_the_failures() -> None:
    breaker = Breaker(3, 30.0)

    attempts(breaker, "xxx")
    attempts(breaker, "..", now=31.0)

    assert breaker.state is State.CLOSED
    assert attempts(breaker, "xx.", now=32.0) == "xx."
    assert breaker.state is State.CLOSED


def test_several_failures_of_one_attempt_count_once() -> None:
    breaker, attempt = Breaker(2, 30.0), object()

    for _ in range(5):
        breaker.begin("deciding", attempt, 0.0)
        breaker.fail("deciding", 0.0, "boom")

    assert breaker.state is State.CLOSED


def test_a_binding_that_works_in_between_does_not_excuse_failed_decisions() -> None:
    breaker = Breaker(3, 30.0)

    for _ in range(3):
        attempts(breaker, "x")
        attempts(breaker, ".", strand="binding")

    assert breaker.state is State.OPEN


def test_a_threshold_of_zero_never_opens() -> None:
    breaker = Breaker(0, 30.0)

    attempts(breaker, "x" * 100)

    assert breaker.state is State.CLOSED
