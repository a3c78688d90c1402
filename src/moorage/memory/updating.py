"""Updating an object: who may change which part of it, and on what condition."""

import json

from moorage.memory import (
    creating,
    facts,
    merging,
    poddefaults,
    podrules,
    priority,
    refusals,
    removing,
    views,
)
from moorage.memory.entries import Entry
from moorage.memory.registry import Registry
from moorage.memory.store import Table
from moorage.watch.errors import ApiError, BadRequest, NotFound
from moorage.watch.resources import LEASES, NAMESPACES, PODS, PRIORITY_CLASSES, Resource
from moorage.watch.surface import PatchType, Raw

_KEPT = ("name", "namespace", "uid", "creationTimestamp", "generation", "selfLink")
_KEPT_ONCE_DELETED = ("deletionTimestamp", "deletionGracePeriodSeconds")


def update(registry: Registry, resource: Resource, raw: Raw, subresource: str) -> Entry:
    """Replace an object, or one of its subresources, if its version and identity are right."""
    try:
        return _update(registry, resource, raw, subresource)
    except views.MISSHAPEN as error:
        raise views.misshapen(raw, resource, error) from error


def _update(registry: Registry, resource: Resource, raw: Raw, subresource: str) -> Entry:
    metadata = raw.get("metadata") or {}
    name = metadata.get("name") or ""
    namespace = metadata.get("namespace") or "default"
    try:
        table, old = registry.find(resource, namespace, name)
    except NotFound:
        if resource == LEASES:
            return creating.create(registry, resource, raw)
        raise
    _check_version(resource, old, metadata.get("resourceVersion") or "")
    uid, actual = metadata.get("uid") or "", old.raw["metadata"]["uid"]
    if uid and uid != actual:
        raise refusals.wrong_uid(resource, old.key, name, uid, actual)
    return _write(registry, table, old, raw, subresource)


def patch(
    registry: Registry,
    resource: Resource,
    namespace: str,
    name: str,
    change: Raw,
    subresource: str,
    patch_type: PatchType,
) -> Entry:
    """Change an object, or one of its subresources, by a patch."""
    table, old = registry.find(resource, namespace, name)
    if patch_type == "strategic" and facts.is_custom(resource):
        raise ApiError(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml",
            status=415,
            reason="UnsupportedMediaType",
        )
    merge = merging.strategic if patch_type == "strategic" else merging.merge
    try:
        raw = merge(old.raw, change)
        _check_patched(resource, old, raw["metadata"])
        return _write(registry, table, old, raw, subresource)
    except views.MISSHAPEN as error:
        raise BadRequest(f'cannot patch {resource.qualified} "{name}": {error}') from error


def _check_version(resource: Resource, old: Entry, version: str) -> None:
    name = old.raw["metadata"]["name"]
    if not version and resource.plural in facts.UPDATED_BY_VERSION:
        raise refusals.no_version(resource, name)
    if version and version != str(old.version):
        raise refusals.conflict(resource.qualified, name, refusals.MODIFIED)


def _check_patched(resource: Resource, old: Entry, metadata: Raw) -> None:
    before = old.raw["metadata"]
    if metadata.get("resourceVersion") != before["resourceVersion"]:
        raise refusals.conflict(resource.qualified, before["name"], refusals.MODIFIED)
    for field in ("name", "namespace", "uid"):
        if metadata.get(field) != before.get(field):
            detail = "field is immutable"
            cause = refusals.invalid_value(f"metadata.{field}", metadata.get(field), detail)
            raise refusals.invalid(resource, before["name"], cause)


def _write(registry: Registry, table: Table, old: Entry, raw: Raw, subresource: str) -> Entry:
    resource = table.resource
    if subresource == "":
        raw = _prepared(registry, table, old, raw)
    elif subresource == "status" and resource.plural in facts.WITH_STATUS:
        raw = _prepared_status(resource, old, raw)
    else:
        raise NotFound("the server could not find the requested resource")
    _check_finalizers(resource, old, raw)
    if removing.is_released(old, raw):
        removing.remove(registry, table, old)
        return Entry(old.key, raw, old.version, table.decode)
    entry = registry.store.replace(table, old, raw)
    if resource == NAMESPACES:
        removing.finish_namespace(registry, old.key)
    return entry


def _prepared(registry: Registry, table: Table, old: Entry, raw: Raw) -> Raw:
    """The object with everything put back that an update does not touch."""
    resource = table.resource
    raw = {
        **raw,
        "apiVersion": old.raw["apiVersion"],
        "kind": old.raw["kind"],
        "metadata": _metadata(old.raw["metadata"], raw["metadata"]),
    }
    if resource.plural in facts.WITH_STATUS:
        raw.pop("status", None)
        if "status" in old.raw:
            raw["status"] = old.raw["status"]
    if resource == PODS:
        raw["spec"] = _pod_spec(old.raw["spec"], raw.get("spec") or {})
        podrules.check_update(old.raw, raw)
    if resource == PRIORITY_CLASSES:
        priority.admit_class(table, raw)
    if resource.plural in facts.WITH_GENERATION and _asked(raw) != _asked(old.raw):
        raw["metadata"]["generation"] = raw["metadata"].get("generation", 0) + 1
    return raw


def _prepared_status(resource: Resource, old: Entry, raw: Raw) -> Raw:
    """The old object with a new status; labels and the like may come with it."""
    metadata = old.raw["metadata"]
    if not facts.is_custom(resource):
        metadata = _metadata(metadata, raw["metadata"])
        metadata.pop("ownerReferences", None)
        if owners := old.raw["metadata"].get("ownerReferences"):
            metadata["ownerReferences"] = owners
    prepared = {**old.raw, "metadata": metadata, "status": raw.get("status") or {}}
    if resource == PODS:
        podrules.check_status_update(old.raw, prepared)
    return prepared


def _metadata(old: Raw, new: Raw) -> Raw:
    """New metadata with what no writer may change; its version is still the old one."""
    metadata = {**new, "resourceVersion": old["resourceVersion"]}
    for field in (*_KEPT, *_KEPT_ONCE_DELETED):
        metadata.pop(field, None)
        if field in old:
            metadata[field] = old[field]
    return metadata


def _pod_spec(old: Raw, new: Raw) -> Raw:
    spec = poddefaults.fill(new)
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and field in old:
            spec[field] = old[field]
    return spec


def _asked(raw: Raw) -> Raw:
    """The part of an object that its generation counts the changes of."""
    return {field: value for field, value in raw.items() if field not in ("metadata", "status")}


def _check_finalizers(resource: Resource, old: Entry, raw: Raw) -> None:
    before = old.raw["metadata"]
    if "deletionTimestamp" not in before:
        return
    added = [
        name
        for name in raw["metadata"].get("finalizers") or ()
        if name not in (before.get("finalizers") or ())
    ]
    if added:
        detail = (
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{', '.join(map(json.dumps, added))}}}"
        )
        cause = refusals.not_allowed("metadata.finalizers", detail)
        raise refusals.invalid(resource, before["name"], cause)
