"""Versions of objects: every write gets the next number and leaves a record in a history."""

from typing import Literal

from moorage.memory import views
from moorage.memory.entries import Entry
from moorage.memory.history import History, Record
from moorage.watch.errors import NotFound
from moorage.watch.resources import RESOURCES, Resource
from moorage.watch.surface import Raw


class Table:
    """The objects of one resource, by key, and how they came to be."""

    __slots__ = ("decode", "entries", "history", "resource")

    def __init__(self, resource: Resource, window: int) -> None:
        self.resource = resource
        self.entries: dict[str, Entry] = {}
        self.history = History(window)
        self.decode = views.decoder(resource)

    def in_order(self) -> list[Entry]:
        """All objects in the order of their keys, which is the order of a list."""
        return [self.entries[key] for key in sorted(self.entries)]


class Store:
    """One table per resource and one counter of versions for all of them."""

    def __init__(self, window: int) -> None:
        self.version = 1  # 0 would ask for any version, so no list may answer it
        self._tables = {plural: Table(resource, window) for plural, resource in RESOURCES.items()}

    def table(self, resource: Resource) -> Table:
        """The table of a resource; `NotFound` for one that is not kept here."""
        resource = resource.whole
        found = self._tables.get(resource.plural)
        if found is None or (found.resource is not resource and found.resource != resource):
            raise NotFound("the server could not find the requested resource")
        return found

    def tables(self) -> list[Table]:
        """Every table."""
        return list(self._tables.values())

    def create(self, table: Table, key: str, raw: Raw, *, trusted: bool = False) -> Entry:
        """Add an object, unless it cannot be decoded; `trusted`: its spec is known to be good."""
        entry = self._next(table, key, raw)
        if trusted:
            _ = entry.view
        else:
            views.check(entry, table.resource)
        return self._keep(table, "ADDED", entry)

    def replace(self, table: Table, old: Entry, raw: Raw, *, trusted: bool = False) -> Entry:
        """Replace an object by its next version; by none, if nothing would change.

        `trusted`: the change is the store's own, and leaves the object as decodable as it was.
        """
        if raw == old.raw:
            return old
        entry = self._next(table, old.key, raw)
        if not trusted:
            views.check(entry, table.resource)
        return self._keep(table, "MODIFIED", entry)

    def remove(self, table: Table, old: Entry) -> None:
        """Remove an object; its last version carries the number of the removal."""
        entry = self._next(table, old.key, old.raw)
        self.version = entry.version
        del table.entries[old.key]
        table.history.append(Record("DELETED", entry))

    def validate(self) -> None:
        """Raise AssertionError unless every object is at home under its key and its version."""
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
        table.history.append(Record(type, entry))
        return entry
