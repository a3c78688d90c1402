"""Updates and patches an object or its status, within the rules of an API server."""

import json

from moorage.memory import (
    creation,
    deletion,
    error_messages,
    patches,
    pod_defaults,
    pod_validation,
    priority_admission,
    resource_traits,
    stored_objects,
)
from moorage.memory.object_registry import ObjectRegistry
from moorage.memory.stored_objects import Entry
from moorage.memory.versioned_store import Table
from moorage.watch.api_errors import ApiError, BadRequest, NotFound
from moorage.watch.api_resources import LEASES, NAMESPACES, PODS, PRIORITY_CLASSES, Resource
from moorage.watch.api_server import PatchType, Raw

_KEPT = ("name", "namespace", "uid", "creationTimestamp", "generation", "selfLink")
_KEPT_ONCE_DELETED = ("deletionTimestamp", "deletionGracePeriodSeconds")


def update_object(
    registry: ObjectRegistry, resource: Resource, raw: Raw, subresource: str
) -> Entry:
    """Replace an object, or one of its subresources, if resourceVersion and uid match."""
    try:
        return _update(registry, resource, raw, subresource)
    except stored_objects.MALFORMED as error:
        raise stored_objects.malformed_error(raw, resource, error) from error


def _update(registry: ObjectRegistry, resource: Resource, raw: Raw, subresource: str) -> Entry:
    metadata = raw.get("metadata") or {}
    name = metadata.get("name") or ""
    namespace = metadata.get("namespace") or "default"
    try:
        table, old = registry.find(resource, namespace, name)
    except NotFound:
        if resource == LEASES:
            return creation.create_object(registry, resource, raw)
        raise
    _check_version(resource, old, metadata.get("resourceVersion") or "")
    uid, actual = metadata.get("uid") or "", old.raw["metadata"]["uid"]
    if uid and uid != actual:
        raise error_messages.wrong_uid(resource, old.key, name, uid, actual)
    return _write(registry, table, old, raw, subresource)


def patch_object(
    registry: ObjectRegistry,
    resource: Resource,
    namespace: str,
    name: str,
    change: Raw,
    subresource: str,
    patch_type: PatchType,
) -> Entry:
    """Change an object, or one of its subresources, by a patch."""
    table, old = registry.find(resource, namespace, name)
    if patch_type == "strategic" and resource_traits.is_custom(resource):
        raise ApiError(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml",
            status=415,
            reason="UnsupportedMediaType",
        )
    merge = patches.strategic_merge_patch if patch_type == "strategic" else patches.json_merge_patch
    try:
        raw = merge(old.raw, change)
        _check_patched(resource, old, raw["metadata"])
        return _write(registry, table, old, raw, subresource)
    except stored_objects.MALFORMED as error:
        raise BadRequest(f'cannot patch {resource.qualified} "{name}": {error}') from error


def _check_version(resource: Resource, old: Entry, version: str) -> None:
    name = old.raw["metadata"]["name"]
    if not version and resource.plural in resource_traits.UPDATED_BY_VERSION:
        raise error_messages.no_version(resource, name)
    if version and version != str(old.version):
        raise error_messages.conflict(resource.qualified, name, error_messages.MODIFIED)


def _check_patched(resource: Resource, old: Entry, metadata: Raw) -> None:
    before = old.raw["metadata"]
    if metadata.get("resourceVersion") != before["resourceVersion"]:
        raise error_messages.conflict(resource.qualified, before["name"], error_messages.MODIFIED)
    for field in ("name", "namespace", "uid"):
        if metadata.get(field) != before.get(field):
            detail = "field is immutable"
            cause = error_messages.invalid_value(f"metadata.{field}", metadata.get(field), detail)
            raise error_messages.invalid(resource, before["name"], cause)


def _write(registry: ObjectRegistry, table: Table, old: Entry, raw: Raw, subresource: str) -> Entry:
    resource = table.resource
    if subresource == "":
        raw = _prepared(registry, table, old, raw)
    elif subresource == "status" and resource.plural in resource_traits.WITH_STATUS:
        raw = _prepared_status(resource, old, raw)
    else:
        raise NotFound("the server could not find the requested resource")
    _check_finalizers(resource, old, raw)
    if deletion.lost_last_finalizer(old, raw):
        deletion.remove_object(registry, table, old)
        return Entry(old.key, raw, old.version, table.decode)
    entry = registry.store.replace(table, old, raw)
    if resource == NAMESPACES:
        deletion.finish_namespace(registry, old.key)
    return entry


def _prepared(registry: ObjectRegistry, table: Table, old: Entry, raw: Raw) -> Raw:
    """The new object, with everything restored that an update must not change."""
    resource = table.resource
    raw = {
        **raw,
        "apiVersion": old.raw["apiVersion"],
        "kind": old.raw["kind"],
        "metadata": _metadata(old.raw["metadata"], raw["metadata"]),
    }
    if resource.plural in resource_traits.WITH_STATUS:
        raw.pop("status", None)
        if "status" in old.raw:
            raw["status"] = old.raw["status"]
    if resource == PODS:
        raw["spec"] = _pod_spec(old.raw["spec"], raw.get("spec") or {})
        pod_validation.check_update(old.raw, raw)
    if resource == PRIORITY_CLASSES:
        priority_admission.admit_priority_class(table, raw)
    if resource.plural in resource_traits.WITH_GENERATION and _asked(raw) != _asked(old.raw):
        raw["metadata"]["generation"] = raw["metadata"].get("generation", 0) + 1
    return raw


def _prepared_status(resource: Resource, old: Entry, raw: Raw) -> Raw:
    """The old object with a new status; labels and other metadata may change with it."""
    metadata = old.raw["metadata"]
    if not resource_traits.is_custom(resource):
        metadata = _metadata(metadata, raw["metadata"])
        metadata.pop("ownerReferences", None)
        if owners := old.raw["metadata"].get("ownerReferences"):
            metadata["ownerReferences"] = owners
    prepared = {**old.raw, "metadata": metadata, "status": raw.get("status") or {}}
    if resource == PODS:
        pod_validation.check_status_update(old.raw, prepared)
    return prepared


def _metadata(old: Raw, new: Raw) -> Raw:
    """The new metadata with immutable fields restored; the version is still the old one."""
    metadata = {**new, "resourceVersion": old["resourceVersion"]}
    for field in (*_KEPT, *_KEPT_ONCE_DELETED):
        metadata.pop(field, None)
        if field in old:
            metadata[field] = old[field]
    return metadata


def _pod_spec(old: Raw, new: Raw) -> Raw:
    spec = pod_defaults.fill_pod_defaults(new)
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and field in old:
            spec[field] = old[field]
    return spec


def _asked(raw: Raw) -> Raw:
    """The part of an object whose changes its generation counts."""
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
        cause = error_messages.not_allowed("metadata.finalizers", detail)
        raise error_messages.invalid(resource, before["name"], cause)
