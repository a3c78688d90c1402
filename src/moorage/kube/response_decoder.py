"""Decodes lists and watch events from bytes into the structs of `moorage.api`."""

import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, Literal

import msgspec

from moorage.api.decode import (
    KINDS,
    UNREADABLE,
    DecodeError,
    decode_as,
    refuse_bad_quantities,
)
from moorage.api.lenient_json import decode_any_depth
from moorage.api.meta import KubeObject
from moorage.kube.status_errors import raise_watch_error
from moorage.watch.api_errors import ServerError
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import EventType, Page, WatchEvent

_log = logging.getLogger(__name__)

Decode = Callable[[msgspec.Raw], KubeObject]


NOT_READ: Final = (
    msgspec.MsgspecError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError,
)  # fmt: skip
"""What decoding an object may raise; whoever writes objects must not be able to end a list."""
_MOST_KEPT: Final = 10_000


class UnreadableObjects:
    """Reports the objects that cannot be read: each version of an object once, in log and count."""

    def __init__(self, count: Callable[[str], None] = lambda plural: None) -> None:
        self._count = count
        self._reported: dict[tuple[str, str], str] = {}

    def add(self, resource: Resource, raw: msgspec.Raw, error: Exception) -> None:
        """Report an object that is left out: it must not hide the others."""
        metadata = _metadata_of(raw)
        place = resource.plural, metadata.key or str(error)
        version = metadata.metadata.resource_version
        if self._reported.pop(place, None) != version:
            self._count(resource.plural)
            said = error if isinstance(error, DecodeError) else f"{metadata.key}: {error}"
            _log.error("an object of %s is left out: %s", resource.plural, said)
        self._reported[place] = version
        if len(self._reported) > _MOST_KEPT:
            del self._reported[next(iter(self._reported))]


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: EventType | Literal["ERROR"]
    object: msgspec.Raw


_decode_list = msgspec.json.Decoder(_List).decode
_decode_event = msgspec.json.Decoder(_Event).decode
_decode_metadata = msgspec.json.Decoder(KubeObject).decode


def decode_page(
    resource: Resource, body: bytes, unreadable: UnreadableObjects | None = None
) -> Page:
    """One page of a list, without the objects that cannot be read."""
    try:
        listed = decode_any_depth(_decode_list, body)
    except UNREADABLE as error:
        raise ServerError(f"a list of {resource.plural} cannot be read: {error}") from None
    if listed.items is msgspec.UNSET:
        raise ServerError(f"a list of {resource.plural} cannot be read: it has no items")
    decode = decoder_for(resource)
    left_out = unreadable or UnreadableObjects()
    items = tuple(_each(resource, decode, listed.items or [], left_out))
    return Page(items, listed.metadata.resource_version, listed.metadata.continue_)


def decode_watch_event(
    resource: Resource, decode: Decode, line: bytes, unreadable: UnreadableObjects | None = None
) -> WatchEvent | None:
    """One line of a watch; None if its object cannot be read.

    Of an object that is deleted, its metadata is enough: it may have been readable before.
    """
    try:
        found = decode_any_depth(_decode_event, line)
    except UNREADABLE as error:
        raise ServerError(f"a watch of {resource.plural} cannot be read: {error}") from None
    if found.type == "BOOKMARK":
        return WatchEvent("BOOKMARK", None, _version_of(resource, found.object))
    if found.type == "ERROR":
        raise_watch_error(found.object)
    try:
        obj = decode(found.object)
    except NOT_READ as error:
        (unreadable or UnreadableObjects()).add(resource, found.object, error)
        obj = _metadata_of(found.object)
        if found.type != "DELETED" or not obj.name:
            return None
    return WatchEvent(found.type, obj, obj.metadata.resource_version)


def _metadata_of(raw: msgspec.Raw) -> KubeObject:
    try:
        return _decode_metadata(raw)
    except NOT_READ:
        return KubeObject()


def _version_of(resource: Resource, bookmark: msgspec.Raw) -> str:
    try:
        return _decode_metadata(bookmark).metadata.resource_version
    except UNREADABLE as error:
        raise ServerError(f"a bookmark of {resource.plural} cannot be read: {error}") from None


@cache
def decoder_for(resource: Resource) -> Decode:
    """The function that decodes a resource's objects; of unknown kinds only the metadata.

    The API server has validated what it stores. Only what would break us if it had not is checked
    again: that there is a name, and that quantities are valid.
    """
    struct = KINDS[resource.kind].struct if resource.kind in KINDS else KubeObject
    fast = msgspec.json.Decoder(struct).decode

    def decode(raw: msgspec.Raw) -> KubeObject:
        try:
            obj = fast(raw)
        except UNREADABLE:
            obj = decode_as(raw, struct)
        if not obj.metadata.name:
            raise DecodeError(resource.kind, "", "metadata.name", "there is none")
        refuse_bad_quantities(obj)
        return obj

    return decode


def _each(
    resource: Resource, decode: Decode, items: list[msgspec.Raw], unreadable: UnreadableObjects
) -> Iterator[KubeObject]:
    for raw in items:
        try:
            yield decode(raw)
        except NOT_READ as error:
            unreadable.add(resource, raw, error)
