"""Viewers of the dashboard: how many there may be, and how often they are sent what changed.

Between two beats everything is brought up to date once, however many look; while nobody does,
there is no beat.
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
    """All places are taken."""


class Viewers:
    """Counts viewers, and beats for them; `catch_up` is awaited before each beat."""

    def __init__(self, catch_up: Callable[[], Awaitable[None]], most: int = MOST_VIEWERS) -> None:
        self._catch_up = catch_up
        self._most = most
        self._beating: asyncio.Task[None] | None = None
        self._beat = asyncio.Event()
        self.count = 0
        self.refused = 0
        self.beats = 0
        self.snapshots = 0
        """How often a viewer was told to fetch all anew."""
        self.closed = False

    def describe(self) -> Iterable[Family]:
        """Nothing: what there is to tell is found out when it is asked for."""
        return ()

    def collect(self) -> Iterator[Family]:
        """How many look, for Prometheus."""
        yield gauge(catalogue.DASHBOARD_VIEWERS, unlabelled(float(self.count)))
        yield counter(catalogue.DASHBOARD_SNAPSHOTS, unlabelled(float(self.snapshots)))

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """A viewer looks for as long as the block lasts."""
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
        """Return when everything was brought up to date again; at once when all is over."""
        if not self.closed:
            await self._beat.wait()

    def close(self) -> None:
        """Let everybody go."""
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
