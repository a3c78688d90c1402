"""Objects as readers see them: dicts decoded into the structs of `moorage.api`."""

from typing import Final

import msgspec

from moorage.api.decode import KINDS, DecodeError, decode_object
from moorage.api.meta import KubeObject
from moorage.memory import refusals
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
    entry.see(checked(entry.raw, resource))


def checked(raw: Raw, resource: Resource) -> KubeObject:
    """The struct of an object that came from outside; a refusal names the place of the fault."""
    try:
        if resource.kind not in KINDS:
            return _decode_metadata(raw)
        return decode_object(raw, resource.kind, strict=resource == PODS)
    except DecodeError as error:
        raise _refusal(raw, resource, error) from None


def misshapen(raw: Raw, resource: Resource, cause: Exception) -> ApiError:
    """The refusal of an object that could not be handled, in words that name the place."""
    try:
        checked(raw, resource)
    except ApiError as error:
        return error
    return ServerError(f"Internal error occurred: {cause!r}")


def _decode_metadata(raw: Raw) -> KubeObject:
    try:
        return msgspec.convert(raw, KubeObject)
    except msgspec.ValidationError as error:
        raise DecodeError(str(raw.get("kind")), "", "", str(error)) from None


def _refusal(raw: Raw, resource: Resource, error: DecodeError) -> ApiError:
    kind = resource.kind
    if resource == PODS and _is_decodable(raw, kind):
        name = raw["metadata"].get("name") or ""
        return refusals.invalid(resource, name, f"{error.path}: {error.problem}")
    return BadRequest(
        f'{kind} in version "{resource.api_version}" cannot be handled as a {kind}: {error}'
    )


def _is_decodable(raw: Raw, kind: str) -> bool:
    """Whether only strictness stands against an object: a negative quantity is one, but invalid."""
    try:
        decode_object(raw, kind)
    except DecodeError:
        return False
    return True
