"""Viewers of the dashboard: their largest number, and the beat at which they are sent changes.

Before each beat everything is brought up to date once, for all viewers. Without viewers there is no
beat.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from moorage.observe import catalogue
from moorage.observe.metric_families import Family, counter, gauge, unlabelled

MOST_VIEWERS: Final = 16
BEAT_SECONDS: Final = 0.25


class TooManyViewers(Exception):
    """The limit of viewers is reached."""


class Viewers:
    """Counts viewers and gives the beat; awaits `catch_up` before each beat."""

    def __init__(self, catch_up: Callable[[], Awaitable[None]], most: int = MOST_VIEWERS) -> None:
        self._catch_up = catch_up
        self._most = most
        self._beating: asyncio.Task[None] | None = None
        self._beat = asyncio.Event()
        self.count = 0
        self.refused = 0
        self.beats = 0
        self.snapshots = 0
        """How often a viewer was told to fetch everything again."""
        self.closed = False

    def describe(self) -> Iterable[Family]:
        """Nothing: the values are known only when metrics are collected."""
        return ()

    def collect(self) -> Iterator[Family]:
        """The number of viewers, and of snapshots, for Prometheus."""
        yield gauge(catalogue.DASHBOARD_VIEWERS, unlabelled(float(self.count)))
        yield counter(catalogue.DASHBOARD_SNAPSHOTS, unlabelled(float(self.snapshots)))

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count one more viewer while the block lasts; raises TooManyViewers at the limit."""
        if self.count >= self._most or self.closed:
            self.refused += 1
            raise TooManyViewers(f"{self.count} viewers look already: try again when one has left")
        self.count += 1
        if self._beating is None:
            self._beating = asyncio.create_task(self._run(), name="dashboard/beat")
        try:
            yield
        finally:
            self.count -= 1
            if not self.count:
                self._stop()

    async def beat(self) -> None:
        """Return after the next update; at once when the server stops."""
        if not self.closed:
            await self._beat.wait()

    def close(self) -> None:
        """Release all viewers: the server stops."""
        self.closed = True
        self._stop()
        self._beat.set()

    def _stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await self._catch_up()
            self.beats += 1
            beat, self._beat = self._beat, asyncio.Event()
            beat.set()
