"""Decode raw Kubernetes objects into structs, and check the quantities in them.

What Kubernetes accepts is accepted. What it refuses raises DecodeError, which names the object, the
path inside it and, if there is one, the remedy.
"""

import types
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec

from moorage.api import kinds, mismatch, quantity
from moorage.api.kinds import KINDS, Kind
from moorage.api.lenient_json import cleaner, is_quantity
from moorage.api.meta import ApiStruct, KubeObject
from moorage.api.quantity import QuantityError

CheckText = Callable[[str], object]
Check = Callable[[Any, CheckText], None]


class MisplacedQuantityError(ValueError):
    """A bad quantity, and the path to it from the outside in."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path

    def inside(self, place: str) -> "MisplacedQuantityError":
        """Return the error with the path extended by one outer step."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        return MisplacedQuantityError(self.problem, f"{place}{joint}{self.path}")


def check_quantities(obj: msgspec.Struct, strict: bool) -> None:
    """Raise MisplacedQuantityError for the first bad quantity; strictly, for negative ones too."""
    check = quantity_checker(type(obj))
    if check is not None:
        check(obj, _nonnegative if strict else quantity.parse)


@cache
def quantity_checker(annotation: Any) -> Check | None:
    """Return the function that checks values of the annotated type; None if none can be bad."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _check_text if is_quantity(annotation) else quantity_checker(args[0])
    if origin in (Union, types.UnionType):
        return quantity_checker(next(arg for arg in args if arg is not type(None)))
    if origin is tuple:
        return _list_checker(quantity_checker(args[0]))
    if origin is dict:
        return _check_map if is_quantity(args[1]) else _map_checker(quantity_checker(args[1]))
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return _struct_checker(annotation)
    return None


def _nonnegative(text: str) -> None:
    if quantity.parse(text).amount < 0:
        raise QuantityError(f"{text!r} must not be negative")


def _check_text(text: str, check_text: CheckText) -> None:
    try:
        check_text(text)
    except QuantityError as error:
        raise MisplacedQuantityError(str(error)) from None


def _check_map(texts: dict[str, str], check_text: CheckText) -> None:
    for name, text in texts.items():
        try:
            check_text(text)
        except QuantityError as error:
            raise MisplacedQuantityError(str(error), name) from None


def _list_checker(check: Check | None) -> Check | None:
    if check is None:
        return None

    def check_list(values: tuple[Any, ...], check_text: CheckText) -> None:
        for index, value in enumerate(values):
            try:
                check(value, check_text)
            except MisplacedQuantityError as error:
                raise error.inside(f"[{index}]") from None

    return check_list


def _map_checker(check: Check | None) -> Check | None:
    if check is None:
        return None

    def check_values(values: dict[str, Any], check_text: CheckText) -> None:
        for name, value in values.items():
            try:
                check(value, check_text)
            except MisplacedQuantityError as error:
                raise error.inside(name) from None

    return check_values


def _struct_checker(struct: type[msgspec.Struct]) -> Check | None:
    """Check the fields that hold quantities, skipping absent and empty ones."""
    fields = ((f, quantity_checker(f.type)) for f in msgspec.structs.fields(struct))
    plan = tuple((f.name, f.encode_name, check) for f, check in fields if check is not None)

    def check_struct(obj: msgspec.Struct, check_text: CheckText) -> None:
        for attribute, name, check in plan:
            try:
                value = getattr(obj, attribute)
                if value or value == "":
                    check(value, check_text)
            except MisplacedQuantityError as error:
                raise error.inside(name) from None

    return check_struct if plan else None


__all__ = [
    "KINDS",
    "UNREADABLE",
    "DecodeError",
    "Kind",
    "Raw",
    "decode_as",
    "decode_object",
    "kind_of",
]

Raw = dict[str, Any] | bytes | bytearray | memoryview | msgspec.Raw | str
"""JSON text, or the data of a JSON or YAML document."""

Object = TypeVar("Object", bound=KubeObject)

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What is raised for bytes that are not JSON, not UTF-8, or nested too deeply."""


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
    """Decode an object of the given kind, or of the kind in its own apiVersion and kind.

    `strict` refuses negative quantities, as API servers do; otherwise they are accepted, as
    schedulers do.
    """
    found = _kind_in(raw) if kind is None else _kind_named(kind)
    return decode_as(raw, found.struct, strict=strict)


def decode_as(raw: Raw, struct: type[Object], *, strict: bool = False) -> Object:
    """Decode an object whose struct is known; `strict` as for `decode_object`."""
    try:
        obj = (
            msgspec.convert(raw, struct) if isinstance(raw, dict) else _decoder(struct).decode(raw)
        )
    except UNREADABLE:
        obj = _decode_cleaned(raw, struct)
    refuse_bad_quantities(obj, strict=strict)
    return obj


def refuse_bad_quantities(obj: KubeObject, *, strict: bool = False) -> None:
    """Raise DecodeError for the first bad quantity of an object; `strict` as above."""
    try:
        check_quantities(obj, strict)
    except MisplacedQuantityError as error:
        raise DecodeError(type(obj).__name__, obj.key, error.path, error.problem) from None


def kind_of(raw: Raw) -> Kind | None:
    """Return the kind of a raw object, or None if scheduling does not read it."""
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
        misfit = mismatch.explain_mismatch(str(error), data)
        raise DecodeError("object", "", misfit.path, misfit.problem) from None


def _load(raw: Raw, kind: str) -> Any:
    if isinstance(raw, dict):
        return raw
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE as error:
        raise DecodeError(kind, "", "", str(error)) from None


@cache
def _decoder(struct: type[Object]) -> msgspec.json.Decoder[Object]:
    return msgspec.json.Decoder(struct)


def _decode_cleaned(raw: Raw, struct: type[Object]) -> Object:
    data = cleaner(struct)(_load(raw, struct.__name__))
    try:
        return msgspec.convert(data, struct)
    except msgspec.ValidationError as error:
        misfit = mismatch.explain_mismatch(str(error), data)
        key = _key(data)
        raise DecodeError(struct.__name__, key, misfit.path, misfit.problem) from None


def _key(data: Any) -> str:
    meta = data.get("metadata") if isinstance(data, dict) else None
    if not isinstance(meta, dict):
        return ""
    return "/".join(str(meta[part]) for part in ("namespace", "name") if meta.get(part))
