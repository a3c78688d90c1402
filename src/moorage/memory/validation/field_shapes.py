"""Fields by name and type, as the API server publishes them.

A value of the wrong type is refused. An unknown field is a warning, as `kubectl` shows it.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

import msgspec

from moorage.memory.validation import field_causes, storage_rules
from moorage.watch.api_server import Raw

_GO_TYPES: Final = {"boolean": "bool", "time": "string", "quantity": "string"}
_SCALARS: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
}
_BEYOND: Final = {"int32": 1 << 31, "int64": 1 << 63}
QUANTITY_RULE: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


_EMBEDDED: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "Volume": ("VolumeSource", frozenset(("name",))),
    "PersistentVolumeSpec": ("PersistentVolumeSource", storage_rules.VOLUME_FIELDS),
    "Probe": (
        "ProbeHandler",
        frozenset(
            f"{name}Seconds"
            for name in ("initialDelay", "timeout", "period", "terminationGracePeriod")
        )
        | {"successThreshold", "failureThreshold"},
    ),
    "EphemeralContainer": ("EphemeralContainerCommon", frozenset(("targetContainerName",))),
}
"""Go structs that embed another, which a path then names, and the fields that are their own."""


class ShapeError(Exception):
    """A value of the wrong type; the text is the API server's."""


class _Schema(msgspec.Struct):
    kinds: dict[str, str]
    types: dict[str, dict[str, str]]


@cache
def _schema() -> _Schema:
    text = resources.files(__package__).joinpath("api_fields.json").read_bytes()
    return msgspec.json.decode(text, type=_Schema)


class _Place(NamedTuple):
    struct: str
    path: str
    """The path of fields, without indices of list items."""
    shown: str
    """The path with indices."""


def unknown_fields(kind: str, raw: Raw) -> list[str]:
    """The paths of an object's unknown fields; raises ShapeError for a value of a wrong type."""
    root = _schema().kinds.get(kind)
    if root is None:
        return []
    return list(_struct(root, raw, _Place(kind, "", "")))


def _struct(name: str, value: Raw, at: _Place) -> Iterator[str]:
    fields = _schema().types[name]
    for field, inner in value.items():
        expected = fields.get(field)
        shown = f"{at.shown}.{field}" if at.shown else field
        if expected is None:
            if fields:
                yield shown
        elif inner is not None:
            embedded, own = _EMBEDDED.get(name, ("", frozenset()))
            of_embedded = embedded and field not in own
            path = ".".join(filter(None, (at.path, embedded if of_embedded else "", field)))
            yield from _value(expected, inner, _Place(name, path, shown))


def _value(expected: str, value: Any, at: _Place) -> Iterator[str]:
    allowed = _SCALARS.get(expected)
    if expected in _BEYOND:
        _integer(expected, value, at)
    elif allowed is not None:
        if type(value) not in allowed:
            raise _mismatch(expected, value, at)
    elif expected[0] == "[":
        yield from _list(expected, value, at)
    elif expected[0] == "{":
        yield from _map(expected, value, at)
    elif expected[0].isupper():
        if not isinstance(value, dict):
            raise _mismatch(expected, value, at)
        yield from _struct(expected, value, at)
    elif expected == "quantity":
        if not isinstance(value, str | int | float) or field_causes.amount(value) is None:
            raise ShapeError(f"{at.shown}: {json.dumps(value)}: {QUANTITY_RULE}")
    elif expected == "int-or-string" and not isinstance(value, str):
        _integer("int32", value, at)


def _integer(expected: str, value: Any, at: _Place) -> None:
    beyond = _BEYOND[expected]
    if type(value) is not int or not -beyond <= value < beyond:
        raise _mismatch(expected, value, at)


def _list(expected: str, value: Any, at: _Place) -> Iterator[str]:
    if not isinstance(value, list):
        raise _mismatch(expected, value, at)
    item = expected[1:-1]
    for index, each in enumerate(value):
        if each is not None:
            yield from _value(item, each, at._replace(shown=f"{at.shown}[{index}]"))


def _map(expected: str, value: Any, at: _Place) -> Iterator[str]:
    if not isinstance(value, dict):
        raise _mismatch(expected, value, at)
    item = expected[1:-1]
    if item == "string":
        for each in value.values():
            if type(each) is not str and each is not None:
                raise _mismatch(item, each, at)
        return
    for key, each in value.items():
        if each is not None:
            yield from _value(item, each, at._replace(shown=f"{at.shown}[{key}]"))


def _mismatch(expected: str, value: Any, at: _Place) -> ShapeError:
    kind = _json_kind(value)
    if kind == "number" and expected in _BEYOND:
        kind = f"number {json.dumps(value)}"
    return ShapeError(
        f"json: cannot unmarshal {kind} into Go struct field "
        f"{at.struct}.{at.path} of type {_go_type(expected)}"
    )


def _json_kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case list():
            return "array"
        case dict():
            return "object"
    return "string"


def _go_type(expected: str) -> str:
    if expected[0] == "[":
        return f"[]{_go_type(expected[1:-1])}"
    if expected[0] == "{":
        return f"map[string]{_go_type(expected[1:-1])}"
    if re.match("[A-Z]", expected):
        return f"v1.{expected.partition('@')[0]}"
    return _GO_TYPES.get(expected, expected)
