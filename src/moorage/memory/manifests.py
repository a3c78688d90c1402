"""Manifests: which resource an object belongs to, and in what order to load many."""

from collections.abc import Iterable, Iterator
from typing import Final

from moorage.api import kinds
from moorage.watch.errors import BadRequest
from moorage.watch.resources import RESOURCES, Resource
from moorage.watch.surface import Raw

_ORDER: Final = {plural: index for index, plural in enumerate(RESOURCES)}
_OTHERS: Final = {
    resource.kind: resource for resource in RESOURCES.values() if resource.kind not in kinds.KINDS
}


def resource_of(raw: Raw) -> Resource:
    """The resource an object belongs to, by its apiVersion and kind."""
    api_version, kind = str(raw.get("apiVersion") or ""), str(raw.get("kind") or "")
    known = kinds.find(api_version, kind)
    if known is not None:
        return RESOURCES[known.plural]
    other = _OTHERS.get(kind)
    if other is not None and other.group == kinds.group_of(api_version):
        return other
    raise BadRequest(
        f'no resource for kind "{kind}" of apiVersion "{api_version}" is kept here: '
        f"{', '.join(f'{r.kind} ({r.api_version})' for r in RESOURCES.values())} are"
    )


def in_order(documents: Iterable[Raw]) -> list[tuple[Resource, Raw]]:
    """The objects of documents, each after the kinds it may refer to, lists taken apart."""
    objects = [(resource_of(raw), raw) for document in documents for raw in _items(document)]
    return sorted(objects, key=lambda pair: _ORDER[pair[0].plural])


def _items(document: Raw) -> Iterator[Raw]:
    kind = str(document.get("kind") or "")
    if not kind.endswith("List") or "items" not in document:
        yield document
        return
    inherited = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    for item in document["items"] or ():
        yield from _items({**inherited, **item})
