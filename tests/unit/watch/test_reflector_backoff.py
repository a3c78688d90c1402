import random

from moorage.watch.reflector import RetryBackoff


class _Steady(random.Random):
    """Always draws the same number."""

    def __init__(self, drawn: float) -> None:
        super().__init__(0)
        self._drawn = drawn

    def random(self) -> float:
        return self._drawn


def test_delays_double_from_800_ms_to_30_s() -> None:
    backoff = RetryBackoff(_Steady(0.0))

    assert [backoff.next() for _ in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_each_delay_is_stretched_by_up_to_itself() -> None:
    backoff = RetryBackoff(_Steady(0.5))

    assert [backoff.next(), backoff.next()] == [1.2000000000000002, 2.4000000000000004]


def test_a_reset_begins_with_the_shortest_delay_again() -> None:
    backoff = RetryBackoff(_Steady(0.0))
    backoff.next()
    backoff.next()

    backoff.reset()

    assert backoff.next() == 0.8
