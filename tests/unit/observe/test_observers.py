"""Watching changes nothing: an observer that fails is switched off, and named."""

from moorage.framework.cycle import NO_TIMER, NoTimer, Timer
from moorage.observe.observers import Observers
from moorage.observe.records import Attempt, Result

ATTEMPT = Attempt("1", "default/web", "uid", "moorage", Result.SCHEDULED, 0.0)


class Broken:
    """Fails whenever it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def timer(self, profile: str, pod: str, attempt: str) -> Timer:
        self.asked += 1
        raise RuntimeError("no clock")

    def attempted(self, attempt: Attempt) -> None:
        self.asked += 1
        raise RuntimeError("no log")


class Listener:
    """Hears of attempts, and times them."""

    def __init__(self) -> None:
        self.heard: list[Attempt] = []
        self.timing = NoTimer()

    def timer(self, profile: str, pod: str, attempt: str) -> Timer:
        return self.timing

    def attempted(self, attempt: Attempt) -> None:
        self.heard.append(attempt)


def test_an_observer_that_raises_is_not_called_again_and_the_others_are() -> None:
    broken, listener = Broken(), Listener()
    observers = Observers([broken, listener])

    observers.attempted(ATTEMPT)
    observers.attempted(ATTEMPT)

    assert broken.asked == 1
    assert listener.heard == [ATTEMPT, ATTEMPT]
    assert [observer for observer, _ in observers.switched_off] == [broken]


def test_nobody_times_where_no_observer_does() -> None:
    assert Observers([object()]).timer("moorage") is NO_TIMER


def test_the_first_observer_that_can_time_does() -> None:
    broken, listener = Broken(), Listener()
    observers = Observers([broken, listener])

    assert observers.timer("moorage") is listener.timing
    assert observers.timer("moorage") is listener.timing
    assert broken.asked == 1
