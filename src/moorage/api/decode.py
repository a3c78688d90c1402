"""Decode raw objects into structs, once, at the edge.

What Kubernetes accepts is accepted. What it refuses raises DecodeError, which names the object, the
path inside it and, where there is one, the remedy.
"""

from functools import cache
from typing import Any, TypeVar

import msgspec

from moorage.api import kinds, misfits
from moorage.api.checking import MisplacedQuantityError, check_quantities
from moorage.api.cleaning import cleaner
from moorage.api.kinds import KINDS, Kind
from moorage.api.meta import ApiStruct, KubeObject

__all__ = ["KINDS", "DecodeError", "Kind", "Raw", "decode_as", "decode_object", "kind_of"]

Raw = dict[str, Any] | bytes | bytearray | memoryview | msgspec.Raw | str
"""JSON text, or the data of a JSON or YAML document."""

Object = TypeVar("Object", bound=KubeObject)


class DecodeError(ValueError):
    """An object that cannot be decoded: `kind`, `key`, `path` and `problem` say which and why."""

    def __init__(self, kind: str, key: str, path: str, problem: str) -> None:
        named = f"{kind} {key}".strip()
        super().__init__(": ".join(part for part in (named, path, problem) if part))
        self.kind = kind
        self.key = key
        self.path = path
        self.problem = problem


class _TypeMeta(ApiStruct):
    api_version: str = ""
    kind: str = ""


def decode_object(raw: Raw, kind: str | None = None, *, strict: bool = False) -> KubeObject:
    """Decode an object of the named kind, or of the kind its own apiVersion and kind say.

    `strict` refuses negative quantities, as API servers do; otherwise they are taken as they are,
    as schedulers do.
    """
    found = _kind_in(raw) if kind is None else _kind_named(kind)
    return decode_as(raw, found.struct, strict=strict)


def decode_as(raw: Raw, struct: type[Object], *, strict: bool = False) -> Object:
    """Decode an object whose struct is known; `strict` as for `decode_object`."""
    try:
        obj = (
            msgspec.convert(raw, struct) if isinstance(raw, dict) else _decoder(struct).decode(raw)
        )
    except msgspec.DecodeError:
        obj = _decode_cleaned(raw, struct)
    try:
        check_quantities(obj, strict)
    except MisplacedQuantityError as error:
        raise DecodeError(struct.__name__, obj.key, error.path, error.problem) from None
    return obj


def kind_of(raw: Raw) -> Kind | None:
    """Return the kind of a raw object, or None where scheduling does not read it."""
    meta = _type_meta(raw)
    return kinds.find(meta.api_version, meta.kind)


def _kind_in(raw: Raw) -> Kind:
    meta = _type_meta(raw)
    found = kinds.find(meta.api_version, meta.kind)
    if found is None:
        what = f"{meta.kind!r} of {meta.api_version!r}" if meta.kind else "an object without a kind"
        raise DecodeError(meta.kind, "", "kind", f"{what} is not read: {', '.join(KINDS)} are")
    return found


def _kind_named(kind: str) -> Kind:
    if kind not in KINDS:
        raise DecodeError(kind, "", "", f"no such kind is read: {', '.join(KINDS)} are")
    return KINDS[kind]


def _type_meta(raw: Raw) -> _TypeMeta:
    data = _load(raw, "object")
    try:
        return msgspec.convert(cleaner(_TypeMeta)(data), _TypeMeta)
    except msgspec.ValidationError as error:
        misfit = misfits.explain(str(error), data)
        raise DecodeError("object", "", misfit.path, misfit.problem) from None


def _load(raw: Raw, kind: str) -> Any:
    if isinstance(raw, dict):
        return raw
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise DecodeError(kind, "", "", str(error)) from None


@cache
def _decoder(struct: type[Object]) -> msgspec.json.Decoder[Object]:
    return msgspec.json.Decoder(struct)


def _decode_cleaned(raw: Raw, struct: type[Object]) -> Object:
    data = cleaner(struct)(_load(raw, struct.__name__))
    try:
        return msgspec.convert(data, struct)
    except msgspec.ValidationError as error:
        misfit = misfits.explain(str(error), data)
        key = _key(data)
        raise DecodeError(struct.__name__, key, misfit.path, misfit.problem) from None


def _key(data: Any) -> str:
    meta = data.get("metadata") if isinstance(data, dict) else None
    if not isinstance(meta, dict):
        return ""
    return "/".join(str(meta[part]) for part in ("namespace", "name") if meta.get(part))
