"""What became of the last pods of a version, and when it is to be given up for that alone."""

import pytest

from moorage.config.canary_limits import Rollback
from moorage.config.durations import Duration
from moorage.rollout.canary import Results, verdict


def results(
    *, failed: int = 0, good: int = 0, seconds: float = 0.001, window: int = 100
) -> Results:
    made = Results(window)
    for index in range(failed + good):
        made.decided(seconds)
        made.ended(f"pod-{index}", failed=index < failed)
    return made


def test_a_pod_counts_by_the_last_attempt_at_it() -> None:
    """One stubborn pod does not outvote the others."""
    found = results(good=9)
    for _ in range(50):
        found.ended("stubborn", failed=True)

    assert (found.pods, found.failure_rate) == (10, 0.1)
    found.ended("stubborn", failed=False)
    assert found.failure_rate == 0.0


def test_only_the_last_pods_are_looked_at() -> None:
    found = results(failed=10, window=10)
    for index in range(10):
        found.ended(f"later-{index}", failed=False)

    assert (found.pods, found.failure_rate) == (10, 0.0)


def test_latency_is_what_nine_of_ten_attempts_do_not_exceed() -> None:
    found = Results(100)
    for index in range(100):
        found.decided(1.0 if index < 5 else 0.01)

    assert found.latency == 0.01


@pytest.mark.parametrize(
    ("canary", "limits", "want"),
    [
        pytest.param(results(failed=9), {"max_failure_rate": 0.5}, "", id="too few pods"),
        pytest.param(
            results(failed=6, good=4),
            {"max_failure_rate": 0.5},
            "its failure rate, 60%, is above 50%",
            id="a failure rate above the limit",
        ),
        pytest.param(results(failed=5, good=5), {"max_failure_rate": 0.5}, "", id="at the limit"),
        pytest.param(
            results(good=10, seconds=0.2),
            {"max_latency": Duration.parse("100ms")},
            "its latency, 200 ms, is above 100ms",
            id="a latency above the limit",
        ),
        pytest.param(results(failed=10, seconds=9.0), {}, "", id="without limits"),
    ],
)
def test_it_is_given_up_for_what_it_does_itself(
    canary: Results, limits: dict[str, object], want: str
) -> None:
    none = {"max_failure_rate": None, "max_latency": None}
    rollback = Rollback(min_pods=10, window=100, **{**none, **limits})  # type: ignore[arg-type]

    assert verdict(canary, rollback) == want
