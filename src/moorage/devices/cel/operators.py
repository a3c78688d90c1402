"""CEL's operators and conversions, with its errors where Go's would overflow."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from moorage.api import int64
from moorage.devices.cel import times
from moorage.devices.cel.syntax_tree import UInt
from moorage.devices.cel.values import (
    NOTHING,
    CelError,
    DefaultMap,
    Optional,
    equal,
    is_number,
    no_overload,
    type_name,
)

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(r"[!-~]+")
_FEW_DIGITS: Final = 6
"""From a million on, Go writes doubles with an exponent."""
_ORDERED: Final = (str, bytes, bool, times.Duration, times.Timestamp)
_TEXTS: Final = ("net.IP", "net.CIDR", times.Duration.cel_type, times.Timestamp.cel_type)
"""Types of ours that `string()` takes."""


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1; numbers of different kinds are compared by what they are worth."""
    same = isinstance(left, _ORDERED) and type(left) is type(right)
    if not same and not (is_number(left) and is_number(right)):
        raise no_overload(left, right)
    if any(isinstance(each, float) and math.isnan(each) for each in (left, right)):
        raise CelError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


def add(left: Any, right: Any) -> Any:
    if is_number(left) and is_number(right):
        return _number(left, right, left + right)
    if type(left) is type(right) and isinstance(left, str | bytes | list):
        return left + right
    return times.add(left, right)


def subtract(left: Any, right: Any) -> Any:
    if isinstance(left, times.Duration | times.Timestamp):
        return times.subtract(left, right)
    _need_numbers(left, right)
    return _number(left, right, left - right)


def multiply(left: Any, right: Any) -> Any:
    _need_numbers(left, right)
    return _number(left, right, left * right)


def divide(left: Any, right: Any) -> Any:
    _need_numbers(left, right)
    if isinstance(left, float):
        return left / right if right else math.copysign(math.inf, left) if left else math.nan
    if not right:
        raise CelError("division by zero")
    return _number(left, right, _truncated(left, right))


def modulo(left: Any, right: Any) -> Any:
    _need_numbers(left, right)
    if isinstance(left, float):
        raise no_overload(left, right)
    if not right:
        raise CelError("modulus by zero")
    return _number(left, right, left - right * _truncated(left, right))


def negate(value: Any) -> Any:
    if not is_number(value) or isinstance(value, UInt):
        raise no_overload(value)
    return _number(value, value, -value)


def invert(value: Any) -> bool:
    if not isinstance(value, bool):
        raise no_overload(value)
    return not value


def _truncated(left: int, right: int) -> int:
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _need_numbers(left: Any, right: Any) -> None:
    if not is_number(left) or not is_number(right):
        raise no_overload(left, right)


def _number(left: Any, right: Any, result: Any) -> Any:
    """The result as a number of its operands' kind."""
    if isinstance(left, float) != isinstance(right, float):
        raise no_overload(left, right)
    if isinstance(left, float):
        return result
    if isinstance(left, UInt) != isinstance(right, UInt):
        raise no_overload(left, right)
    if isinstance(left, UInt):
        if not 0 <= result < 1 << 64:
            raise CelError("unsigned integer overflow")
        return UInt(result)
    return _in_range(result)


def _in_range(value: int) -> int:
    if not int64.fits(value):
        raise CelError("integer overflow")
    return value


def contains(element: Any, where: Any) -> bool:
    """`element in where`."""
    if isinstance(where, list):
        return any(equal(element, each) for each in where)
    if isinstance(where, dict):
        return not isinstance(element, list | dict) and element in where
    raise no_overload(element, where)


def index(where: Any, key: Any) -> Any:
    """`where[key]`, which is an optional where that is one."""
    if isinstance(where, Optional):
        return find(where, key)
    found = find(where, key)
    if found.has_value:
        return found.value
    if isinstance(where, dict):
        raise CelError(f"no such key: {key}")
    raise CelError(f"index out of bounds: {key}")


def find(where: Any, key: Any) -> Optional:
    """`where[?key]`."""
    if isinstance(where, Optional):
        return find(where.value, key) if where.has_value else NOTHING
    if isinstance(where, dict):
        if isinstance(key, list | dict):
            raise no_overload(where, key)
        if key in where:
            return Optional(where[key])
        return Optional({}) if isinstance(where, DefaultMap) else NOTHING
    if isinstance(where, list) and is_number(key):
        at = int(key)
        return Optional(where[at]) if at == key and 0 <= at < len(where) else NOTHING
    raise no_overload(where, key)


def has(where: Any, field: str) -> bool:
    """`has(where.field)`."""
    if isinstance(where, Optional):
        return where.has_value and has(where.value, field)
    if not isinstance(where, dict):
        raise no_overload(where)
    return field in where or isinstance(where, DefaultMap)


def size(value: Any) -> int:
    if not isinstance(value, str | bytes | list | dict):
        raise no_overload(value)
    return len(value)


def to_int(value: Any) -> int:
    if isinstance(value, times.Timestamp):
        return value.nanoseconds // times.SECOND
    try:
        if isinstance(value, str):
            return _in_range(int(value)) if _INTEGER.fullmatch(value) else _bad(value, "int")
        if isinstance(value, bool) or not is_number(value):
            raise no_overload(value)
        return _in_range(int(value))
    except (ValueError, OverflowError):
        raise CelError("integer overflow") from None


def to_uint(value: Any) -> UInt:
    whole = int(value) if isinstance(value, UInt) else to_int(value)
    if whole < 0:
        raise CelError("unsigned integer overflow")
    return UInt(whole)


def to_double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise no_overload(value)
    if not isinstance(value, str):
        return float(value)
    try:
        found = float(value)
    except ValueError:
        _bad(value, "double")
    if not _FLOAT.fullmatch(value) or (math.isinf(found) and value[-1].isdigit()):
        _bad(value, "double")
    return found


def to_string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, float):
        return shortest(value)
    if isinstance(value, str | int) or getattr(type(value), "cel_type", "") in _TEXTS:
        return str(value)
    raise no_overload(value)


def shortest(value: float) -> str:
    """The fewest digits that are this double, as Go writes it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    number = Decimal(repr(value)).normalize()
    power = number.adjusted()
    if -4 <= power < _FEW_DIGITS:
        return f"{number:f}"
    mantissa = number.scaleb(-power).normalize()
    return f"{mantissa:f}e{'-' if power < 0 else '+'}{abs(power):02}"


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    truths = {"1": True, "t": True, "T": True, "true": True, "TRUE": True, "True": True}
    lies = {"0": False, "f": False, "F": False, "false": False, "FALSE": False, "False": False}
    if isinstance(value, str) and value in {**truths, **lies}:
        return value in truths
    raise CelError("type conversion error to 'bool'")


def to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise no_overload(value)


def _bad(value: Any, kind: str) -> Any:
    raise CelError(f"type conversion error from '{value}' to '{kind}'")


OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": lambda left, right: compare(left, right) < 0,
    "_<=_": lambda left, right: compare(left, right) <= 0,
    "_>_": lambda left, right: compare(left, right) > 0,
    "_>=_": lambda left, right: compare(left, right) >= 0,
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "-_": negate,
    "!_": invert,
    "@in": contains,
    "_[_]": index,
    "_[?_]": find,
    "_?._": find,
    "size": size,
    "int": to_int,
    "uint": to_uint,
    "double": to_double,
    "string": to_string,
    "bool": to_bool,
    "bytes": to_bytes,
    "dyn": lambda value: value,
    "type": type_name,
}
