"""Functions by name: those of texts, sets, quantities, versions and optionals, and all others."""

from collections.abc import Callable
from typing import Any, Final

from moorage.api import int64
from moorage.api.quantity import Quantity
from moorage.devices.cel import lists, named_formats, network, operators, times, urls
from moorage.devices.cel.lists import as_list
from moorage.devices.cel.network import parses
from moorage.devices.cel.regex import find_all, matches_regex
from moorage.devices.cel.text_format import format_text, quote
from moorage.devices.cel.values import (
    NOTHING,
    CelError,
    Optional,
    Semver,
    equal,
    no_overload,
    normalized_semver,
    parse_quantity,
)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise no_overload(value)
    return value


def _quantity(value: Any) -> Quantity:
    if not isinstance(value, Quantity):
        raise no_overload(value)
    return value


def _semver(value: Any) -> Semver:
    if not isinstance(value, Semver):
        raise no_overload(value)
    return value


def _matches(text: Any, pattern: Any) -> bool:
    try:
        return matches_regex(_text(text), _text(pattern))
    except ValueError as error:
        raise CelError(str(error)) from None


def _find(text: Any, pattern: Any) -> list[str]:
    try:
        return find_all(_text(text), _text(pattern))
    except ValueError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find_all(text: Any, pattern: Any, most: int = -1) -> list[str]:
    found = _find(text, pattern)
    return found if most < 0 else found[:most]


def _char_at(text: Any, at: Any) -> str:
    if not 0 <= at <= len(_text(text)):
        raise CelError(f"index out of range: {at}")
    return _text(text)[at : at + 1]


def _index_of(where: Any, what: Any, start: int = 0) -> int:
    if isinstance(where, list):
        return next((i for i, each in enumerate(where) if equal(each, what)), -1)
    if start < 0:
        raise CelError(f"index out of range: {start}")
    text, wanted = _text(where), _text(what)
    return text.find(wanted, start) if wanted else min(start, len(text))


def _last_index_of(where: Any, what: Any, start: int | None = None) -> int:
    if isinstance(where, list):
        return next((i for i in range(len(where) - 1, -1, -1) if equal(where[i], what)), -1)
    text, wanted = _text(where), _text(what)
    if start is None:
        return text.rfind(wanted)
    if start < 0:
        raise CelError(f"index out of range: {start}")
    if not wanted:
        return min(start, len(text))
    return text.rfind(wanted, 0, start + len(wanted)) if start < len(text) else -1


def _substring(text: Any, start: int, end: int | None = None) -> str:
    end = len(_text(text)) if end is None else end
    if not 0 <= start <= len(_text(text)) or not start <= end <= len(_text(text)):
        raise CelError(f"index out of range: {start}, {end}")
    return _text(text)[start:end]


def _make_quantity(text: Any) -> Quantity:
    if _text(text) != _text(text).strip():
        raise CelError(f"{text!r} is not a quantity: it has a space around it")
    return parse_quantity(text)


def _split(text: Any, separator: Any, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    most = -1 if limit < 0 else limit - 1
    if separator == "":
        letters = list(_text(text))
        if most < 0 or len(letters) <= limit:
            return letters
        return [*letters[:most], "".join(letters[most:])]
    return _text(text).split(_text(separator), most)


def _ascii_case(text: Any, *, upper: bool) -> str:
    first, shift = ("a", -32) if upper else ("A", 32)
    last = chr(ord(first) + 25)
    return "".join(chr(ord(c) + shift) if first <= c <= last else c for c in _text(text))


def _compare_to(left: Any, right: Any) -> int:
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return int(left > right) - int(left < right)
    return int(_semver(left) > _semver(right)) - int(left < right)


def _make_semver(text: Any, normalize: bool = False) -> Semver:
    return Semver(normalized_semver(_text(text)) if normalize else _text(text))


def _as_integer(value: Any) -> int:
    if not _is_integer(value):
        raise CelError("cannot convert value to integer")
    return _quantity(value).value


def _is_integer(value: Any) -> bool:
    found = _quantity(value)
    whole = Quantity(found.value)
    return whole == found and int64.fits(found.value)


def _plus(value: Any, other: Any, sign: int = 1) -> Quantity:
    added = other if isinstance(other, Quantity) else Quantity(other)
    return _quantity(value) + Quantity(sign * added.amount, added.scale, added.form)


def _subset(left: Any, right: Any) -> bool:
    """Whether all of the right list is in the left one."""
    return all(operators.contains(each, as_list(left)) for each in as_list(right))


def new_entries(into: Any, *given: Any) -> dict[Any, Any]:
    """One entry, or those of another map, to insert into a map; none may be there already."""
    entries = dict([given]) if len(given) == 2 else given[0]
    for key in entries:
        if operators.contains(key, into):
            raise CelError(f"insert failed: key {key} already exists")
    return entries


def _value(option: Any) -> Any:
    if not _option(option).has_value:
        raise CelError("optional.none() dereference")
    return option.value


def _option(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise no_overload(value)
    return value


def _of_non_zero(value: Any) -> Optional:
    empty = value is None or value in (0, "", b"", False) or value in ([], {})
    return NOTHING if empty else Optional(value)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **lists.FUNCTIONS,
    **network.FUNCTIONS,
    **urls.FUNCTIONS,
    **named_formats.FUNCTIONS,
    **times.FUNCTIONS,
    "contains": lambda text, part: _text(part) in _text(text),
    "startsWith": lambda text, part: _text(text).startswith(_text(part)),
    "endsWith": lambda text, part: _text(text).endswith(_text(part)),
    "matches": _matches,
    "find": lambda text, pattern: next(iter(_find(text, pattern)), ""),
    "findAll": _find_all,
    "format": lambda text, values: format_text(_text(text), as_list(values)),
    "strings.quote": lambda text: quote(_text(text)),
    "charAt": _char_at,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "lowerAscii": lambda text: _ascii_case(text, upper=False),
    "upperAscii": lambda text: _ascii_case(text, upper=True),
    "replace": lambda text, old, new, most=-1: _text(text).replace(_text(old), _text(new), most),
    "split": _split,
    "substring": _substring,
    "trim": lambda text: _text(text).strip(),
    "join": lambda texts, joint="": _text(joint).join(_text(each) for each in as_list(texts)),
    "sets.contains": _subset,
    "sets.equivalent": lambda left, right: _subset(left, right) and _subset(right, left),
    "sets.intersects": lambda left, right: any(
        operators.contains(each, as_list(right)) for each in as_list(left)
    ),
    "quantity": _make_quantity,
    "isQuantity": lambda text: parses(_make_quantity, text),
    "semver": _make_semver,
    "isSemver": lambda *args: parses(_make_semver, *args),
    "sign": lambda value: (_quantity(value).amount > 0) - (_quantity(value).amount < 0),
    "isGreaterThan": lambda left, right: _compare_to(left, right) > 0,
    "isLessThan": lambda left, right: _compare_to(left, right) < 0,
    "compareTo": _compare_to,
    "major": lambda value: _semver(value).release[0],
    "minor": lambda value: _semver(value).release[1],
    "patch": lambda value: _semver(value).release[2],
    "asApproximateFloat": lambda value: _quantity(value).amount * 10.0 ** _quantity(value).scale,
    "asInteger": _as_integer,
    "isInteger": _is_integer,
    "add": _plus,
    "sub": lambda value, other: _plus(value, other, -1),
    "cel.@mapInsert": lambda into, *given: {**into, **new_entries(into, *given)},
    "optional.of": Optional,
    "optional.none": lambda: NOTHING,
    "optional.ofNonZeroValue": _of_non_zero,
    "hasValue": lambda option: _option(option).has_value,
    "value": _value,
}
