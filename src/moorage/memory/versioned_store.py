"""The versioned object store, with a bounded history of changes for each resource."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import Literal

from moorage.memory import stored_objects
from moorage.memory.cluster_resources import KEPT_RESOURCES
from moorage.memory.stored_objects import DecodedSpecs, Entry
from moorage.watch.api_errors import Gone, NotFound
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import EventType, Raw, WatchEvent

_VERSION = attrgetter("version")


class Record:
    """One change, and the event that all watchers share."""

    __slots__ = ("_event", "entry", "type", "version")

    def __init__(self, type: EventType, entry: Entry) -> None:
        self.type = type
        self.entry = entry
        self.version = entry.version
        self._event: WatchEvent | None = None

    @property
    def event(self) -> WatchEvent:
        """The event that watchers get."""
        if self._event is None:
            self._event = WatchEvent(self.type, self.entry.view, str(self.version))
        return self._event


Wants = Callable[[Record], bool]
"""Whether a reader wants a record."""


class _Waiter:
    """A reader at the end of a history; `passed` counts the records that it did not want."""

    __slots__ = ("passed", "wants", "woken")

    def __init__(self, wants: Wants | None, woken: asyncio.Future[None]) -> None:
        self.wants = wants
        self.woken = woken
        self.passed = 0


class History:
    """Records in the order of their versions; only the last `window` are kept.

    A position counts records from the first one ever written, so it stays valid when old records
    are dropped.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._records: list[Record] = []
        self._dropped = 0
        self._expired = 0
        self._waiters: dict[_Waiter, None] = {}

    @property
    def end(self) -> int:
        """The position of the next record."""
        return self._dropped + len(self._records)

    def append(self, record: Record) -> None:
        """Add a record and wake the readers that want it."""
        self._records.append(record)
        excess = len(self._records) - self._window
        if excess > 0:
            self._expired = self._records[excess - 1].version
            if excess >= self._window:  # dropping half at a time keeps appending cheap
                del self._records[:excess]
                self._dropped += excess
        if self._waiters:
            self._wake(record)

    def after(self, version: int) -> int:
        """The position of the first record later than a version."""
        if self.has_expired(version):
            raise self._too_old(version)
        return self._dropped + bisect_right(self._records, version, key=_VERSION)

    def has_expired(self, version: int) -> bool:
        """Whether changes after a version are no longer kept."""
        return version < self._expired

    def at(self, position: int, version: int) -> Record:
        """The record at a position; raises Gone, which names `version`, if it is no longer kept."""
        if position < self.end - self._window:
            raise self._too_old(version)
        return self._records[position - self._dropped]

    def _too_old(self, version: int) -> Gone:
        return Gone(f"too old resource version: {version} ({self._expired})")

    def validate(self, version: int) -> None:
        """Raise AssertionError unless versions rise and stay within the store's version."""
        versions = [self._expired, *(r.version for r in self._records[-self._window :])]
        assert versions == sorted(set(versions)), "versions do not rise"
        assert versions[-1] <= version, "the history is ahead of its store"

    async def changed(self, wants: Wants | None = None) -> int:
        """Return after the next record that `wants` accepts, or after `wake`.

        Returns how many unwanted records came before it.
        """
        waiter = _Waiter(wants, asyncio.get_running_loop().create_future())
        self._waiters[waiter] = None
        try:
            await waiter.woken
        finally:
            self._waiters.pop(waiter, None)
        return waiter.passed

    def wake(self) -> None:
        """Wake all waiting readers, in the order in which they began to wait."""
        self._wake(None)

    def _wake(self, record: Record | None) -> None:
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters:
            if record is not None and waiter.wants is not None and not waiter.wants(record):
                waiter.passed += 1
                self._waiters[waiter] = None
            elif not waiter.woken.done():
                waiter.woken.set_result(None)


class Table:
    """The objects of one resource, by key, and the history of their changes."""

    __slots__ = ("decode", "entries", "history", "resource", "specs")

    def __init__(self, resource: Resource, window: int) -> None:
        self.resource = resource
        self.entries: dict[str, Entry] = {}
        self.history = History(window)
        self.decode = stored_objects.decoder_for(resource)
        self.specs = DecodedSpecs()

    def in_order(self) -> list[Entry]:
        """All objects in the order of their keys, which is the order of a list."""
        return [self.entries[key] for key in sorted(self.entries)]


class Store:
    """One table per resource, and one counter of versions for all of them."""

    def __init__(self, window: int) -> None:
        self.version = 1  # clients send 0 to ask for any version, so no list may have it
        self._tables = {
            plural: Table(resource, window) for plural, resource in KEPT_RESOURCES.items()
        }
        self._listeners: list[Callable[[Table, Record], None]] = []

    def listen(self, listener: Callable[[Table, Record], None]) -> None:
        """Call `listener` for every write from now on, before the writer continues."""
        self._listeners.append(listener)

    def table(self, resource: Resource) -> Table:
        """The table of a resource; raises `NotFound` if the cluster does not keep it."""
        resource = resource.whole
        found = self._tables.get(resource.plural)
        if found is None or (found.resource is not resource and found.resource != resource):
            raise NotFound("the server could not find the requested resource")
        return found

    def tables(self) -> list[Table]:
        """Every table."""
        return list(self._tables.values())

    def create(self, table: Table, key: str, raw: Raw, *, trusted: bool = False) -> Entry:
        """Add an object, unless it cannot be decoded; `trusted`: its spec is known to be valid."""
        entry = self._next(table, key, raw)
        shared = table.specs.pod(entry.raw) if table.resource == PODS else None
        if shared is not None:
            entry.see(shared)
        elif trusted:
            table.specs.keep(raw, entry.view)
        else:
            stored_objects.decode_entry(entry, table.resource)
            table.specs.keep(raw, entry.view)
        return self._keep(table, "ADDED", entry)

    def replace(self, table: Table, old: Entry, raw: Raw, *, trusted: bool = False) -> Entry:
        """Replace an object by its next version; returns the old entry if nothing would change.

        `trusted`: the change comes from the store itself and cannot make the object undecodable.
        """
        if raw == old.raw:
            return old
        entry = self._next(table, old.key, raw)
        if not trusted:
            stored_objects.decode_entry(entry, table.resource)
        return self._keep(table, "MODIFIED", entry)

    def remove(self, table: Table, old: Entry) -> None:
        """Remove an object; its last version has the number of the removal."""
        entry = self._next(table, old.key, old.raw)
        self.version = entry.version
        del table.entries[old.key]
        self._publish(table, Record("DELETED", entry))

    def validate(self) -> None:
        """Raise AssertionError unless every object's key and version match its metadata."""
        for table in self._tables.values():
            table.history.validate(self.version)
            for key, entry in table.entries.items():
                metadata = entry.raw["metadata"]
                home = table.resource.key(metadata.get("namespace", ""), metadata["name"])
                assert key == entry.key == home, f"{home} is kept under {key}"
                assert metadata["resourceVersion"] == str(entry.version), f"{key} is misnumbered"
                assert entry.version <= self.version, f"{key} is ahead of its store"

    def _next(self, table: Table, key: str, raw: Raw) -> Entry:
        version = self.version + 1
        metadata = {**raw["metadata"], "resourceVersion": str(version)}
        return Entry(key, {**raw, "metadata": metadata}, version, table.decode)

    def _keep(self, table: Table, type: Literal["ADDED", "MODIFIED"], entry: Entry) -> Entry:
        self.version = entry.version
        table.entries[entry.key] = entry
        self._publish(table, Record(type, entry))
        return entry

    def _publish(self, table: Table, record: Record) -> None:
        table.history.append(record)
        for listener in self._listeners:
            listener(table, record)
