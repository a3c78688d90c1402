"""Decodes lists and watch events from bytes into the structs of `moorage.api`."""

import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

import msgspec

from moorage.api.decode import (
    KINDS,
    UNREADABLE,
    DecodeError,
    decode_as,
    refuse_bad_quantities,
)
from moorage.api.meta import KubeObject
from moorage.kube.status_errors import raise_watch_error
from moorage.watch.api_errors import ServerError
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import EventType, Page, WatchEvent

_log = logging.getLogger(__name__)

Decode = Callable[[msgspec.Raw], KubeObject]


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


def decode_page(resource: Resource, body: bytes) -> Page:
    """One page of a list."""
    try:
        listed = _decode_list(body)
    except UNREADABLE as error:
        raise ServerError(f"a list of {resource.plural} cannot be read: {error}") from None
    if listed.items is msgspec.UNSET:
        raise ServerError(f"a list of {resource.plural} cannot be read: it has no items")
    decode = decoder_for(resource)
    items = tuple(_each(resource, decode, listed.items or []))
    return Page(items, listed.metadata.resource_version, listed.metadata.continue_)


def decode_watch_event(resource: Resource, decode: Decode, line: bytes) -> WatchEvent | None:
    """One line of a watch; None if its object cannot be read."""
    try:
        found = _decode_event(line)
    except UNREADABLE as error:
        raise ServerError(f"a watch of {resource.plural} cannot be read: {error}") from None
    if found.type == "BOOKMARK":
        return WatchEvent("BOOKMARK", None, _version_of(resource, found.object))
    if found.type == "ERROR":
        raise_watch_error(found.object)
    try:
        obj = decode(found.object)
    except DecodeError as error:
        _unreadable(resource, error)
        return None
    return WatchEvent(found.type, obj, obj.metadata.resource_version)


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


def _each(resource: Resource, decode: Decode, items: list[msgspec.Raw]) -> Iterator[KubeObject]:
    for raw in items:
        try:
            yield decode(raw)
        except DecodeError as error:
            _unreadable(resource, error)


def _unreadable(resource: Resource, error: DecodeError) -> None:
    """Log an object that cannot be read and leave it out: it must not hide the others."""
    _log.error("an object of %s is left out: %s", resource.plural, error)
