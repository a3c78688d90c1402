"""Objects as readers see them: dicts decoded into the structs of `moorage.api`."""

from typing import Final

import msgspec

from moorage.api.decode import KINDS, DecodeError, decode_object
from moorage.api.meta import KubeObject
from moorage.memory.entries import Decode, Entry
from moorage.watch.errors import ApiError, BadRequest, ServerError
from moorage.watch.resources import PODS, Resource
from moorage.watch.surface import Raw

MISSHAPEN: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What handling an object raises where it has, say, a list in place of a map."""


def decoder(resource: Resource) -> Decode:
    """The function that decodes a resource's objects; of a kind nobody reads, only metadata."""
    if resource.kind not in KINDS:
        return _decode_metadata
    kind, struct = resource.kind, KINDS[resource.kind].struct

    def decode(raw: Raw) -> KubeObject:
        try:
            return msgspec.convert(raw, struct)
        except msgspec.ValidationError:
            return decode_object(raw, kind)

    return decode


def check(entry: Entry, resource: Resource) -> None:
    """Decode an object that came from outside, or refuse it."""
    try:
        entry.see(_checked(entry.raw, resource))
    except DecodeError as error:
        raise _refusal(resource, error) from None


def check_pod(pod: Raw) -> None:
    """Refuse a pod that cannot be decoded, or has quantities an API server would not take."""
    try:
        decode_object(pod, "Pod", strict=True)
    except DecodeError as error:
        raise _refusal(PODS, error) from None


def misshapen(raw: Raw, resource: Resource, cause: Exception) -> ApiError:
    """The refusal of an object that could not be handled, in words that name the place."""
    try:
        _checked(raw, resource)
    except DecodeError as error:
        return _refusal(resource, error)
    return ServerError(f"Internal error occurred: {cause!r}")


def _checked(raw: Raw, resource: Resource) -> KubeObject:
    if resource.kind in KINDS:
        return decode_object(raw, resource.kind, strict=resource.kind == "Pod")
    return _decode_metadata(raw)


def _decode_metadata(raw: Raw) -> KubeObject:
    try:
        return msgspec.convert(raw, KubeObject)
    except msgspec.ValidationError as error:
        raise DecodeError(str(raw.get("kind")), "", "", str(error)) from None


def _refusal(resource: Resource, error: DecodeError) -> BadRequest:
    kind = resource.kind
    return BadRequest(
        f'{kind} in version "{resource.api_version}" cannot be handled as a {kind}: {error}'
    )
