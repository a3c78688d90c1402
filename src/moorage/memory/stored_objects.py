"""Stored objects: each version as a dict, and as the struct decoded from it."""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from moorage.api.decode import KINDS, DecodeError, decode_as, decode_object
from moorage.api.meta import KubeObject, ObjectMeta, annotated
from moorage.api.pod import Pod, PodSpec, PodStatus
from moorage.memory import error_messages
from moorage.watch.api_errors import ApiError, BadRequest, ServerError
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.api_server import Raw

Decode = Callable[[Raw], KubeObject]


class Entry:
    """An object at one version. Neither the dict nor the struct is ever changed."""

    __slots__ = ("_decode", "_view", "key", "raw", "version")

    def __init__(self, key: str, raw: Raw, version: int, decode: Decode) -> None:
        self.key = key
        self.raw = raw
        self.version = version
        self._decode = decode
        self._view: KubeObject | None = None

    @property
    def view(self) -> KubeObject:
        """The struct, decoded at the first call."""
        if self._view is None:
            self._view = self._decode(self.raw)
        return self._view

    def see(self, view: KubeObject) -> None:
        """Use a struct that was decoded already."""
        self._view = view


_AMOUNT: Final = re.compile(
    r"(?P<list>.*\.(requests|limits))\.(?P<name>[^:]+): '(?P<value>[^']*)' must not be negative"
)

MALFORMED: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What code raises that handles an object with, say, a list in place of a map."""


def decoder_for(resource: Resource) -> Decode:
    """The decoder for a resource; for a kind that no code reads, it decodes only metadata."""
    if resource.kind not in KINDS:
        return _decode_metadata
    kind, struct = resource.kind, KINDS[resource.kind].struct

    def decode(raw: Raw) -> KubeObject:
        try:
            return msgspec.convert(raw, struct)
        except msgspec.ValidationError:
            return decode_object(raw, kind)

    return decode


PODS_SPECS_KEPT: Final = 1024
_PLAIN_STATUS: Final = frozenset({"phase", "qosClass", "conditions", "reason", "message"})
"""Fields of a pod's status that contain no quantities."""


class DecodedSpecs:
    """Decoded pod specs, by id of the dict they were decoded from. Pods from a template share one.

    A spec in here was decoded strictly, or is known to be valid.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[Raw, PodSpec]] = OrderedDict()

    def keep(self, raw: Raw, view: KubeObject) -> None:
        """Remember the spec of a pod."""
        spec = raw.get("spec")
        if isinstance(view, Pod) and isinstance(spec, dict):
            self._known[id(spec)] = spec, view.spec
            if len(self._known) > PODS_SPECS_KEPT:
                self._known.popitem(last=False)

    def pod(self, raw: Raw) -> Pod | None:
        """A pod whose spec is known; None if the pod must be decoded entirely."""
        known = self._known.get(id(raw.get("spec")))
        status = raw.get("status") or {}
        if known is None or not _PLAIN_STATUS.issuperset(status):
            return None
        try:
            metadata = msgspec.convert(raw["metadata"], ObjectMeta)
            return Pod(metadata=metadata, spec=known[1], status=msgspec.convert(status, PodStatus))
        except msgspec.ValidationError:
            return None


def bound_view(
    old: KubeObject, raw: Raw, node: str, annotations: Mapping[str, str]
) -> KubeObject | None:
    """A bound pod, made from the pod before; None if it must be decoded entirely."""
    if not isinstance(old, Pod):
        return None
    version = raw["metadata"]["resourceVersion"]
    try:
        status = msgspec.convert(raw["status"], PodStatus)
    except msgspec.ValidationError:
        return None
    return msgspec.structs.replace(
        old,
        metadata=msgspec.structs.replace(
            annotated(old.metadata, annotations), resource_version=version
        ),
        spec=msgspec.structs.replace(old.spec, node_name=node),
        status=status,
    )


def decode_entry(entry: Entry, resource: Resource) -> None:
    """Decode an object from a client, or refuse it."""
    entry.see(decode_or_refuse(entry.raw, resource))


def decode_or_refuse(raw: Raw, resource: Resource) -> KubeObject:
    """The struct of an object from a client; a refusal names the path of the fault."""
    try:
        if resource.kind not in KINDS:
            return _decode_metadata(raw)
        return decode_object(raw, resource.kind, strict=resource == PODS)
    except DecodeError as error:
        raise _decode_error(raw, resource, error) from None


def malformed_error(raw: Raw, resource: Resource, cause: Exception) -> ApiError:
    """The refusal of an object that could not be handled; it names the path of the fault."""
    try:
        decode_or_refuse(raw, resource)
    except ApiError as error:
        return error
    return ServerError(f"Internal error occurred: {cause!r}")


def _decode_metadata(raw: Raw) -> KubeObject:
    try:
        return decode_as(raw, KubeObject)
    except DecodeError as error:
        raise DecodeError(str(raw.get("kind")), error.key, error.path, error.problem) from None


def _decode_error(raw: Raw, resource: Resource, error: DecodeError) -> ApiError:
    kind = resource.kind
    if resource == PODS and _is_decodable(raw, kind):
        name = raw["metadata"].get("name") or ""
        return error_messages.invalid(resource, name, _negative(error))
    return BadRequest(
        f'{kind} in version "{resource.api_version}" cannot be handled as a {kind}: {error}'
    )


def _negative(error: DecodeError) -> str:
    """A negative amount, in the API server's words."""
    amount = _AMOUNT.fullmatch(f"{error.path}: {error.problem}")
    if amount is None:
        return f"{error.path}: {error.problem}"
    field = f"{amount['list']}[{amount['name']}]"
    detail = "must be greater than or equal to 0"
    return error_messages.invalid_value(field, amount["value"], detail)


def _is_decodable(raw: Raw, kind: str) -> bool:
    """Whether an object decodes when not strict: a negative quantity decodes, but is invalid."""
    try:
        decode_object(raw, kind)
    except DecodeError:
        return False
    return True
