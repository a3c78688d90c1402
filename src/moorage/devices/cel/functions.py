"""Functions of the strings, lists, sets, quantity, semver and optional libraries."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from moorage.api import int64
from moorage.api.quantity import Quantity
from moorage.devices.cel import operators
from moorage.devices.cel.environment import matches_regex
from moorage.devices.cel.operators import no_overload
from moorage.devices.cel.values import (
    NOTHING,
    CelError,
    Optional,
    Semver,
    equal,
    normalized_semver,
    parse_quantity,
)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise no_overload(value)
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
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
        return _regex_result(_text(text), _text(pattern))
    except ValueError as error:
        raise CelError(str(error)) from None


@lru_cache(maxsize=4096)
def _regex_result(text: str, pattern: str) -> bool:
    return matches_regex(text, pattern)


def _char_at(text: Any, at: Any) -> str:
    if not 0 <= at <= len(_text(text)):
        raise CelError(f"index out of range: {at}")
    return _text(text)[at : at + 1]


def _index_of(where: Any, what: Any, start: int = 0) -> int:
    if isinstance(where, list):
        return next((i for i, each in enumerate(where) if equal(each, what)), -1)
    if not 0 <= start <= len(_text(where)):
        raise CelError(f"index out of range: {start}")
    return _text(where).find(_text(what), start)


def _last_index_of(where: Any, what: Any, start: int | None = None) -> int:
    if isinstance(where, list):
        return next((i for i in range(len(where) - 1, -1, -1) if equal(where[i], what)), -1)
    text, wanted = _text(where), _text(what)
    if start is not None and not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.rfind(wanted) if start is None else text.rfind(wanted, 0, start + len(wanted))


def _substring(text: Any, start: int, end: int | None = None) -> str:
    end = len(_text(text)) if end is None else end
    if not 0 <= start <= len(_text(text)) or not start <= end <= len(_text(text)):
        raise CelError(f"index out of range: {start}, {end}")
    return _text(text)[start:end]


def _split(text: Any, separator: Any, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if limit == 1:
        return [_text(text)]
    most = -1 if limit < 0 else limit - 1
    if separator == "":
        letters = list(_text(text))
        return letters if most < 0 else [*letters[:most], "".join(letters[most:])]
    return _text(text).split(_text(separator), most)


def _ascii_case(text: Any, *, upper: bool) -> str:
    first, shift = ("a", -32) if upper else ("A", 32)
    last = chr(ord(first) + 25)
    return "".join(chr(ord(c) + shift) if first <= c <= last else c for c in _text(text))


def _fold(values: Any, better: Callable[[int], bool]) -> Any:
    best, *rest = _list(values) or [None]
    if best is None:
        raise CelError("min or max called on empty list")
    for each in rest:
        best = each if better(order(each, best)) else best
    return best


def _sum(values: Any) -> Any:
    total: Any = 0
    for position, each in enumerate(_list(values)):
        total = each if not position else operators.add(total, each)
    return total


def _is_sorted(values: Any) -> bool:
    return all(order(a, b) <= 0 for a, b in zip(_list(values), _list(values)[1:], strict=False))


def _includes(where: Any, what: Any) -> bool:
    return operators.contains(what, where) if isinstance(where, list) else equal(where, what)


def order(left: Any, right: Any) -> int:
    """-1, 0 or 1 for anything that has an order."""
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return int(left > right) - int(left < right)
    if isinstance(left, Semver) and isinstance(right, Semver):
        return int(left > right) - int(left < right)
    return operators.compare(left, right)


def _compare_to(left: Any, right: Any) -> int:
    if not isinstance(left, Quantity | Semver) or type(left) is not type(right):
        raise no_overload(left, right)
    return order(left, right)


def _make_semver(text: Any, normalize: bool = False) -> Semver:
    return Semver(normalized_semver(_text(text)) if normalize else _text(text))


def _parses(parse: Callable[..., Any], *args: Any) -> bool:
    try:
        parse(*args)
    except CelError:
        return False
    return True


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
    return all(operators.contains(each, _list(left)) for each in _list(right))


def _or(option: Any, other: Any) -> Any:
    return option if _option(option).has_value else other


def _or_value(option: Any, other: Any) -> Any:
    return option.value if _option(option).has_value else other


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
    "contains": lambda text, part: _text(part) in _text(text),
    "startsWith": lambda text, part: _text(text).startswith(_text(part)),
    "endsWith": lambda text, part: _text(text).endswith(_text(part)),
    "matches": _matches,
    "charAt": _char_at,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "lowerAscii": lambda text: _ascii_case(text, upper=False),
    "upperAscii": lambda text: _ascii_case(text, upper=True),
    "replace": lambda text, old, new, most=-1: _text(text).replace(_text(old), _text(new), most),
    "split": _split,
    "substring": _substring,
    "trim": lambda text: _text(text).strip(),
    "join": lambda texts, joint="": _text(joint).join(_text(each) for each in _list(texts)),
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": lambda values: _fold(values, lambda sign: sign < 0),
    "max": lambda values: _fold(values, lambda sign: sign > 0),
    "includes": _includes,
    "sets.contains": _subset,
    "sets.equivalent": lambda left, right: _subset(left, right) and _subset(right, left),
    "sets.intersects": lambda left, right: any(
        operators.contains(each, _list(right)) for each in _list(left)
    ),
    "quantity": lambda text: parse_quantity(_text(text)),
    "isQuantity": lambda text: _parses(parse_quantity, _text(text)),
    "semver": _make_semver,
    "isSemver": lambda *args: _parses(_make_semver, *args),
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
    "optional.of": Optional,
    "optional.none": lambda: NOTHING,
    "optional.ofNonZeroValue": _of_non_zero,
    "hasValue": lambda option: _option(option).has_value,
    "value": _value,
    "or": _or,
    "orValue": _or_value,
}
