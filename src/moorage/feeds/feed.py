"""One feed: a source that is read now and again, and what it said last."""

import asyncio
import logging
from typing import Any, Final

from moorage.clock import Clock
from moorage.feeds.readings import FeedError, Reader, Reading, Watched
from moorage.observe.logs import say
from moorage.policies.sources import Source

SETTLE_SECONDS: Final = 1.0
"""How long to let whoever changes a source finish."""


class Feed:
    """Reads one source; `reading` is what it said last, `age` how long ago that was."""

    def __init__(self, source: Source, reader: Reader, clock: Clock) -> None:
        self.source = source
        self.reading: Reading | None = None
        self.reads = {"read": 0, "failed": 0}
        self._reader = reader
        self._clock = clock
        self._since = clock.now()
        self._trouble = ""

    @property
    def age(self) -> float:
        """Seconds since the last reading, or since the feed began."""
        return self._clock.now() - self._since

    async def poll(self) -> bool:
        """Read once; whether that brought anything new. What goes wrong is said once."""
        try:
            found = await self._reader.read()
        except FeedError as error:
            self._failed(str(error))
            return False
        except Exception as error:  # a reader that breaks must not take the others along
            self._failed(f"{type(error).__name__}: {error}")
            return False
        before, self.reading = self.reading, found
        self._since = self._clock.now()
        self.reads["read"] += 1
        if self._trouble or before is None:
            self._trouble = ""
            say(logging.INFO, "feed read", feed=self.source.name)
        return before is None or before.values != found.values

    def write(self, shared: dict[str, Any]) -> None:
        """Hand the last reading to a profile that does not have it yet."""
        has: dict[Source, Reading] = shared.setdefault("feeds", {})
        if self.reading is not None and has.get(self.source) is not self.reading:
            self.reading.write(shared)
            has[self.source] = self.reading

    async def pause(self) -> None:
        """Wait until the source is to be read again: its time has come, or it has changed."""
        if not isinstance(self._reader, Watched):
            await self._clock.sleep(self.source.seconds)
            return
        due = asyncio.ensure_future(self._clock.sleep(self.source.seconds))
        news = asyncio.ensure_future(self._reader.changed())
        try:
            await asyncio.wait({due, news}, return_when=asyncio.FIRST_COMPLETED)
            if news.done() and not news.exception() and news.result():
                await self._clock.sleep(min(SETTLE_SECONDS, self.source.seconds))
            else:
                await due
        finally:
            due.cancel()
            news.cancel()
            await asyncio.gather(due, news, return_exceptions=True)

    async def close(self) -> None:
        """Nobody wants it any more."""
        await self._reader.close()

    def _failed(self, why: str) -> None:
        self.reads["failed"] += 1
        if why != self._trouble:
            self._trouble = why
            say(logging.WARNING, "feed not read", feed=self.source.name, err=why)
