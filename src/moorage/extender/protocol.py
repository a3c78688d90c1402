"""The types of k8s.io/kube-scheduler/extender/v1, and decoding them as leniently as Go.

Go writes field names as they are, in capitals; `null` stands for a missing value. Objects are kept
as raw JSON, already encoded or not decoded yet.
"""

import types
from functools import cache
from typing import Any, Final, TypeVar, Union, cast, dataclass_transform, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from moorage.api.decode import UNREADABLE
from moorage.config.types import Int64

MAX_PRIORITY: Final = 10
EMPTY_OBJECT: Final = msgspec.Raw(b"{}")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Wire(
    msgspec.Struct, frozen=True, rename="pascal", kw_only=True, forbid_unknown_fields=True, gc=False
):
    """The dialect of the protocol: Go's exact field names. `decode_wire` is more lenient."""


class ExtenderArgs(Wire):
    """Filter and prioritize: a pod, and candidates as whole objects or by name."""

    pod: msgspec.Raw
    nodes: msgspec.Raw | None = None
    node_names: list[str] | None = None


class NodeList(Wire):
    """The nodes of a request or an answer."""

    metadata: msgspec.Raw = msgspec.field(default=EMPTY_OBJECT, name="metadata")
    items: list[msgspec.Raw] | None = msgspec.field(default=None, name="items")


class ExtenderFilterResult(Wire):
    """The nodes that pass, and why others do not; `error` if the verb failed."""

    nodes: msgspec.Raw | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str = ""


class HostPriority(Wire):
    """A node's score, 0 to 10."""

    host: str = ""
    score: Int64 = 0


class MetaPod(Wire):
    """A victim by its uid."""

    uid: str = msgspec.field(default="", name="UID")


class MetaVictims(Wire):
    """The victims on a node by their uids."""

    pods: list[MetaPod] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class Victims(Wire):
    """The victims on a node as whole objects."""

    pods: list[msgspec.Raw] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class ExtenderPreemptionArgs(Wire):
    """A preemptor, and the victims on each candidate node."""

    pod: msgspec.Raw
    node_name_to_victims: dict[str, Victims] | None = None
    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class ExtenderPreemptionResult(Wire):
    """The nodes that remain, with the uids of victims."""

    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class ExtenderBindingArgs(Wire):
    """Bind this pod to this node."""

    pod_name: str = ""
    pod_namespace: str = ""
    pod_uid: str = msgspec.field(default="", name="PodUID")
    node: str = ""


class ExtenderBindingResult(Wire):
    """The error of a binding; empty if the pod is bound."""

    error: str = ""


T = TypeVar("T")
Text = bytes | msgspec.Raw


class WireDecodeError(ValueError):
    """Not the JSON that was expected."""


def decode_wire(body: Text, kind: type[T]) -> T:
    """Decode a wire type, or a list of them."""
    try:
        found: T = _decoder(cast("Any", kind)).decode(body)
    except UNREADABLE:
        found = _decode_leniently(body, kind)
    return found


def _decode_leniently(body: Text, kind: Any) -> Any:
    try:
        return _decode_any(body, kind)
    except UNREADABLE as error:
        raise WireDecodeError(str(error)) from None


def _decode_any(body: Text, kind: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if bytes(body) == b"null":
            return None
        return _decode_any(body, next(part for part in inner if part is not type(None)))
    if origin is list:
        items = _decoder(list[msgspec.Raw] | None).decode(body) or []
        return [_decode_any(item, inner[0]) for item in items]
    if origin is dict:
        pairs = _decoder(dict[str, msgspec.Raw] | None).decode(body) or {}
        return {key: _decode_any(value, inner[1]) for key, value in pairs.items()}
    if isinstance(kind, type) and issubclass(kind, Wire):
        return _decode_struct(body, kind)
    return _decoder(kind).decode(body)


def _decode_struct(body: Text, kind: type[Wire]) -> Wire:
    exact, folded = _fields(kind)
    given = _decoder(dict[str, msgspec.Raw]).decode(body)
    values: dict[str, Any] = {}
    for name, value in given.items():
        field = exact.get(name) or folded.get(name.lower())
        if field is not None and bytes(value) != b"null":
            values[field.name] = _decode_any(value, field.type)
    missing = [f.encode_name for f in exact.values() if f.required and f.name not in values]
    if missing:
        raise WireDecodeError(f"there is no {missing[0]}")
    return kind(**values)


@cache
def _fields(kind: type[Wire]) -> tuple[dict[str, FieldInfo], dict[str, FieldInfo]]:
    fields = msgspec.structs.fields(kind)
    exact = {field.encode_name: field for field in fields}
    return exact, {name.lower(): field for name, field in exact.items()}


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
