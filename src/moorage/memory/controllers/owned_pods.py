"""Pods by the workload that controls them."""

from collections.abc import Iterator

from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import Record, Table
from moorage.watch.api_server import Raw

OwnerKey = tuple[str, str, str]
"""Kind, namespace and name: a dump may have lost its uids, but never these."""


def controller_of(raw: Raw) -> Raw | None:
    """The reference to the object that controls this one, if any does."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def owner_key(raw: Raw) -> OwnerKey | None:
    """Who controls an object."""
    owner = controller_of(raw)
    if owner is None:
        return None
    return owner.get("kind", ""), raw["metadata"].get("namespace", ""), owner.get("name", "")


def is_active(pod: Raw) -> bool:
    """Whether a pod counts for its owner: it has not finished and is not on its way out."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def has_left(record: Record) -> bool:
    """Whether a change took a pod from its owner: it is gone, going or finished."""
    return record.type == "DELETED" or (
        record.type == "MODIFIED" and not is_active(record.entry.raw)
    )


class OwnedPods:
    """The keys of pods by owner, kept up by the records of the pod table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._keys: dict[OwnerKey, dict[str, None]] = {}
        for entry in table.entries.values():
            self._add(entry)

    def apply(self, record: Record) -> None:
        """Follow one change of a pod."""
        if record.type == "DELETED":
            owner = owner_key(record.entry.raw)
            if owner is not None:
                self._keys.get(owner, {}).pop(record.entry.key, None)
        elif record.type == "ADDED":
            self._add(record.entry)

    def of(self, owner: OwnerKey) -> Iterator[Entry]:
        """The pods of an owner, oldest first."""
        for key in self._keys.get(owner, ()):
            entry = self._table.entries.get(key)
            if entry is not None:
                yield entry

    def owners(self) -> Iterator[OwnerKey]:
        """Everyone who owns a pod."""
        yield from self._keys

    def _add(self, entry: Entry) -> None:
        owner = owner_key(entry.raw)
        if owner is not None:
            self._keys.setdefault(owner, {})[entry.key] = None
