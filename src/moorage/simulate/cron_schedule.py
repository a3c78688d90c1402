"""Cron schedules: minute, hour, day of month, month, day of week, as CronJobs write them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

_FIELDS: Final = (
    ("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7),
)  # fmt: skip
_NAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class CronSchedule:
    """When a CronJob starts; raises a ValueError for a text that is not a schedule."""

    def __init__(self, text: str) -> None:
        parts = _NAMES.get(text.strip(), text).split()
        if len(parts) != len(_FIELDS):
            raise ValueError(f"{text!r} is not a schedule: write five fields, as in */5 * * * *")
        sets = [_values(part, *field) for part, field in zip(parts, _FIELDS, strict=True)]
        self._minutes, self._hours, self._days, self._months, weekdays = sets
        self._weekdays = {day % 7 for day in weekdays}
        self._any_day, self._any_weekday = parts[2] == "*", parts[4] == "*"

    def times(self, start: datetime, seconds: float) -> Iterator[float]:
        """The offsets from `start` in seconds, in order, below `seconds`."""
        day = start.replace(hour=0, minute=0, second=0, microsecond=0)
        while (day - start).total_seconds() < seconds:
            if self._falls_on(day):
                for hour in sorted(self._hours):
                    for minute in sorted(self._minutes):
                        moment = day + timedelta(hours=hour, minutes=minute)
                        offset = (moment - start).total_seconds()
                        if 0 <= offset < seconds:
                            yield offset
            day += timedelta(days=1)

    def _falls_on(self, day: datetime) -> bool:
        """Cron's rule: when both day fields are restricted, matching one of them is enough."""
        if day.month not in self._months:
            return False
        by_day, by_weekday = day.day in self._days, day.isoweekday() % 7 in self._weekdays
        if self._any_day or self._any_weekday:
            return by_day and by_weekday
        return by_day or by_weekday


def _values(text: str, what: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        try:
            begin, end = (low, high) if span == "*" else (int(first), int(last or first))
            if step and not last and span != "*":
                end = high
            every = int(step) if step else 1
        except ValueError:
            raise ValueError(f"{part!r} is not a {what}") from None
        if not (low <= begin <= end <= high and every > 0):
            raise ValueError(f"{part!r} is not a {what} from {low} to {high}")
        found.update(range(begin, end + 1, every))
    return found
