"""Deleting an object: grace periods, finalizers, and namespaces with all they hold.

A pod on a node is given its grace period and stays, terminating, until its kubelet lets go of it;
any other pod has none. Whatever has finalizers stays until the last of them is taken away.
"""

from moorage.memory import namespaces, refusals, removing
from moorage.memory.entries import Entry
from moorage.memory.registry import Registry
from moorage.memory.stamps import rfc3339, seconds_of
from moorage.memory.store import Table
from moorage.watch.resources import NAMESPACES, PODS, Resource
from moorage.watch.surface import Raw


def delete(
    registry: Registry,
    resource: Resource,
    namespace: str,
    name: str,
    uid: str,
    grace_period_seconds: int | None,
) -> None:
    """Delete an object, or begin to."""
    table, entry = registry.find(resource, namespace, name)
    actual = entry.raw["metadata"]["uid"]
    if uid and uid != actual:
        raise refusals.wrong_uid_to_delete(resource, name, uid, actual)
    if resource == NAMESPACES:
        _delete_namespace(registry, entry)
    elif resource == PODS:
        _delete_pod(registry, table, entry, grace_period_seconds)
    else:
        _delete_now(registry, table, entry)


def _delete_namespace(registry: Registry, entry: Entry) -> None:
    namespaces.check_mortal(entry.key)
    if namespaces.is_terminating(entry):
        return
    namespaces.terminate(registry, entry)
    for table, content in namespaces.contents(registry, entry.key):
        if content.key in table.entries:
            if table.resource == PODS:
                _delete_pod(registry, table, content, None)
            else:
                _delete_now(registry, table, content)
    removing.finish_namespace(registry, entry.key)


def _delete_now(registry: Registry, table: Table, entry: Entry) -> None:
    if not entry.raw["metadata"].get("finalizers"):
        removing.remove(registry, table, entry)
    elif "deletionTimestamp" not in entry.raw["metadata"]:
        _mark(registry, table, entry, registry.stamps.now(), 0)


def _delete_pod(registry: Registry, table: Table, entry: Entry, asked: int | None) -> None:
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
        removing.remove(registry, table, entry)


def _grace(pod: Raw, asked: int | None) -> int:
    """The grace period: as asked, or as the pod says; none off its node or after its end."""
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    grace: int = pod["spec"].get("terminationGracePeriodSeconds", 0) if asked is None else asked
    return max(grace, 0)


def _shorten(registry: Registry, table: Table, entry: Entry, asked: int | None) -> Entry:
    """The pod with a shorter grace period than it has; one under way is never made longer."""
    metadata = entry.raw["metadata"]
    grace: int = metadata.get("deletionGracePeriodSeconds") or 0
    if asked is None or asked >= grace:
        return entry
    deadline = seconds_of(metadata["deletionTimestamp"]) - grace + asked
    if deadline < registry.stamps.seconds():
        deadline = registry.stamps.seconds()
        asked = min(asked, 1)
    return _mark(registry, table, entry, rfc3339(deadline), asked)


def _mark(registry: Registry, table: Table, entry: Entry, deadline: str, grace: int) -> Entry:
    """The object with the time by which it is to be gone."""
    metadata = {
        **entry.raw["metadata"],
        "deletionTimestamp": deadline,
        "deletionGracePeriodSeconds": grace,
    }
    if "deletionTimestamp" not in entry.raw["metadata"] and metadata.get("generation"):
        metadata["generation"] += 1
    return registry.store.replace(table, entry, {**entry.raw, "metadata": metadata}, trusted=True)
