"""SIGUSR2: dumps cache and queue to the log, and compares the cache with the API server."""

import asyncio
import logging
from typing import Final

from moorage.clock import Clock
from moorage.observe.logs import say
from moorage.scheduler.cache_debugger import compare, dump
from moorage.scheduler.scheduler import Scheduler
from moorage.watch.api_errors import ApiError

SETTLE_SECONDS: Final = 2.0
"""A difference counts as a mismatch if it is still there after this time."""


class CacheComparison:
    """Compares a scheduler's cache and queue with its API server, and logs the result."""

    def __init__(self, scheduler: Scheduler, clock: Clock) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._under_way: asyncio.Future[None] | None = None

    def begin(self) -> None:
        """Start a comparison in a task; the loop goes on meanwhile."""
        self._under_way = asyncio.ensure_future(self.run())

    async def run(self) -> None:
        """Log the cache and the queue, and how they differ from the API server."""
        for line in dump(self._scheduler.cache, self._scheduler.queue):
            say(logging.INFO, line)
        try:
            for line in await self.differences():
                say(logging.WARNING, f"cache mismatch: {line}")
        except ApiError as error:
            say(logging.WARNING, "the cache could not be compared", err=str(error))
        else:
            say(logging.INFO, "cache compared")

    async def differences(self) -> list[str]:
        """How cache and queue differ from the API server, both now and `SETTLE_SECONDS` later."""
        first = set(await self._compare())
        if not first:
            return []
        await self._clock.sleep(SETTLE_SECONDS)
        return [line for line in await self._compare() if line in first]

    async def _compare(self) -> list[str]:
        scheduler = self._scheduler
        return list(
            await compare(scheduler.cache, scheduler.server, scheduler.queue, scheduler.profiles)
        )
