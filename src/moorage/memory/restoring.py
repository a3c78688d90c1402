"""Restoring an object: it is taken as it is written, the way a backup is read back.

Status, identity, times and priority are kept where they are given; what is missing is added as if
the object were new.
"""

from typing import Final

from moorage.memory import creating, facts, views
from moorage.memory.entries import Entry
from moorage.memory.registry import Registry
from moorage.watch.resources import POD_DISRUPTION_BUDGETS, Resource
from moorage.watch.surface import Raw

_ADDRESS: Final = ("name", "namespace", "resourceVersion")


def restore(registry: Registry, resource: Resource, raw: Raw) -> Entry:
    """Put an object in, in place of one of the same name."""
    try:
        return _restore(registry, resource, raw)
    except views.MISSHAPEN as error:
        raise views.misshapen(raw, resource, error) from error


def _restore(registry: Registry, resource: Resource, raw: Raw) -> Entry:
    table = registry.store.table(resource)
    metadata = dict(raw.get("metadata") or {})
    metadata.pop("resourceVersion", None)
    old = table.entries.get(
        resource.key(metadata.get("namespace") or "default", metadata.get("name") or "")
    )
    known: Raw = {} if old is None else old.raw["metadata"]
    for field, new in (("uid", registry.stamps.uid), ("creationTimestamp", registry.stamps.now)):
        metadata[field] = metadata.get(field) or known.get(field) or new()
    if resource.plural in facts.WITH_GENERATION:
        metadata["generation"] = metadata.get("generation") or known.get("generation") or 1
    raw = {**raw, "metadata": metadata}
    _complete_status(resource, raw)
    if old is None:
        return creating.add(registry, resource, raw, restored=True)
    metadata.update({field: known[field] for field in _ADDRESS if field in known})
    raw = creating.filled(registry, resource, raw, restored=True)
    return registry.store.replace(table, old, raw)


def _complete_status(resource: Resource, raw: Raw) -> None:
    given = raw.get("status") or {}
    status = {**facts.CREATED_STATUS.get(resource.plural, {}), **given}
    if resource == POD_DISRUPTION_BUDGETS and given:
        status.setdefault("observedGeneration", raw["metadata"]["generation"])
    if status:
        raw["status"] = status
