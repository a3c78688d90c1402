"""Pods by the workload that controls them."""

from collections.abc import Iterator

from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import Record, Table
from moorage.watch.api_server import Raw

OwnerKey = tuple[str, str, str]
"""Kind, namespace and name. A dump may lack uids, but never these."""


def controller_of(raw: Raw) -> Raw | None:
    """The owner reference with `controller: true`, if there is one."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def owner_key(raw: Raw) -> OwnerKey | None:
    """Kind, namespace and name of the object that controls this one, or None."""
    owner = controller_of(raw)
    if owner is None:
        return None
    return owner.get("kind", ""), raw["metadata"].get("namespace", ""), owner.get("name", "")


def is_active(pod: Raw) -> bool:
    """Whether a pod counts for its owner: it is neither finished nor terminating."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def has_left(record: Record) -> bool:
    """Whether a pod stopped counting for its owner: it is deleted, terminating or finished."""
    return record.type == "DELETED" or (
        record.type == "MODIFIED" and not is_active(record.entry.raw)
    )


class OwnedPods:
    """The keys of pods by owner, kept up to date by `apply`."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._keys: dict[OwnerKey, dict[str, None]] = {}
        for entry in table.entries.values():
            self._add(entry)

    def apply(self, record: Record) -> None:
        """Take in one change of a pod."""
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
        """Every owner of a pod."""
        yield from self._keys

    def _add(self, entry: Entry) -> None:
        owner = owner_key(entry.raw)
        if owner is not None:
            self._keys.setdefault(owner, {})[entry.key] = None
