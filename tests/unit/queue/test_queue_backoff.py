from collections.abc import Callable

import pytest

from moorage.cache.podinfo import PodInfo
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.backoff import Backoff


@pytest.mark.parametrize(
    ("failures", "want"),
    [
        pytest.param(0, 0.0, id="a pod that never failed need not wait"),
        pytest.param(1, 1.0, id="the first failure costs the initial backoff"),
        pytest.param(2, 2.0, id="the second costs twice as much"),
        pytest.param(4, 8.0, id="and so on"),
        pytest.param(5, 10.0, id="up to the maximum"),
        pytest.param(5000, 10.0, id="however often it failed"),
    ],
)
def test_backoff_doubles(failures: int, want: float) -> None:
    assert Backoff().duration(failures) == want


def test_an_initial_backoff_above_the_maximum_is_cut_to_it() -> None:
    assert Backoff(initial=60.0, maximum=10.0).duration(1) == 10.0


@pytest.fixture
def failed(pod: Callable[..., PodInfo]) -> Callable[..., QueuedPod]:
    """A pod that came back at a time after so many refusals and errors."""

    def make(at: float, refusals: int = 0, errors: int = 0) -> QueuedPod:
        queued = QueuedPod(pod(), at)
        queued.unschedulable_count, queued.consecutive_errors = refusals, errors
        return queued

    return make


@pytest.mark.parametrize(
    ("now", "want"),
    [
        pytest.param(100.6, True, id="before its end"),
        pytest.param(101.99, True, id="until the window of its end is over"),
        pytest.param(102.0, False, id="and no longer"),
    ],
)
def test_a_pod_backs_off(failed: Callable[..., QueuedPod], now: float, want: bool) -> None:
    assert Backoff().is_backing_off(failed(100.6, refusals=1), now) is want


def test_errors_in_a_row_count_by_themselves(failed: Callable[..., QueuedPod]) -> None:
    assert Backoff().until(failed(100.0, refusals=4, errors=1)) == 101.0


def test_a_pod_that_never_failed_does_not_back_off(failed: Callable[..., QueuedPod]) -> None:
    assert not Backoff().is_backing_off(failed(100.0), 100.0)


def test_a_maximum_of_zero_switches_backoff_off(failed: Callable[..., QueuedPod]) -> None:
    assert not Backoff(maximum=0.0).is_backing_off(failed(100.0, refusals=3), 100.0)
