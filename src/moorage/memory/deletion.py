"""Deletes an object: grace periods, finalizers, and namespaces with their contents.

A pod on a node stays, terminating, for its grace period, until its kubelet finishes the deletion.
Any other pod has no grace period. An object with finalizers stays until the last one is removed.
"""

from moorage.memory import error_messages, namespace_lifecycle
from moorage.memory.object_registry import ObjectRegistry, rfc3339, seconds_of
from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import Table
from moorage.watch.api_resources import NAMESPACES, PODS, Resource
from moorage.watch.api_server import Raw


def lost_last_finalizer(old: Entry, raw: Raw) -> bool:
    """Whether a write removes the last finalizer of an object that is otherwise deleted."""
    metadata = old.raw["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("deletionGracePeriodSeconds")
        and not raw["metadata"].get("finalizers")
        and not (old.raw.get("kind") == "Namespace" and namespace_lifecycle.is_terminating(old))
    )


def remove_object(registry: ObjectRegistry, table: Table, entry: Entry) -> None:
    """Remove an object."""
    registry.store.remove(table, entry)
    if table.resource.namespaced:
        finish_namespace(registry, entry.key.partition("/")[0])


def finish_namespace(registry: ObjectRegistry, name: str) -> None:
    """Remove a terminating namespace once its last object and finalizer are gone."""
    table = registry.store.table(NAMESPACES)
    entry = table.entries.get(name)
    if entry is None or not namespace_lifecycle.is_terminating(entry):
        return
    if not entry.raw["metadata"].get("finalizers") and not namespace_lifecycle.namespace_contents(
        registry, name
    ):
        registry.store.remove(table, entry)


def delete_object(
    registry: ObjectRegistry,
    resource: Resource,
    namespace: str,
    name: str,
    uid: str,
    grace_period_seconds: int | None,
) -> None:
    """Delete an object, or mark it as terminating."""
    table, entry = registry.find(resource, namespace, name)
    actual = entry.raw["metadata"]["uid"]
    if uid and uid != actual:
        raise error_messages.wrong_uid_to_delete(resource, name, uid, actual)
    if resource == NAMESPACES:
        _delete_namespace(registry, entry)
    elif resource == PODS:
        _delete_pod(registry, table, entry, grace_period_seconds)
    else:
        _delete_now(registry, table, entry)


def _delete_namespace(registry: ObjectRegistry, entry: Entry) -> None:
    namespace_lifecycle.check_deletable(entry.key)
    if namespace_lifecycle.is_terminating(entry):
        return
    namespace_lifecycle.terminate_namespace(registry, entry)
    for table, content in namespace_lifecycle.namespace_contents(registry, entry.key):
        if content.key in table.entries:
            if table.resource == PODS:
                _delete_pod(registry, table, content, None)
            else:
                _delete_now(registry, table, content)
    finish_namespace(registry, entry.key)


def _delete_now(registry: ObjectRegistry, table: Table, entry: Entry) -> None:
    if not entry.raw["metadata"].get("finalizers"):
        remove_object(registry, table, entry)
    elif "deletionTimestamp" not in entry.raw["metadata"]:
        _mark(registry, table, entry, registry.stamps.now(), 0)


def _delete_pod(registry: ObjectRegistry, table: Table, entry: Entry, asked: int | None) -> None:
    metadata = entry.raw["metadata"]
    if asked is not None and asked < 0:
        asked = 1
    if "deletionTimestamp" in metadata:
        entry = _shorten(registry, table, entry, asked)
    else:
        grace = _grace(entry.raw, asked)
        deadline = rfc3339(registry.stamps.seconds() + grace)
        entry = _mark(registry, table, entry, deadline, grace)
    metadata = entry.raw["metadata"]
    if not metadata.get("deletionGracePeriodSeconds") and not metadata.get("finalizers"):
        remove_object(registry, table, entry)


def _grace(pod: Raw, asked: int | None) -> int:
    """The grace period: as asked, or else the pod's own; 0 for an unbound or finished pod."""
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    grace: int = pod["spec"].get("terminationGracePeriodSeconds", 0) if asked is None else asked
    return max(grace, 0)


def _shorten(registry: ObjectRegistry, table: Table, entry: Entry, asked: int | None) -> Entry:
    """The pod with its grace period shortened to `asked`; it is never extended."""
    metadata = entry.raw["metadata"]
    grace: int = metadata.get("deletionGracePeriodSeconds") or 0
    if asked is None or asked >= grace:
        return entry
    deadline = seconds_of(metadata["deletionTimestamp"]) - grace + asked
    if deadline < registry.stamps.seconds():
        deadline = registry.stamps.seconds()
        asked = min(asked, 1)
    return _mark(registry, table, entry, rfc3339(deadline), asked)


def _mark(registry: ObjectRegistry, table: Table, entry: Entry, deadline: str, grace: int) -> Entry:
    """The object with its deletion deadline and grace period."""
    metadata = {
        **entry.raw["metadata"],
        "deletionTimestamp": deadline,
        "deletionGracePeriodSeconds": grace,
    }
    if "deletionTimestamp" not in entry.raw["metadata"] and metadata.get("generation"):
        metadata["generation"] += 1
    return registry.store.replace(table, entry, {**entry.raw, "metadata": metadata}, trusted=True)
