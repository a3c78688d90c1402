"""`'%d of %s'.format([...])` and `strings.quote`, as CEL's strings library writes values."""

import math
import re
from collections.abc import Callable
from typing import Any, Final

from moorage.devices.cel import operators
from moorage.devices.cel.times import Duration, Timestamp
from moorage.devices.cel.values import CelError, CostLimitError, is_number, type_name

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.([0-9]+))?(.))", re.DOTALL)
_DECIMALS: Final = 6
_MOST_DIGITS: Final = 1000
"""What one clause may ask for."""
_SUPERSCRIPT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
UNKNOWN: Final = object()
_ESCAPES: Final = {
    **{"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"},
    **{"\v": "\\v", "\\": "\\\\", '"': '\\"'},
}


def format_text(template: str, values: list[Any]) -> str:
    """The template with its clauses filled in; CelError where one does not suit its value."""
    left = iter(values)

    def fill(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        value = next(left, UNKNOWN)
        if value is UNKNOWN:
            raise CelError(f"index {len(values)} out of range")
        return _clause(found[2])(value, found[1])

    if "%" in _CLAUSE.sub("", template):
        raise CelError("unexpected end of string")
    return _CLAUSE.sub(fill, template)


def check_format(template: str, known: list[Any]) -> None:
    """CelError where a template does not suit its values; `UNKNOWN` is one not known yet."""
    clauses = [found for found in _CLAUSE.finditer(template) if found[0] != "%%"]
    if "%" in _CLAUSE.sub("", template):
        raise CelError("unexpected end of string")
    if len(clauses) != len(known):
        raise CelError(f"{len(known)} arguments supplied to string.format for {len(clauses)}")
    for found, value in zip(clauses, known, strict=True):
        fill = _clause(found[2])
        if value is not UNKNOWN:
            fill(value, found[1])


def _clause(letter: str) -> Callable[[Any, str | None], str]:
    if letter not in _CLAUSES:
        raise CelError(f'could not parse formatting clause: unrecognized clause "{letter}"')
    return _CLAUSES[letter]


def _string(value: Any, _: str | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | dict):
        return _literal(value)
    if not isinstance(value, bool | int | float | str | bytes | Duration | Timestamp):
        raise CelError(f"string clause cannot be used on {type_name(value)}")
    return operators.to_string(value)


def _literal(value: Any) -> str:
    """A value inside a list or a map, as CEL would have it written."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        entries = sorted((_literal(key), _literal(each)) for key, each in value.items())
        return f"{{{', '.join(f'{key}:{each}' for key, each in entries)}}}"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return "b" + quote(operators.to_string(value))
    if isinstance(value, float):
        return (
            f"{value:.{_DECIMALS}f}" if math.isfinite(value) else quote(operators.shortest(value))
        )
    if isinstance(value, Duration | Timestamp):
        kind = "duration" if isinstance(value, Duration) else "timestamp"
        return f'{kind}("{value}")'
    return _string(value, None)


def _decimal(value: Any, _: str | None) -> str:
    return str(_whole(value, "decimal"))


def _whole(value: Any, clause: str) -> int:
    if not is_number(value) or isinstance(value, float):
        raise CelError(
            f"{clause} clause can only be used on integers, was given {type_name(value)}"
        )
    return int(value)


def _binary(value: Any, _: str | None) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{_whole(value, 'binary'):b}"


def _hex(value: Any, _: str | None) -> str:
    if isinstance(value, str | bytes):
        return (value.encode() if isinstance(value, str) else value).hex()
    return f"{_whole(value, 'hex'):x}"


def _double(value: Any, clause: str) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if not isinstance(value, float):
        raise CelError(f"{clause} clause can only be used on doubles, was given {type_name(value)}")
    return value


def _fixed(value: Any, precision: str | None) -> str:
    number = _double(value, "fixed-point")
    if not math.isfinite(number):
        return _signed_symbol(number)
    return f"{number:,.{_digits(precision)}f}"


def _digits(asked: str | None) -> int:
    if asked is None:
        return _DECIMALS
    if len(asked) > len(str(_MOST_DIGITS)) or int(asked) > _MOST_DIGITS:
        raise CostLimitError
    return int(asked)


def digits_asked(template: str) -> int:
    """How many digits the clauses of a template ask for, or columns."""
    return sum(_digits(found[1]) for found in _CLAUSE.finditer(template) if found[1])


def _scientific(value: Any, width: str | None) -> str:
    """Always with six decimals: what looks like a precision is a width there, and so it is here."""
    number = _double(value, "scientific")
    return f"{_powers_of_ten(number):>{_digits(width)}}"


def _powers_of_ten(number: float) -> str:
    if not math.isfinite(number):
        return _signed_symbol(number)
    mantissa, _, exponent = f"{number:.{_DECIMALS}e}".partition("e")
    power = f"{int(exponent):03d}" if int(exponent) < 0 else f"{int(exponent):02d}"
    return f"{mantissa}×10{power.translate(_SUPERSCRIPT)}"


def _signed_symbol(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


_CLAUSES: Final[dict[str, Callable[[Any, str | None], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
    "o": lambda value, _: f"{_whole(value, 'octal'):o}",
}


def quote(text: str) -> str:
    """The text in double quotes, with what cannot be seen escaped."""
    return f'"{"".join(_ESCAPES.get(letter, letter) for letter in text)}"'
