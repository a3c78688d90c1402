"""Namespace lifecycle: admission into a namespace, and its termination.

Deleting a namespace deletes its objects. The namespace is Terminating while it has any, refuses new
ones, and is removed with the last one.
"""

from moorage.memory import error_messages, object_names
from moorage.memory.object_registry import ObjectRegistry
from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import Table
from moorage.watch.api_errors import Forbidden
from moorage.watch.api_resources import NAMESPACES, Resource
from moorage.watch.api_server import Raw

UNDELETABLE = frozenset({"default", "kube-public", "kube-system"})


def admit_to_namespace(
    registry: ObjectRegistry, resource: Resource, metadata: Raw, *, from_server: bool = False
) -> None:
    """Admit an object, refuse it, or create its namespace first if the options allow that.

    An object taken from a server is admitted to a terminating namespace: it existed before.
    """
    name = metadata["namespace"]
    table = registry.store.table(NAMESPACES)
    entry = table.entries.get(name)
    if entry is None:
        if not registry.options.auto_namespaces:
            raise error_messages.not_found(NAMESPACES, name)
        if causes := object_names.name_causes(NAMESPACES, name):
            raise error_messages.invalid(NAMESPACES, name, *causes)
        registry.store.create(table, name, _new(registry, name))
        registry.stamps.created(NAMESPACES.plural, "", name)
    elif is_terminating(entry) and not from_server:
        why = f"unable to create new content in namespace {name} because it is being terminated"
        raise error_messages.forbidden(resource, metadata, why)


def _new(registry: ObjectRegistry, name: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": registry.stamps.uid(NAMESPACES.plural, "", name),
            "creationTimestamp": registry.stamps.now(),
            "labels": namespace_labels({}, name),
        },
        "status": {"phase": "Active"},
    }


def namespace_labels(labels: dict[str, str], name: str) -> dict[str, str]:
    """The namespace's labels, with kubernetes.io/metadata.name added."""
    return {**labels, "kubernetes.io/metadata.name": name}


def is_terminating(entry: Entry) -> bool:
    """Whether a namespace is terminating."""
    return bool((entry.raw.get("status") or {}).get("phase") == "Terminating")


def check_deletable(name: str) -> None:
    """Refuse to delete the namespaces that every cluster has."""
    if name in UNDELETABLE:
        raise Forbidden(f'namespaces "{name}" is forbidden: this namespace may not be deleted')


def terminate_namespace(registry: ObjectRegistry, entry: Entry) -> Entry:
    """Mark a namespace as terminating."""
    metadata = {**entry.raw["metadata"], "deletionTimestamp": registry.stamps.now()}
    status = {**(entry.raw.get("status") or {}), "phase": "Terminating"}
    raw = {**entry.raw, "metadata": metadata, "status": status}
    return registry.store.replace(registry.store.table(NAMESPACES), entry, raw, trusted=True)


def namespace_contents(registry: ObjectRegistry, name: str) -> list[tuple[Table, Entry]]:
    """Every object in a namespace."""
    prefix = f"{name}/"
    return [
        (table, entry)
        for table in registry.store.tables()
        if table.resource.namespaced
        for key, entry in table.entries.items()
        if key.startswith(prefix)
    ]
