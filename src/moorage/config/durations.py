"""Durations as Go writes them (`15s`, `1m30s`, `1.5h`), read and written to the nanosecond."""

import re
from typing import Any, Final

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM: Final = re.compile(r"([0-9]*)(\.[0-9]*)?([^.0-9]*)")
_LIMIT: Final = 2**63


class Duration(int):
    """A length of time: an integer of nanoseconds that reads and writes Go's notation."""

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Read a duration; raise ValueError, in Go's words, for anything else."""
        sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
        if rest == "0":
            return cls(0)
        total = _sum_of_terms(text, rest)
        if total >= _LIMIT + (sign < 0):
            raise ValueError(f'time: invalid duration "{text}"')
        return cls(sign * total)

    @classmethod
    def of_seconds(cls, seconds: int) -> "Duration":
        """Return a whole number of seconds as a duration."""
        return cls(seconds * _NANOSECONDS["s"])

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return int(self) / _NANOSECONDS["s"]

    def __str__(self) -> str:
        """Write the duration as Go does: `1h30m0s`, `1.5s`, `300ms`."""
        sign, rest = ("-", -int(self)) if self < 0 else ("", int(self))
        if rest < _NANOSECONDS["s"]:
            return sign + _below_a_second(rest)
        minutes, rest = divmod(rest, _NANOSECONDS["m"])
        seconds = _decimal(rest, _NANOSECONDS["s"]) + "s"
        if not minutes:
            return sign + seconds
        hours, minutes = divmod(minutes, 60)
        return f"{sign}{hours}h{minutes}m{seconds}" if hours else f"{sign}{minutes}m{seconds}"

    __repr__ = __str__


def _sum_of_terms(whole: str, rest: str) -> int:
    terms = [term.groups() for term in _TERM.finditer(rest) if term.group()]
    if not terms:
        raise ValueError(f'time: invalid duration "{whole}"')
    return sum(_term(whole, *term) for term in terms)


def _term(whole: str, digits: str, fraction: str | None, unit: str) -> int:
    if not digits and fraction in (None, "."):
        raise ValueError(f'time: invalid duration "{whole}"')
    if not unit:
        raise ValueError(f'time: missing unit in duration "{whole}"')
    if unit not in _NANOSECONDS:
        raise ValueError(f'time: unknown unit "{unit}" in duration "{whole}"')
    value = int(digits or 0) * _NANOSECONDS[unit]
    if fraction in (None, "."):
        return value
    # Go adds fractions in floating point and drops what is below a nanosecond.
    kept = str(fraction)[1:19]
    return value + int(float(int(kept)) * (float(_NANOSECONDS[unit]) / 10.0 ** len(kept)))


def _below_a_second(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    unit = "ns" if nanoseconds < 1_000 else "µs" if nanoseconds < 1_000_000 else "ms"
    return _decimal(nanoseconds, _NANOSECONDS[unit]) + unit


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0")


def decode_hook(wanted: type, value: Any) -> Any:
    """Let msgspec decode durations; pass it as `dec_hook`."""
    if wanted is not Duration:
        raise NotImplementedError(f"arguments of type {wanted.__name__} cannot be decoded")
    if not isinstance(value, str):
        raise ValueError('Expected a duration such as "15s" or "1m30s"')
    return Duration.parse(value)


def encode_hook(value: Any) -> Any:
    """Let msgspec encode durations; pass it as `enc_hook`."""
    if not isinstance(value, Duration):
        raise NotImplementedError(f"values of type {type(value).__name__} cannot be encoded")
    return str(value)
