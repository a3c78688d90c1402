"""Stored objects: each version as a dict, decoded into the struct that readers see."""

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from moorage.api import mismatch
from moorage.api.decode import KINDS, DecodeError, decode_object
from moorage.api.meta import KubeObject, ObjectMeta
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
        """The struct, decoded when first asked for."""
        if self._view is None:
            self._view = self._decode(self.raw)
        return self._view

    def see(self, view: KubeObject) -> None:
        """Take a struct that was decoded already."""
        self._view = view


_AMOUNT: Final = re.compile(
    r"(?P<list>.*\.(requests|limits))\.(?P<name>[^:]+): '(?P<value>[^']*)' must not be negative"
)

MALFORMED: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What handling an object raises where it has, say, a list in place of a map."""


def decoder_for(resource: Resource) -> Decode:
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


PODS_SPECS_KEPT: Final = 1024
_PLAIN_STATUS: Final = frozenset({"phase", "qosClass", "conditions", "reason", "message"})
"""What the status of a pod may say without a quantity."""


class DecodedSpecs:
    """The specs of pods, by the very dicts that they were decoded from: like pods share one.

    A spec in here was decoded strictly, or is known to be good.
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
        """A pod whose spec is known; None where it is to be decoded from the start."""
        known = self._known.get(id(raw.get("spec")))
        status = raw.get("status") or {}
        if known is None or not _PLAIN_STATUS.issuperset(status):
            return None
        try:
            metadata = msgspec.convert(raw["metadata"], ObjectMeta)
            return Pod(metadata=metadata, spec=known[1], status=msgspec.convert(status, PodStatus))
        except msgspec.ValidationError:
            return None


def bound_view(old: KubeObject, raw: Raw, node: str) -> KubeObject | None:
    """A pod that was bound, made from what it was; None where it is to be decoded."""
    if not isinstance(old, Pod):
        return None
    version = raw["metadata"]["resourceVersion"]
    try:
        status = msgspec.convert(raw["status"], PodStatus)
    except msgspec.ValidationError:
        return None
    return msgspec.structs.replace(
        old,
        metadata=msgspec.structs.replace(old.metadata, resource_version=version),
        spec=msgspec.structs.replace(old.spec, node_name=node),
        status=status,
    )


def decode_entry(entry: Entry, resource: Resource) -> None:
    """Decode an object that came from outside, or refuse it."""
    entry.see(decode_or_refuse(entry.raw, resource))


def decode_or_refuse(raw: Raw, resource: Resource) -> KubeObject:
    """The struct of an object that came from outside; a refusal names the place of the fault."""
    try:
        if resource.kind not in KINDS:
            return _decode_metadata(raw)
        return decode_object(raw, resource.kind, strict=resource == PODS)
    except DecodeError as error:
        raise _decode_error(raw, resource, error) from None


def malformed_error(raw: Raw, resource: Resource, cause: Exception) -> ApiError:
    """The refusal of an object that could not be handled, in words that name the place."""
    try:
        decode_or_refuse(raw, resource)
    except ApiError as error:
        return error
    return ServerError(f"Internal error occurred: {cause!r}")


def _decode_metadata(raw: Raw) -> KubeObject:
    try:
        return msgspec.convert(raw, KubeObject)
    except msgspec.ValidationError as error:
        misfit = mismatch.explain_mismatch(str(error), raw)
        raise DecodeError(str(raw.get("kind")), "", misfit.path, misfit.problem) from None


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
    """Whether only strictness stands against an object: a negative quantity is one, but invalid."""
    try:
        decode_object(raw, kind)
    except DecodeError:
        return False
    return True
