"""Durations and timestamps, in nanoseconds as Go has them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import total_ordering
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

from moorage.api import int64
from moorage.devices.cel.values import CelError, no_overload

SECOND: Final = 1_000_000_000
_UNITS: Final = {
    **{"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000},
    **{"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND},
}
_PART: Final = re.compile(r"(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_DURATION: Final = re.compile(rf"[+-]?(?:0|(?:{_PART.pattern})+)")
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]+))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
_OFFSET: Final = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{2})")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = -62_135_596_800 * SECOND
_LAST: Final = 253_402_300_800 * SECOND


@total_ordering
class _Nanoseconds:
    """A count of them, ordered among its own kind."""

    __slots__ = ("nanoseconds",)

    def __init__(self, nanoseconds: int) -> None:
        self.nanoseconds = nanoseconds

    def __eq__(self, other: object) -> bool:
        same = type(other) is type(self)
        return same and self.nanoseconds == other.nanoseconds  # type: ignore[attr-defined]

    def __lt__(self, other: "_Nanoseconds") -> bool:
        return self.nanoseconds < other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)


class Duration(_Nanoseconds):
    """How long something takes."""

    __slots__ = ()
    cel_type: ClassVar[str] = "google.protobuf.Duration"

    def __init__(self, nanoseconds: int) -> None:
        if not int64.fits(nanoseconds):
            raise CelError("duration out of range")
        super().__init__(nanoseconds)

    def __str__(self) -> str:
        whole, part = divmod(abs(self.nanoseconds), SECOND)
        decimals = f".{part:09}".rstrip("0") if part else ""
        return f"{'-' if self.nanoseconds < 0 else ''}{whole}{decimals}s"


class Timestamp(_Nanoseconds):
    """A point in time, since 1970."""

    __slots__ = ()
    cel_type: ClassVar[str] = "google.protobuf.Timestamp"

    def __init__(self, nanoseconds: int) -> None:
        if not _FIRST <= nanoseconds < _LAST:
            raise CelError("timestamp out of range")
        super().__init__(nanoseconds)

    def __str__(self) -> str:
        part = self.nanoseconds % SECOND
        decimals = f".{part:09}".rstrip("0") if part else ""
        return f"{self.at(UTC):%Y-%m-%dT%H:%M:%S}{decimals}Z"

    def at(self, zone: tzinfo) -> datetime:
        seconds = self.nanoseconds // SECOND
        return (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)


def parse_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if not isinstance(value, str):
        raise no_overload(value)
    if not _DURATION.fullmatch(value):
        raise CelError(f"time: invalid duration {value!r}")
    total = sum(_nanoseconds(*found.groups()) for found in _PART.finditer(value))
    return Duration(-total if value.startswith("-") else total)


def _nanoseconds(whole: str, decimals: str | None, unit: str) -> int:
    scale = _UNITS[unit]
    part = int(decimals) * scale // 10 ** len(decimals) if decimals else 0
    return int(whole or 0) * scale + part


def parse_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Timestamp(value * SECOND)
    if not isinstance(value, str):
        raise no_overload(value)
    found = _TIMESTAMP.fullmatch(value)
    try:
        if found is None:
            raise ValueError
        zone = found[3].replace("Z", "+00:00")
        seconds = (datetime.fromisoformat(found[1] + zone) - _EPOCH) // timedelta(seconds=1)
    except ValueError:
        raise CelError(f"parsing time {value!r} failed") from None
    return Timestamp(seconds * SECOND + int(((found[2] or "") + "0" * 9)[:9]))


def add(left: Any, right: Any) -> Any:
    """Durations, and a duration to a timestamp on either side."""
    kinds = type(left), type(right)
    if kinds == (Duration, Duration):
        return Duration(left.nanoseconds + right.nanoseconds)
    if kinds in ((Timestamp, Duration), (Duration, Timestamp)):
        return Timestamp(left.nanoseconds + right.nanoseconds)
    raise no_overload(left, right)


def subtract(left: Any, right: Any) -> Any:
    kinds = type(left), type(right)
    if kinds in ((Duration, Duration), (Timestamp, Timestamp)):
        return Duration(left.nanoseconds - right.nanoseconds)
    if kinds == (Timestamp, Duration):
        return Timestamp(left.nanoseconds - right.nanoseconds)
    raise no_overload(left, right)


def _zone(name: str) -> tzinfo:
    offset = _OFFSET.fullmatch(name)
    try:
        if offset is None:
            return ZoneInfo(name)
        away = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-away if offset[1] == "-" else away)
    except (ValueError, OSError, KeyError):
        raise CelError(f"unknown time zone {name}") from None


def _of_timestamp(read: Callable[[datetime], int]) -> Callable[..., int]:
    def get(value: Any, zone: str = "UTC") -> int:
        if not isinstance(value, Timestamp):
            raise no_overload(value)
        return read(value.at(_zone(zone)))

    return get


def _part(unit: int, read: Callable[[datetime], int]) -> Callable[..., int]:
    """Of a timestamp its hours, minutes or seconds; a duration as so many of them."""
    of_timestamp = _of_timestamp(read)

    def get(value: Any, *zone: str) -> int:
        if isinstance(value, Duration) and not zone:
            whole = abs(value.nanoseconds) // unit
            return -whole if value.nanoseconds < 0 else whole
        return of_timestamp(value, *zone)

    return get


def _milliseconds(value: Any, *zone: str) -> int:
    if isinstance(value, Duration) and not zone:
        return int(value.nanoseconds / 1_000_000)
    if not isinstance(value, Timestamp):
        raise no_overload(value)
    return value.nanoseconds % SECOND // 1_000_000


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "duration": parse_duration,
    "timestamp": parse_timestamp,
    "getFullYear": _of_timestamp(lambda at: at.year),
    "getMonth": _of_timestamp(lambda at: at.month - 1),
    "getDate": _of_timestamp(lambda at: at.day),
    "getDayOfMonth": _of_timestamp(lambda at: at.day - 1),
    "getDayOfWeek": _of_timestamp(lambda at: at.isoweekday() % 7),
    "getDayOfYear": _of_timestamp(lambda at: at.timetuple().tm_yday - 1),
    "getHours": _part(3600 * SECOND, lambda at: at.hour),
    "getMinutes": _part(60 * SECOND, lambda at: at.minute),
    "getSeconds": _part(SECOND, lambda at: at.second),
    "getMilliseconds": _milliseconds,
}
