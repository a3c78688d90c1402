"""Feeds: reads each source that the profiles' plugins list, and writes the values to the profiles.

1. Every second it asks the plugins for their sources. A feed begins for each new source and ends
   with the last plugin that lists it. A reload needs nothing more.
2. Each feed reads at its own interval, and writes to every profile that asked for its source.
3. If a read brought something new, pods that wait for a measurement are tried again.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.feeds.readings import FeedError, Reader, Reading, WatchedReader
from moorage.observe import catalogue
from moorage.observe.logs import say
from moorage.observe.metric_families import Family, counter, gauge
from moorage.policies.telemetry import metric_sources
from moorage.policies.telemetry.metric_sources import Source

SETTLE_SECONDS: Final = 1.0
"""How long to wait after a source changed, so that its writer can finish."""


class Feed:
    """Reads one source; `reading` is the last result, `age` the time since."""

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
        """Seconds since the last successful read, or since the feed began."""
        return self._clock.now() - self._since

    async def poll(self) -> bool:
        """Read once; returns whether the values are new. The same failure is logged once."""
        try:
            found = await self._reader.read()
        except FeedError as error:
            self._failed(str(error))
            return False
        except Exception as error:  # a broken reader must not end the other feeds
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
        """Write the last reading to a profile that does not have it yet."""
        has: dict[Source, Reading] = shared.setdefault("feeds", {})
        if self.reading is not None and has.get(self.source) is not self.reading:
            self.reading.write(shared)
            has[self.source] = self.reading

    async def pause(self) -> None:
        """Wait until the next read is due, or until the source has changed."""
        if not isinstance(self._reader, WatchedReader):
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
        """Close the reader: no plugin lists the source any more."""
        await self._reader.close()

    def _failed(self, why: str) -> None:
        self.reads["failed"] += 1
        if why != self._trouble:
            self._trouble = why
            say(logging.WARNING, "feed not read", feed=self.source.name, err=why)


LOOK_SECONDS: Final = 1.0

OpenReader = Callable[[Source], Reader | None]
"""The reader of a source; None if there is none here."""


class Feeds:
    """Begins, reads and ends feeds. Calls `arrived` when something new was read."""

    def __init__(
        self,
        profiles: Callable[[], Iterable[Profile]],
        open: OpenReader,
        clock: Clock,
        arrived: Callable[[], None],
    ) -> None:
        self.feeds: dict[Source, Feed] = {}
        self._profiles = profiles
        self._open = open
        self._clock = clock
        self._arrived = arrived
        self._tasks: dict[Source, asyncio.Task[None]] = {}
        self._broken: set[str] = set()

    async def run(self) -> None:
        """Run the feeds until cancelled."""
        try:
            while True:
                await self._look()
                await self._clock.sleep(LOOK_SECONDS)
        finally:
            for source in list(self.feeds):
                await self._end(source)

    async def prime(self) -> None:
        """Read every source once, before the first scheduling decision."""
        self._begin(self._wanted())
        await asyncio.gather(*(feed.poll() for feed in self.feeds.values()))
        self._hand_out()

    def describe(self) -> Iterable[Family]:
        """Nothing: the feeds are known only when metrics are collected."""
        return ()

    def collect(self) -> Iterator[Family]:
        """The age and the reads of every feed, for Prometheus."""
        ages: dict[tuple[str, ...], float] = {}
        reads: Counter[tuple[str, ...]] = Counter()
        for source, feed in self.feeds.items():
            ages[(source.name,)] = max(feed.age, ages.get((source.name,), 0.0))
            for result, count in feed.reads.items():
                reads[source.name, result] += count
        yield gauge(catalogue.FEED_AGE, sorted(ages.items()))
        yield counter(catalogue.FEED_READS, sorted(reads.items()))

    async def _look(self) -> None:
        wanted = self._wanted()
        self._begin(wanted)
        for source in [source for source in self.feeds if source not in wanted]:
            await self._end(source)
        for source, feed in self.feeds.items():
            if source not in self._tasks:
                task = asyncio.create_task(self._follow(feed), name=f"feed/{source.name}")
                self._tasks[source] = task
        self._hand_out()

    def _wanted(self) -> dict[Source, None]:
        """Every source that a plugin lists, once."""
        return {source: None for profile in self._profiles() for source in self._listed(profile)}

    def _listed(self, profile: Profile) -> Iterator[Source]:
        for name, plugin in profile.plugins.items():
            try:
                yield from metric_sources.listed_sources(plugin)
            except Exception as error:  # a broken plugin must not end the other feeds
                if name not in self._broken:
                    self._broken.add(name)
                    say(logging.ERROR, "sources not listed", plugin=name, err=str(error))

    def _begin(self, wanted: Iterable[Source]) -> None:
        for source in wanted:
            if source not in self.feeds:
                reader = self._open(source)
                if reader is not None:
                    self.feeds[source] = Feed(source, reader, self._clock)

    async def _end(self, source: Source) -> None:
        task = self._tasks.pop(source, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self.feeds.pop(source).close()

    async def _follow(self, feed: Feed) -> None:
        if feed.reading is not None:
            await feed.pause()
        while True:
            news = await feed.poll()
            self._hand_out()
            if news:
                self._arrived()
            await feed.pause()

    def _hand_out(self) -> None:
        """Write to every profile what its plugins asked for."""
        for profile in self._profiles():
            for source in self._listed(profile):
                if source in self.feeds:
                    self.feeds[source].write(profile.shared)
