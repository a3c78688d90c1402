"""Moments of a recording, as people name them: a time, or an attempt by its id or number."""

import datetime

from moorage.config.field_errors import InputError
from moorage.recording.entries import AnyEntry, Attempt, Began, Clock


def time_of(entry: AnyEntry) -> float | None:
    """The time of an entry; None if it has none."""
    return entry.now if isinstance(entry, Attempt | Clock | Began) else None


def parse_time(text: str) -> float | None:
    """Seconds since the epoch; None if the text is not a time. The default zone is UTC."""
    if "T" not in text and ":" not in text:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InputError([f"{text}: write a time as 2026-03-01T12:05:00Z"]) from None
    return (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp()
