"""A steady pace, as Go's tickers keep it: a tick that nobody waited for is not made up for."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable


class Ticker:
    """Ticks every so many seconds; the last tick that came is kept until somebody asks."""

    def __init__(
        self,
        seconds: float,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._seconds = seconds
        self._now = now
        self._sleep = sleep
        self._next = now() + seconds

    async def tick(self) -> None:
        """Return at the next tick, or at once where one has come meanwhile."""
        late = self._now() - self._next
        if late < 0:
            await self._sleep(-late)
            self._next += self._seconds
        else:
            self._next += self._seconds * (math.floor(late / self._seconds) + 1)
