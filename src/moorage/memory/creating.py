"""Creating an object: name, namespace, defaults, admission, checks, and then the store."""

import re
from typing import Final

from moorage.memory import (
    defaults,
    facts,
    namespaces,
    poddefaults,
    podrules,
    priority,
    refusals,
    views,
)
from moorage.memory.entries import Entry
from moorage.memory.registry import Registry
from moorage.watch.errors import ServerError
from moorage.watch.resources import EVENTS, PODS, PRIORITY_CLASSES, Resource
from moorage.watch.surface import Raw

NAME_ATTEMPTS: Final = 8
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_NAME.pattern}')"
)


def create(registry: Registry, resource: Resource, raw: Raw) -> Entry:
    """Create an object. `raw` is not changed, but parts of it are kept."""
    try:
        return _create(registry, resource, raw)
    except views.MISSHAPEN as error:
        raise views.misshapen(raw, resource, error) from error


def _create(registry: Registry, resource: Resource, raw: Raw) -> Entry:
    metadata = dict(raw.get("metadata") or {})
    if metadata.pop("resourceVersion", ""):
        raise ServerError("resourceVersion should not be set on objects to be created")
    metadata.pop("deletionTimestamp", None)
    metadata.pop("deletionGracePeriodSeconds", None)
    metadata["uid"] = registry.stamps.uid()
    metadata["creationTimestamp"] = registry.stamps.now()
    if resource.plural in facts.WITH_GENERATION:
        metadata["generation"] = 1
    raw = {**raw, "metadata": metadata}
    if (status := facts.CREATED_STATUS.get(resource.plural)) is not None:
        raw["status"] = status
    return add(registry, resource, raw)


def add(registry: Registry, resource: Resource, raw: Raw, *, restored: bool = False) -> Entry:
    """Name, fill and store an object whose metadata dict is the caller's own."""
    metadata = raw["metadata"]
    if resource.namespaced:
        metadata["namespace"] = metadata.get("namespace") or "default"
        namespaces.admit(registry, resource, metadata)
    else:
        metadata.pop("namespace", None)
    key = _named(registry, resource, metadata)
    raw = filled(registry, resource, raw, restored=restored)
    new_pod = resource == PODS and not restored
    if new_pod:
        raw = podrules.checked_new(raw, registry.stamps.now())
    table = registry.store.table(resource)
    entry = registry.store.create(table, key, raw, trusted=new_pod)
    if resource == EVENTS and len(table.entries) > registry.options.events:
        registry.store.remove(table, next(iter(table.entries.values())))
    return entry


def _named(registry: Registry, resource: Resource, metadata: Raw) -> str:
    """The key of a new object, after giving it a name where it asks for one."""
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if not name and not prefix:
        detail = "name or generateName is required"
        raise refusals.invalid(resource, "", refusals.required("metadata.name", detail))
    taken, namespace = registry.store.table(resource).entries, metadata.get("namespace", "")
    for _ in range(1 if name else NAME_ATTEMPTS):
        chosen = name or registry.stamps.name(prefix)
        key = resource.key(namespace, chosen)
        if key not in taken:
            break
    else:
        raise refusals.already_exists(resource, chosen, generated=not name)
    if _NAME.fullmatch(chosen) is None:
        cause = refusals.invalid_value("metadata.name", chosen, _NAME_RULE)
        raise refusals.invalid(resource, chosen, cause)
    metadata["name"] = chosen
    return key


def filled(registry: Registry, resource: Resource, raw: Raw, *, restored: bool) -> Raw:
    """The object with defaults; a pod's priority is resolved, unless restored with one."""
    raw = {"apiVersion": resource.api_version, "kind": resource.kind, **raw}
    if resource == PRIORITY_CLASSES:
        priority.admit_class(registry.store.table(resource), raw)
    if resource != PODS:
        return defaults.fill(registry, resource, raw)
    spec = raw.get("spec") or {}
    if restored and spec.get("priority") is not None:
        return {**raw, "spec": {**priority.NO_CLASS, **poddefaults.fill(spec)}}
    return {**raw, "spec": registry.specs.admitted(raw["metadata"], spec)}
