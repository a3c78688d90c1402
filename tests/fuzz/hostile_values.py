"""Values that an API server may store and nobody wishes to read, by the type of their place."""

import datetime
import functools
from typing import Any, Final, get_args, get_origin

import msgspec

from moorage.api.lenient_json import is_quantity
from tests.fuzz.places import Place

DIGITS: Final = "9" * 4_400
"""More digits than Python's `int` takes from a text."""
WIDE: Final = 1_000
WORDS: Final = (
    *("²", "٣", "９", "+5", "-1", "1_0", "0x10", "NaN", "inf", "-inf", "1e400", "1e-400", ".5"),
    *("9" * 20, "-" + "9" * 20, str(2**31), str(2**63), str(2**64), DIGITS, "0." + DIGITS),
    *("\x1b]0;owned\x07\x1b[31mred", "one\ntwo", "a\r\nHost: b", "\x00", "\u202ereversed"),
    *("", " ", "x" * 63, "a." * 126 + "a", "x" * 20_000, "(a+)+$", "%s%n{0.__class__}", "=1+1"),
    *("0-1-2-3-4-5-6-7", "0,0,0", "-", ",,,", ":::", ";", "a:b,c:d;", "null", "{}", "[]", "true"),
    *("same-numa", "evil-0", "victim-0", "victim/a", "../../etc/passwd", "https://evil.example/"),
)  # fmt: skip
DOCUMENTS: Final = (
    "[" * 50_000 + "]" * 50_000,
    '{"a":' * 5_000 + "1" + "}" * 5_000,
    "[" + "1," * 20_000 + "1]",
    '[{"id":"a","count":' + "9" * 4_400 + "}]",
    '[{"count":10}]',
    '[{"id":"GPU-0","index":0,"count":-1,"devmem":1e999,"devcore":"²","type":null,"numa":[]}]',
    '[{"id":null,"count":99999999999999999999,"devmem":99999999999999999999,"health":1}]',
    '{"a":NaN}',
    "GPU-0,10,9999999999999999999999,100,A,0,true:" * 500,
    "GPU-0,NVIDIA,-1,-1:;" * 300,
)
"""Texts for readers of JSON and of lists, which only annotations are long enough for."""
TIMES: Final = (
    *("0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    *("2038-01-19T03:14:08Z", "2026-02-28T23:59:59+14:00", "2026-01-01T00:00:00.123456789Z"),
)
QUANTITIES: Final = (
    *(DIGITS, "0." + "0" * 4_400 + "1", "1" + "0" * 4_400 + "Ei", "1e30", "1e-30", "100E", "8Ei"),
    *("-0", "-0m", "0", "1n", "0.000000001n", "-1", "-1e30", "9223372036854775807", "1e18"),
    *("9223372036854775808", "9" * 20, "9" * 25 + "m", "1e2147483647", "1e-2147483648", "1E"),
    *("9" * 300, "0." + "9" * 300, "1e99999999999999999999", "²", "+5", ".5", "5.", "1k"),
)  # fmt: skip
INTS: Final = (
    *(-1, 0, 1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1),
    *(2**63 - 1, -(2**63), 2**63, 2**64, 10**19, 10**30, 65_536),
)
EXPRESSIONS: Final = (
    "[0].map(x, lists.range(9000)).flatten().distinct().size() > 0",
    "[0].map(x, lists.range(900000)).flatten().distinct().size() > 0",
    "sets.intersects([0].map(x, lists.range(20000)).flatten(),"
    " [0].map(x, lists.range(20000).map(y, -1 - y)).flatten())",
    'lists.range(290).all(x, lists.range(290).all(y, x+y>=0)) && device.driver=="no"',
    "lists.range(1200).map(x,'%.999999f'.format([1.0])).size() > 0",
    "lists.range(20000).map(x, string(x)).join(',').replace('1', '22').size() > 0",
    "lists.range(20000).sort().size() > 0",
    "lists.range(3000).map(x, lists.range(3000)).size() > 0",
    'device.driver.matches("(a+)+$")',
    "'%s'.format(['\x1b[31mred']) == device.driver",
    "device.attributes['evil.example'].absent.size() > 0",
    "1/0 > 0",
    "9223372036854775807 + 1 > 0",
    "(" * 200 + "true" + ")" * 200,
    "!" * 500 + "true",
    " || ".join(["false"] * 1_000),
    "quantity('" + "9" * 4_400 + "').isGreaterThan(quantity('1'))",
    "x" * 10_000,
    "",
)
LABELLED: Final = 300


def values(place: Place, bearer: Any) -> tuple[Any, ...]:
    """Hostile values for a place; `bearer` is what is there in an object that means no harm."""
    name = str(place.path[-1])
    if place.path[-2:] == ("cel", "expression"):
        return EXPRESSIONS
    origin, args = get_origin(place.type), get_args(place.type)
    if origin in (tuple, list):
        return _lists(args[0], bearer)
    if origin is dict:
        return _maps(args[1], bearer)
    return _scalars(place, name)


@functools.cache
def documents() -> tuple[Any, ...]:
    """Data of any shape."""
    nested: Any = 1
    for _ in range(400):
        nested = {"a": [nested]}
    # An API server takes 10 KiB of such data, and as many levels as there is room for.
    deeper, deepest = (msgspec.Raw(b"[" * depth + b"]" * depth) for depth in (900, 4_900))
    return (
        nested,
        {"a": deeper},
        {"a": deepest},
        [[]] * 5_000,
        {f"k{number}": number for number in range(5_000)},
        "x" * 50_000,
    )


def _scalars(place: Place, name: str) -> tuple[Any, ...]:
    if is_quantity(place.type):
        return QUANTITIES
    if place.type is bool:
        return (True, False)
    if place.type is int:
        return INTS
    if place.type is float:
        return (0.0, -1.0, 1e308)
    if place.type is datetime.datetime or name.lower().endswith(("time", "added")):
        return TIMES
    if place.type is Any:
        return documents()
    if place.path[:2] == ("metadata", "annotations"):
        return (*WORDS, *DOCUMENTS, *TIMES)
    return WORDS


def _lists(item: Any, bearer: Any) -> tuple[Any, ...]:
    """Empty, twice the same, and as wide as a request may be, of items that differ by name."""
    one = bearer[0] if isinstance(bearer, list) and bearer else _some(item)
    return (
        [],
        [one, one],
        [_renamed(one, number) for number in range(100)],
        [_renamed(one, number) for number in range(WIDE)],
        [one] * WIDE,
    )


def _maps(value: Any, bearer: Any) -> tuple[Any, ...]:
    one = next(iter(bearer.values())) if isinstance(bearer, dict) and bearer else _some(value)
    return (
        {},
        {f"example.com/k{number}": one for number in range(LABELLED)},
        {"a." * 126 + "a/" + "x" * 63: one},
        {"\x1b[31m": one},
        {"": one},
    )


def _some(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return {}
    if is_quantity(annotation):
        return "1"
    return {str: "x", int: 1, bool: True}.get(annotation, {})


def _renamed(one: Any, number: int) -> Any:
    if isinstance(one, str):
        return f"{one}-{number}"
    if isinstance(one, int) and not isinstance(one, bool):
        return number
    if isinstance(one, dict):
        key = next((k for k in ("name", "key", "topologyKey", "request") if k in one), None)
        return one if key is None else {**one, key: f"{one[key]}-{number}"}
    return one
