import asyncio

from moorage.kube.request_sender import TokenBucket


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


def taken(bucket: TokenBucket, times: int) -> None:
    async def take() -> None:
        for _ in range(times):
            await bucket.take()

    asyncio.run(take())


def test_a_burst_passes_at_once_and_the_rest_at_the_given_pace() -> None:
    time = Time()
    taken(TokenBucket(10, 3, lambda: time.now, time.sleep), 5)

    assert time.slept == [0.1, 0.1]


def test_those_who_wait_together_wait_in_line() -> None:
    time = Time()
    bucket = TokenBucket(10, 1, lambda: time.now, time.sleep)

    assert [round(bucket.reserve(), 3) for _ in range(4)] == [0.0, 0.1, 0.2, 0.3]


def test_an_idle_bucket_fills_up_to_the_burst_and_no_further() -> None:
    time = Time()
    bucket = TokenBucket(10, 2, lambda: time.now, time.sleep)
    taken(bucket, 2)
    time.now += 60
    taken(bucket, 3)

    assert time.slept == [0.1]


def test_without_a_limit_nobody_waits() -> None:
    time = Time()
    taken(TokenBucket(-1, 1, lambda: time.now, time.sleep), 1000)

    assert time.slept == []
