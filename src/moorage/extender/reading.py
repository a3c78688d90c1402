"""Reading JSON as Go does: a field is known by its name, and failing that whatever its case.

Extenders are written in many languages, and the Go program that reads them forgives `nodenames`,
ignores what it does not know, and takes `null` for nothing. What has the right names, which is
nearly everything, is decoded in one go.
"""

import types
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from moorage.extender.wire import Wire

T = TypeVar("T")
Text = bytes | msgspec.Raw


class ReadingError(ValueError):
    """Not the JSON that was expected."""


def read(body: Text, kind: type[T]) -> T:
    """Decode a wire type, or a list of them."""
    try:
        found: T = _decoder(cast("Any", kind)).decode(body)
    except msgspec.DecodeError:
        found = _forgiving(body, kind)
    return found


def _forgiving(body: Text, kind: Any) -> Any:
    try:
        return _read(body, kind)
    except msgspec.DecodeError as error:
        raise ReadingError(str(error)) from None


def _read(body: Text, kind: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if bytes(body) == b"null":
            return None
        return _read(body, next(part for part in inner if part is not type(None)))
    if origin is list:
        items = _decoder(list[msgspec.Raw] | None).decode(body) or []
        return [_read(item, inner[0]) for item in items]
    if origin is dict:
        pairs = _decoder(dict[str, msgspec.Raw] | None).decode(body) or {}
        return {key: _read(value, inner[1]) for key, value in pairs.items()}
    if isinstance(kind, type) and issubclass(kind, Wire):
        return _read_struct(body, kind)
    return _decoder(kind).decode(body)


def _read_struct(body: Text, kind: type[Wire]) -> Wire:
    exact, folded = _fields(kind)
    given = _decoder(dict[str, msgspec.Raw]).decode(body)
    values: dict[str, Any] = {}
    for name, value in given.items():
        field = exact.get(name) or folded.get(name.lower())
        if field is not None and bytes(value) != b"null":
            values[field.name] = _read(value, field.type)
    missing = [f.encode_name for f in exact.values() if f.required and f.name not in values]
    if missing:
        raise ReadingError(f"there is no {missing[0]}")
    return kind(**values)


@cache
def _fields(kind: type[Wire]) -> tuple[dict[str, FieldInfo], dict[str, FieldInfo]]:
    fields = msgspec.structs.fields(kind)
    exact = {field.encode_name: field for field in fields}
    return exact, {name.lower(): field for name, field in exact.items()}


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
