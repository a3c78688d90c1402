"""Loads manifests as they are written, status included, as a backup is restored.

Status, identity, times and priority are kept where they are given; what is missing is added as if
the object were new.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from moorage.api import kinds
from moorage.memory import creation, resource_traits, stored_objects
from moorage.memory.object_registry import ObjectRegistry
from moorage.memory.stored_objects import Entry
from moorage.watch.api_errors import BadRequest
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS, RESOURCES, Resource
from moorage.watch.api_server import Raw

_LOAD_ORDER: Final = {plural: index for index, plural in enumerate(RESOURCES)}
_UNDECODED_KINDS: Final = {
    resource.kind: resource for resource in RESOURCES.values() if resource.kind not in kinds.KINDS
}


def resource_of(raw: Raw) -> Resource:
    """The resource an object belongs to, by its apiVersion and kind."""
    api_version, kind = str(raw.get("apiVersion") or ""), str(raw.get("kind") or "")
    known = kinds.find(api_version, kind)
    if known is not None:
        return RESOURCES[known.plural]
    other = _UNDECODED_KINDS.get(kind)
    if other is not None and other.group == kinds.group_of(api_version):
        return other
    raise BadRequest(
        f'no resource for kind "{kind}" of apiVersion "{api_version}" is kept here: '
        f"{', '.join(f'{r.kind} ({r.api_version})' for r in RESOURCES.values())} are"
    )


def in_load_order(documents: Iterable[Raw]) -> list[tuple[Resource, Raw]]:
    """The objects of documents, each after the kinds it may refer to, lists taken apart."""
    objects = [(resource_of(raw), raw) for document in documents for raw in _items(document)]
    return sorted(objects, key=lambda pair: _LOAD_ORDER[pair[0].plural])


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
    """Put an object in, in place of one of the same name."""
    try:
        return _restore(registry, resource, raw)
    except stored_objects.MALFORMED as error:
        raise stored_objects.malformed_error(raw, resource, error) from error


def _restore(registry: ObjectRegistry, resource: Resource, raw: Raw) -> Entry:
    table = registry.store.table(resource)
    metadata = dict(raw.get("metadata") or {})
    metadata.pop("resourceVersion", None)
    old = table.entries.get(
        resource.key(metadata.get("namespace") or "default", metadata.get("name") or "")
    )
    known: Raw = {} if old is None else old.raw["metadata"]
    for field, new in (("uid", registry.stamps.uid), ("creationTimestamp", registry.stamps.now)):
        metadata[field] = metadata.get(field) or known.get(field) or new()
    if resource.plural in resource_traits.WITH_GENERATION:
        metadata["generation"] = metadata.get("generation") or known.get("generation") or 1
    raw = {**raw, "metadata": metadata}
    _complete_status(resource, raw)
    if old is None:
        return creation.add_object(registry, resource, raw, restored=True)
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
