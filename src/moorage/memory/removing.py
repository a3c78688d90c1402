"""The end of an object: out of the store, and its namespace after it if that was waiting."""

from moorage.memory import namespaces
from moorage.memory.entries import Entry
from moorage.memory.registry import Registry
from moorage.memory.store import Table
from moorage.watch.resources import NAMESPACES
from moorage.watch.surface import Raw


def is_released(old: Entry, raw: Raw) -> bool:
    """Whether a write gives up the last finalizer of an object that is otherwise gone."""
    metadata = old.raw["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("deletionGracePeriodSeconds")
        and not raw["metadata"].get("finalizers")
        and not (old.raw.get("kind") == "Namespace" and namespaces.is_terminating(old))
    )


def remove(registry: Registry, table: Table, entry: Entry) -> None:
    """Remove an object."""
    registry.store.remove(table, entry)
    if table.resource.namespaced:
        finish_namespace(registry, entry.key.partition("/")[0])


def finish_namespace(registry: Registry, name: str) -> None:
    """Remove a namespace that was only waiting for its last object to go."""
    table = registry.store.table(NAMESPACES)
    entry = table.entries.get(name)
    if entry is None or not namespaces.is_terminating(entry):
        return
    if not entry.raw["metadata"].get("finalizers") and not namespaces.contents(registry, name):
        registry.store.remove(table, entry)
