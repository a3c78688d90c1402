"""The minutes around an incident, cut from a long recording into a smaller one.

The recording is played back to the first moment of the span, without comparing outcomes. The state
at that moment is the beginning of the new recording; the entries up to the last moment are copied.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from moorage.config.field_errors import InputError
from moorage.recording.checkpoint import checkpoint
from moorage.recording.configuration import NO_PLUGINS, LoadedPlugins
from moorage.recording.entries import AnyEntry, Attempt, Began, Entry
from moorage.recording.moments import time_of
from moorage.recording.replay import Replay
from moorage.recording.segments import Recording


class Span(NamedTuple):
    """From when to when, in seconds since the epoch."""

    begin: float
    end: float


def span_around(folder: Path, attempt: str, seconds: float) -> Span:
    """`seconds` before and after an attempt; raises an InputError if there is no such attempt."""
    count = 0
    for entry in Recording(folder).entries():
        if isinstance(entry, Attempt):
            count += 1
            if attempt in (entry.id, f"#{count}"):
                return Span(entry.now - seconds, entry.now + seconds)
    raise InputError([f"--around {attempt}: no such attempt among {count}"])


def cut_entries(folder: Path, span: Span, plugins: LoadedPlugins = NO_PLUGINS) -> Iterator[Entry]:
    """The entries of a new recording that covers the span."""
    replay = Replay(plugins.profiles, lambda made: None)
    entries = Recording(folder).entries()
    first = _played_to(replay, entries, span)
    if first is None:
        raise InputError([f"{folder}: nothing was recorded in that time"])
    if not isinstance(first, Began):
        yield from checkpoint(replay)
    yield first
    for entry in entries:
        now = time_of(entry)
        if now is not None and now > span.end:
            return
        yield entry


def _played_to(replay: Replay, entries: Iterator[AnyEntry], span: Span) -> AnyEntry | None:
    """Play back up to the first entry of the span, outside of trials."""
    for entry in entries:
        now = time_of(entry)
        if now is not None and now > span.end:
            return None
        if now is not None and now >= span.begin and not replay.in_trial:
            return entry
        replay.apply(entry)
    return None
