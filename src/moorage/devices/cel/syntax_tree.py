"""The checked expression as a tree, read from the library's serialized form.

The form is the protobuf message `cel.expr.CheckedExpr`, of which this reads what it needs.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

Fields = dict[int, list[Any]]

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2


class UInt(int):
    """CEL's unsigned integer, which is not its int."""

    __slots__ = ()


class Const(msgspec.Struct, frozen=True):
    """A literal."""

    value: Any


class Ident(msgspec.Struct, frozen=True):
    """A variable; dotted where the environment declares the whole path."""

    name: str


class Select(msgspec.Struct, frozen=True):
    """`operand.field`, or whether there is such a field."""

    operand: "Node"
    field: str
    test_only: bool


class Call(msgspec.Struct, frozen=True):
    """A function or an operator; a method's target is its first argument."""

    function: str
    args: tuple["Node", ...]


class ListLiteral(msgspec.Struct, frozen=True):
    """`[a, ?b]`."""

    elements: tuple["Node", ...]
    optional: frozenset[int]


class MapLiteral(msgspec.Struct, frozen=True):
    """`{a: b, ?c: d}`: key, value, and whether the entry is optional."""

    entries: tuple[tuple["Node", "Node", bool], ...]


class Comprehension(msgspec.Struct, frozen=True):
    """What `all`, `exists`, `map`, `filter` and `cel.bind` are made of."""

    variable: str
    over: "Node"
    accumulator: str
    start: "Node"
    goes_on: "Node"
    step: "Node"
    result: "Node"


Node = Const | Ident | Select | Call | ListLiteral | MapLiteral | Comprehension


class UnreadableExpressionError(ValueError):
    """The library wrote something that this module does not know."""


def read_checked_expression(serialized: bytes) -> Node:
    """The tree of an expression that the library serialized."""
    checked = _fields(_one(_fields(serialized), 2))
    names = dict(_references(checked))
    return _node(_one(checked, 4), names)


def _references(checked: Fields) -> Iterator[tuple[int, str]]:
    """Variables by the id of the node that names them."""
    for entry in checked.get(2, ()):
        fields = _fields(entry)
        reference = _fields(_one(fields, 2))
        if 1 in reference:
            yield _signed(fields.get(1, [0])[0]), _text(reference[1][0])


def _node(raw: bytes, names: dict[int, str]) -> Node:
    fields = _fields(raw)
    if 3 in fields:
        return Const(_constant(_fields(fields[3][0])))
    if 4 in fields:
        ident = _fields(fields[4][0])
        return Ident(names.get(_signed(fields.get(2, [0])[0])) or _text(ident[1][0]))
    if 5 in fields:
        return _select(_fields(fields[5][0]), names)
    if 6 in fields:
        return _call(_fields(fields[6][0]), names)
    if 7 in fields:
        return _list(_fields(fields[7][0]), names)
    if 8 in fields:
        return _map(_fields(fields[8][0]), names)
    if 9 in fields:
        return _comprehension(_fields(fields[9][0]), names)
    raise UnreadableExpressionError(f"an expression of kind {sorted(fields)}")


def _select(fields: Fields, names: dict[int, str]) -> Node:
    operand = _node(_one(fields, 1), names)
    return Select(operand, _text(_one(fields, 2)), bool(fields.get(3, [0])[0]))


def _call(fields: Fields, names: dict[int, str]) -> Node:
    args = [_node(raw, names) for raw in (*fields.get(1, ()), *fields.get(3, ()))]
    return Call(_text(_one(fields, 2)), tuple(args))


def _list(fields: Fields, names: dict[int, str]) -> Node:
    optional: set[int] = set()
    for raw in fields.get(2, ()):
        optional.update(_packed(raw) if isinstance(raw, bytes) else [raw])
    return ListLiteral(tuple(_node(raw, names) for raw in fields.get(1, ())), frozenset(optional))


def _map(fields: Fields, names: dict[int, str]) -> Node:
    if fields.get(1, [b""])[0]:
        raise UnreadableExpressionError("messages are not made in selectors")
    entries = [_fields(raw) for raw in fields.get(2, ())]
    return MapLiteral(
        tuple(
            (
                _node(_one(entry, 3), names),
                _node(_one(entry, 4), names),
                bool(entry.get(5, [0])[0]),
            )
            for entry in entries
        )
    )


def _comprehension(fields: Fields, names: dict[int, str]) -> Node:
    if fields.get(8, [b""])[0]:
        raise UnreadableExpressionError("comprehensions have one variable here")
    over, start, goes_on, step, result = (_node(_one(fields, n), names) for n in (2, 4, 5, 6, 7))
    return Comprehension(
        _text(_one(fields, 1)), over, _text(_one(fields, 3)), start, goes_on, step, result
    )


def _constant(fields: Fields) -> Any:
    for number, read in _CONSTANTS.items():
        if number in fields:
            return read(fields[number][0])
    return None


def _fields(raw: bytes) -> Fields:
    """The fields of a protobuf message by number, each with every value it was given."""
    found: Fields = {}
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire = tag >> 3, tag & 7
        value: Any
        if wire == _VARINT:
            value, at = _varint(raw, at)
        elif wire == _FIXED64:
            value, at = raw[at : at + 8], at + 8
        elif wire == _BYTES:
            length, at = _varint(raw, at)
            value, at = raw[at : at + length], at + length
        else:
            raise UnreadableExpressionError(f"wire type {wire}")
        found.setdefault(number, []).append(value)
    return found


def _packed(raw: bytes) -> list[int]:
    values, at = [], 0
    while at < len(raw):
        value, at = _varint(raw, at)
        values.append(value)
    return values


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _one(fields: Fields, number: int) -> bytes:
    value: bytes = fields.get(number, [b""])[0]
    return value


def _text(raw: bytes) -> str:
    return raw.decode()


_CONSTANTS: Final[dict[int, Callable[[Any], Any]]] = {
    1: lambda _: None,
    2: bool,
    3: _signed,
    4: UInt,
    5: lambda raw: struct.unpack("<d", raw)[0],
    6: _text,
    7: bytes,
}
