"""Loads manifests as they are written, status included, like the restore of a backup.

Status, uid, times and priority are kept where the manifest has them. What is missing is added as
for a new object.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from moorage.api import kinds
from moorage.memory import creation, resource_traits, stored_objects
from moorage.memory.cluster_resources import KEPT_KINDS, KEPT_RESOURCES
from moorage.memory.object_registry import ObjectRegistry
from moorage.memory.stored_objects import Entry
from moorage.watch.api_errors import BadRequest
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS, Resource
from moorage.watch.api_server import Raw

_LOAD_ORDER: Final = {plural: index for index, plural in enumerate(KEPT_RESOURCES)}
_BY_LOWER_CASE: Final = {
    name.lower(): resource
    for plural, resource in KEPT_RESOURCES.items()
    for name in (plural, resource.kind)
}
_CORE_EVENT: Final = ("v1", "Event")
"""The only Kubernetes kind in two API groups. The cluster keeps the one of events.k8s.io."""


def find_resource(raw: Raw) -> Resource | None:
    """The resource of an object, by the group of its apiVersion and its kind; None if not kept."""
    api_version, kind = str(raw.get("apiVersion") or ""), str(raw.get("kind") or "")
    known = kinds.find(api_version, kind)
    if known is not None:
        return KEPT_RESOURCES[known.plural]
    other = KEPT_KINDS.get(kind)
    if other is not None and other.group == kinds.group_of(api_version):
        return other
    return None


def version_complaint(raw: Raw) -> str:
    """What is wrong with an object's apiVersion or with the spelling of its kind; "" if nothing is.

    A kind of another group is no error if that group has a dot. All groups without a dot belong to
    Kubernetes itself.
    """
    api_version, kind = str(raw.get("apiVersion") or ""), str(raw.get("kind") or "")
    resource = _BY_LOWER_CASE.get(kind.lower())
    if resource is None or (api_version, kind) == _CORE_EVENT:
        return ""
    if (api_version, kind) == (resource.api_version, resource.kind):
        return ""
    right = f"that of a {resource.kind} is {resource.api_version}"
    if not api_version:
        return f"apiVersion: missing; {right}"
    group = kinds.group_of(api_version)
    if "." in group and (kind == resource.kind or group != resource.group):
        return ""
    spelt = "" if kind == resource.kind else f"it is spelt {resource.kind}; "
    return f'no matches for kind "{kind}" in version "{api_version}": {spelt}{right}'


def resource_of(raw: Raw) -> Resource:
    """The resource of an object; raises `BadRequest` if the cluster does not keep it."""
    found = find_resource(raw)
    if found is not None:
        return found
    api_version, kind = str(raw.get("apiVersion") or ""), str(raw.get("kind") or "")
    raise BadRequest(
        version_complaint(raw)
        or f'no resource for kind "{kind}" of apiVersion "{api_version}" is kept here: '
        f"{', '.join(f'{r.kind} ({r.api_version})' for r in KEPT_RESOURCES.values())} are"
    )


def load_rank(resource: Resource) -> int:
    """The place of a resource in the load order: each comes after those it refers to."""
    return _LOAD_ORDER[resource.plural]


def in_load_order(documents: Iterable[Raw]) -> list[tuple[Resource, Raw]]:
    """The objects of documents in load order; lists are expanded to their items."""
    objects = [(resource_of(raw), raw) for document in documents for raw in _items(document)]
    return sorted(objects, key=lambda pair: load_rank(pair[0]))


def _items(document: Raw) -> Iterator[Raw]:
    kind = str(document.get("kind") or "")
    if not kind.endswith("List") or "items" not in document:
        yield document
        return
    inherited = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    for item in document["items"] or ():
        yield from _items({**inherited, **item})


_ADDRESS: Final = ("name", "namespace", "resourceVersion")


def restore_object(registry: ObjectRegistry, resource: Resource, raw: Raw) -> Entry:
    """Store an object; it replaces one of the same name."""
    try:
        return _restore(registry, resource, raw)
    except stored_objects.MALFORMED as error:
        raise stored_objects.malformed_error(raw, resource, error) from error


def is_from_server(raw: Raw) -> bool:
    """Whether an object has fields that only an API server sets."""
    metadata = raw.get("metadata") or {}
    return bool(metadata.get("uid") and metadata.get("creationTimestamp"))


def _restore(registry: ObjectRegistry, resource: Resource, raw: Raw) -> Entry:
    table = registry.store.table(resource)
    metadata = dict(raw.get("metadata") or {})
    metadata.pop("resourceVersion", None)
    from_server = is_from_server(raw)
    old = table.entries.get(
        resource.key(metadata.get("namespace") or "default", metadata.get("name") or "")
    )
    known: Raw = {} if old is None else old.raw["metadata"]
    metadata["uid"] = metadata.get("uid") or known.get("uid")
    created = metadata.get("creationTimestamp") or known.get("creationTimestamp")
    metadata["creationTimestamp"] = created or registry.stamps.now()
    if resource.plural in resource_traits.WITH_GENERATION:
        metadata["generation"] = metadata.get("generation") or known.get("generation") or 1
    raw = {**raw, "metadata": metadata}
    _complete_status(resource, raw)
    if old is None:
        return creation.add_object(registry, resource, raw, restored=True, from_server=from_server)
    metadata.update({field: known[field] for field in _ADDRESS if field in known})
    raw = creation.with_defaults(registry, resource, raw, restored=True)
    return registry.store.replace(table, old, raw)


def _complete_status(resource: Resource, raw: Raw) -> None:
    given = raw.get("status") or {}
    status = {**resource_traits.CREATED_STATUS.get(resource.plural, {}), **given}
    if resource == POD_DISRUPTION_BUDGETS and given:
        status.setdefault("observedGeneration", raw["metadata"]["generation"])
    if status:
        raw["status"] = status
