"""What is growth, and what is not."""

import random

import pytest

from tests.soak.samples import Sample, growing, trends
from tests.soak.trend import trend

SECONDS = [2.0 * i for i in range(300)]


def series(rss: float, noise: float, sockets_per_minute: float = 0.0) -> list[Sample]:
    rng = random.Random(1)
    return [
        Sample(
            seconds=at,
            rss_mb=150 + rss * at / 60 + rng.uniform(-noise, noise),
            tasks=60 + rng.randrange(20),
            sockets=round(20 + sockets_per_minute * at / 60),
            fds=40,
            threads=8,
        )
        for at in SECONDS
    ]


@pytest.mark.parametrize(
    ("samples", "want"),
    [
        pytest.param(series(0.0, 15.0), [], id="noise is no growth"),
        pytest.param(series(6.0, 15.0), ["rss_mb"], id="memory that grows under noise does"),
        pytest.param(series(0.0, 1.0, 2.0), ["sockets"], id="and so do sockets"),
    ],
)
def test_what_grows(samples: list[Sample], want: list[str]) -> None:
    assert growing(trends(samples)) == want


def test_the_warm_up_is_left_out() -> None:
    values = [min(at, 150.0) for at in SECONDS]

    assert trend(SECONDS, values).per_minute == pytest.approx(0.0, abs=1e-6)


def test_the_slope_is_per_minute() -> None:
    assert trend(SECONDS, [at / 60 for at in SECONDS]).per_minute == pytest.approx(1.0)
