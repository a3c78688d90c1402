"""Creates an object: name, namespace, defaults, admission and validation, then the store."""

from moorage.memory import (
    error_messages,
    namespace_lifecycle,
    object_defaults,
    object_names,
    pod_validation,
    priority_admission,
    resource_traits,
    stored_objects,
)
from moorage.memory.object_registry import ObjectRegistry
from moorage.memory.stored_objects import Entry
from moorage.watch.api_errors import ServerError
from moorage.watch.api_resources import EVENTS, PODS, PRIORITY_CLASSES, Resource
from moorage.watch.api_server import Raw


def create_object(registry: ObjectRegistry, resource: Resource, raw: Raw) -> Entry:
    """Create an object. `raw` is not changed, but parts of it are kept."""
    try:
        return _create(registry, resource, raw)
    except stored_objects.MALFORMED as error:
        raise stored_objects.malformed_error(raw, resource, error) from error


def _create(registry: ObjectRegistry, resource: Resource, raw: Raw) -> Entry:
    metadata = dict(raw.get("metadata") or {})
    if metadata.pop("resourceVersion", ""):
        raise ServerError("resourceVersion should not be set on objects to be created")
    metadata.pop("deletionTimestamp", None)
    metadata.pop("deletionGracePeriodSeconds", None)
    metadata.pop("uid", None)
    metadata["creationTimestamp"] = registry.stamps.now()
    if resource.plural in resource_traits.WITH_GENERATION:
        metadata["generation"] = 1
    raw = {**raw, "metadata": metadata}
    if (status := resource_traits.CREATED_STATUS.get(resource.plural)) is not None:
        raw["status"] = status
    return add_object(registry, resource, raw)


def add_object(
    registry: ObjectRegistry,
    resource: Resource,
    raw: Raw,
    *,
    restored: bool = False,
    from_server: bool = False,
) -> Entry:
    """Name, default, validate and store an object. The caller gives up its metadata dict.

    An object taken `from_server` (from any API server) was validated there.
    """
    metadata = raw["metadata"]
    if resource.namespaced:
        metadata["namespace"] = metadata.get("namespace") or "default"
        namespace_lifecycle.admit_to_namespace(
            registry, resource, metadata, from_server=from_server
        )
    else:
        metadata.pop("namespace", None)
    key = object_names.give_name(registry, resource, metadata)
    address = (resource.plural, metadata.get("namespace", ""), metadata["name"])
    metadata["uid"] = metadata.get("uid") or registry.stamps.uid(*address)
    causes = object_names.name_causes(resource, metadata["name"])
    if causes and not registry.options.validate:
        raise error_messages.invalid(resource, metadata["name"], *causes)
    raw = with_defaults(registry, resource, raw, restored=restored)
    if registry.options.validate and not from_server:
        causes += registry.validation.causes(resource, raw)
    if causes:
        raise error_messages.invalid(resource, metadata["name"], *causes)
    if resource == PODS and registry.options.admission and not from_server:
        registry.admission.admit(metadata, raw["spec"])
    new_pod = resource == PODS and not restored
    if new_pod:
        raw = pod_validation.checked_new(raw, registry.stamps.now())
    table = registry.store.table(resource)
    entry = registry.store.create(table, key, raw, trusted=new_pod)
    if resource != EVENTS:
        registry.stamps.created(*address)
    if resource == EVENTS and len(table.entries) > registry.options.events:
        registry.store.remove(table, next(iter(table.entries.values())))
    return entry


def with_defaults(registry: ObjectRegistry, resource: Resource, raw: Raw, *, restored: bool) -> Raw:
    """The object with defaults; a pod's priority is resolved, unless it is restored with one."""
    raw = {"apiVersion": resource.api_version, "kind": resource.kind, **raw}
    if resource == PRIORITY_CLASSES:
        priority_admission.admit_priority_class(registry.store.table(resource), raw)
    if resource != PODS:
        return object_defaults.fill_object_defaults(registry, resource, raw)
    spec = raw.get("spec") or {}
    if restored and spec.get("priority") is not None:
        return {**raw, "spec": registry.specs.restored(spec)}
    if not registry.options.admission:
        return {**raw, "spec": registry.specs.admitted(raw["metadata"], spec)}
    changed = registry.admission.changed(raw["metadata"], spec)
    return {**raw, "spec": registry.specs.admitted(raw["metadata"], changed)}
