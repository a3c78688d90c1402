"""The last changes of one resource, which any number of watchers read at their own pace."""

import asyncio
from bisect import bisect_right
from operator import attrgetter

from moorage.memory.entries import Entry
from moorage.watch.errors import Gone
from moorage.watch.surface import EventType, WatchEvent

_VERSION = attrgetter("version")


class Record:
    """One change, and the event that all its watchers share."""

    __slots__ = ("_event", "entry", "type", "version")

    def __init__(self, type: EventType, entry: Entry) -> None:
        self.type = type
        self.entry = entry
        self.version = entry.version
        self._event: WatchEvent | None = None

    @property
    def event(self) -> WatchEvent:
        """The event as watchers see it."""
        if self._event is None:
            self._event = WatchEvent(self.type, self.entry.view, str(self.version))
        return self._event


class History:
    """Records in the order of their versions; only the last `window` are kept.

    A position counts records from the first ever written, so it stays good when old ones go.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._records: list[Record] = []
        self._dropped = 0
        self._expired = 0
        self._waiters: dict[asyncio.Future[None], None] = {}

    @property
    def end(self) -> int:
        """The position of the next record."""
        return self._dropped + len(self._records)

    def append(self, record: Record) -> None:
        """Add a record and wake those who wait for it."""
        self._records.append(record)
        excess = len(self._records) - self._window
        if excess > 0:
            self._expired = self._records[excess - 1].version
            if excess >= self._window:  # dropping half at a time keeps appending cheap
                del self._records[:excess]
                self._dropped += excess
        self.wake()

    def after(self, version: int) -> int:
        """The position of the first record later than a version."""
        if self.has_expired(version):
            raise self._too_old(version)
        return self._dropped + bisect_right(self._records, version, key=_VERSION)

    def has_expired(self, version: int) -> bool:
        """Whether changes later than a version are no longer kept."""
        return version < self._expired

    def at(self, position: int, version: int) -> Record:
        """The record at a position, for a reader that has come to a version."""
        if position < self.end - self._window:
            raise self._too_old(version)
        return self._records[position - self._dropped]

    def _too_old(self, version: int) -> Gone:
        return Gone(f"too old resource version: {version} ({self._expired})")

    def validate(self, version: int) -> None:
        """Raise AssertionError unless versions rise, up to the store's at most."""
        versions = [self._expired, *(r.version for r in self._records[-self._window :])]
        assert versions == sorted(set(versions)), "versions do not rise"
        assert versions[-1] <= version, "the history is ahead of its store"

    async def changed(self) -> None:
        """Return after the next `wake`: an appended record, or a reader's own alarm."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = None
        try:
            await waiter
        finally:
            self._waiters.pop(waiter, None)

    def wake(self) -> None:
        """Let everyone who waits look again, in the order in which they came."""
        if self._waiters:
            waiters, self._waiters = self._waiters, {}
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
