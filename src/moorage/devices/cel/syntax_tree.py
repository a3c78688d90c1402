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
    cel_type = "uint"


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
    is_mixed: bool = False


class MapLiteral(msgspec.Struct, frozen=True):
    """`{a: b, ?c: d}`: key, value, and whether the entry is optional."""

    entries: tuple[tuple["Node", "Node", bool], ...]
    is_mixed: bool = False


class Comprehension(msgspec.Struct, frozen=True):
    """What `all`, `exists`, `map`, `filter` and `cel.bind` are made of."""

    variable: str
    second: str
    """The element or the value, where the first variable is its index or its key."""
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
    return _node(_one(checked, 4), Names(dict(_references(checked)), dict(_types(checked))))


class Names(msgspec.Struct, frozen=True):
    """What the checker found out about nodes, by their ids: variables, and serialized types."""

    variables: dict[int, str]
    types: dict[int, bytes]

    def differ(self, nodes: list[bytes], optional: frozenset[int] = frozenset()) -> bool:
        """Whether the nodes are of more than one type."""
        return len({self._type(raw, at in optional) for at, raw in enumerate(nodes)}) > 1

    def _type(self, raw: bytes, is_optional: bool) -> bytes:
        found = self.types.get(_id(raw), b"")
        return _one(_fields(_one(_fields(found), 14)), 2) if is_optional else found


def _types(checked: Fields) -> Iterator[tuple[int, bytes]]:
    for entry in checked.get(3, ()):
        fields = _fields(entry)
        yield _signed(fields.get(1, [0])[0]), _one(fields, 2)


def _id(raw: bytes) -> int:
    return _signed(_fields(raw).get(2, [0])[0])


def _references(checked: Fields) -> Iterator[tuple[int, str]]:
    """Variables by the id of the node that names them."""
    for entry in checked.get(2, ()):
        fields = _fields(entry)
        reference = _fields(_one(fields, 2))
        if 1 in reference:
            yield _signed(fields.get(1, [0])[0]), _text(reference[1][0])


def _node(raw: bytes, names: Names) -> Node:
    fields = _fields(raw)
    if 3 in fields:
        return Const(_constant(_fields(fields[3][0])))
    if 4 in fields:
        ident = _fields(fields[4][0])
        return Ident(names.variables.get(_signed(fields.get(2, [0])[0])) or _text(ident[1][0]))
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


def _select(fields: Fields, names: Names) -> Node:
    operand = _node(_one(fields, 1), names)
    return Select(operand, _text(_one(fields, 2)), bool(fields.get(3, [0])[0]))


def _call(fields: Fields, names: Names) -> Node:
    args = [_node(raw, names) for raw in (*fields.get(1, ()), *fields.get(3, ()))]
    return Call(_text(_one(fields, 2)), tuple(args))


def _list(fields: Fields, names: Names) -> Node:
    optional: set[int] = set()
    for raw in fields.get(2, ()):
        optional.update(_packed(raw) if isinstance(raw, bytes) else [raw])
    nodes, chosen = fields.get(1, []), frozenset(optional)
    return ListLiteral(
        tuple(_node(raw, names) for raw in nodes), chosen, names.differ(nodes, chosen)
    )


def _map(fields: Fields, names: Names) -> Node:
    if fields.get(1, [b""])[0]:
        raise UnreadableExpressionError("messages are not made in selectors")
    entries = [_fields(raw) for raw in fields.get(2, ())]
    keys, values = ([_one(entry, part) for entry in entries] for part in (3, 4))
    chosen = frozenset(at for at, entry in enumerate(entries) if entry.get(5, [0])[0])
    return MapLiteral(
        tuple(
            (
                _node(_one(entry, 3), names),
                _node(_one(entry, 4), names),
                bool(entry.get(5, [0])[0]),
            )
            for entry in entries
        ),
        names.differ(keys) or names.differ(values, chosen),
    )


def _comprehension(fields: Fields, names: Names) -> Node:
    over, start, goes_on, step, result = (_node(_one(fields, n), names) for n in (2, 4, 5, 6, 7))
    variable, second, accumulator = (_text(_one(fields, n)) for n in (1, 8, 3))
    return Comprehension(variable, second, over, accumulator, start, goes_on, step, result)


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
