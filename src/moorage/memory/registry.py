"""What every operation on the embedded cluster works with."""

from typing import NamedTuple

import msgspec

from moorage.memory import refusals
from moorage.memory.entries import Entry
from moorage.memory.specs import Specs
from moorage.memory.stamps import Stamps
from moorage.memory.store import Store, Table
from moorage.watch.resources import Resource
from moorage.watch.surface import Raw


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the embedded cluster is set up."""

    history: int = 100_000
    """Changes kept per resource; a watcher further behind is told `Gone`."""
    events: int = 10_000
    """Events (events.k8s.io) kept; older ones are removed."""
    auto_namespaces: bool = True
    """Create a missing namespace with its first object, where an API server answers 404."""
    bookmark_seconds: float = 60.0
    """How often a watch that has a time limit is sent a bookmark."""
    snapshots: int = 8
    """Paged lists that may be under way at once; the oldest one's tokens expire first."""


class Registry(NamedTuple):
    """The store, what it stamps objects with, the pod specs it has seen, and its options."""

    store: Store
    stamps: Stamps
    specs: Specs
    options: Options

    def find(self, resource: Resource, namespace: str, name: str) -> tuple[Table, Entry]:
        """An object and the table it is in; `NotFound` otherwise."""
        table = self.store.table(resource)
        entry = table.entries.get(resource.key(namespace, name))
        if entry is None:
            raise refusals.not_found(resource, name)
        return table, entry


def isolated(raw: Raw) -> Raw:
    """A copy that shares nothing, as if it had travelled over the wire."""
    copy: Raw = msgspec.json.decode(msgspec.json.encode(raw))
    return copy
