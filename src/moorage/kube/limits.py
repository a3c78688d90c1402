"""The pace of requests: client-go's token bucket."""

import asyncio
from collections.abc import Awaitable, Callable


class TokenBucket:
    """Lets `burst` requests through at once and `qps` per second after that, in order.

    A `qps` of zero or less lets everything through.
    """

    def __init__(
        self,
        qps: float,
        burst: int,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._qps = qps
        self._burst = float(max(burst, 1))
        self._now = now
        self._sleep = sleep
        self._tokens = self._burst
        self._filled = now()

    async def take(self) -> None:
        """Return when it is this request's turn."""
        if self._qps <= 0:
            return
        delay = self.reserve()
        if delay > 0:
            await self._sleep(delay)

    def reserve(self) -> float:
        """Take a token, on credit where there is none, and say how long to wait for it."""
        now = self._now()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._qps)
        self._filled = now
        self._tokens -= 1
        return -self._tokens / self._qps if self._tokens < 0 else 0.0
