"""Judgements as JSON lines: read by people's tools, and by the next shadow after a restart.

    {"type": "started", "time": ...}
    {"type": "judgement", "configuration": ..., "pod": ..., "agreement": ..., ...}
    {"type": "alive", "time": ...}            every ten seconds
    {"type": "ended", "time": ...}

A judgement with `in_flight` that follows one of the same configuration, pod and time replaces it.
"""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from moorage.config.field_errors import InputError
from moorage.observe.logs import say
from moorage.shadow.judgement import Judgement
from moorage.shadow.tally import Tally
from moorage.shadow.unseen import Span, Unseen

ALIVE_SECONDS: Final = 10.0
RESTART: Final = "the shadow was not running"


class Journal:
    """A file that judgements are appended to, in whole lines; a torn last line is skipped."""

    def __init__(self, path: Path, now: Callable[[], float]) -> None:
        self._now = now
        self._buffer = bytearray()
        self._path, self._broken = path, ""
        try:
            self._file: BinaryIO = os.fdopen(_private(path), "ab", buffering=0)
        except OSError as error:
            raise InputError([f"{path}: {error.strerror}: name another file"]) from None
        self._mark("started")
        if self._broken:
            self._file.close()
            raise InputError([f"{path}: {self._broken}: name another file"])

    def write(self, judged: Judgement) -> None:
        """Add a judgement; it is buffered, and written with the next ones."""
        self._buffer += msgspec.json.encode({"type": "judgement", **msgspec.to_builtins(judged)})
        self._buffer += b"\n"
        if len(self._buffer) > 1 << 16:
            self.flush()

    def alive(self) -> None:
        """Write that the shadow runs."""
        self._mark("alive")

    def close(self) -> None:
        """Write that the shadow ends, and close the file."""
        self._mark("ended")
        self._file.close()

    def flush(self) -> None:
        """Write the buffer; on an error its content is dropped, and the shadow goes on."""
        try:
            self._file.write(self._buffer)
        except OSError as error:
            if not self._broken:
                self._broken = error.strerror or str(error)
                say(logging.WARNING, "Judgements not kept", file=str(self._path), err=self._broken)
        self._buffer.clear()

    def _mark(self, what: str) -> None:
        self._buffer += msgspec.json.encode({"type": what, "time": self._now()}) + b"\n"
        self.flush()


def _private(path: Path) -> int:
    """Open a file for appending, but no link; a new one is readable by its owner alone."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)


def read_journal(path: Path, tallies: Mapping[str, Tally], unseen: Unseen, now: float) -> int:
    """Add the judgements of earlier shadows, and the gap since; returns how many were read."""
    if not path.is_file():
        return 0
    last, read = 0.0, 0
    open_: dict[tuple[str, str, float], Judgement] = {}
    with path.open("rb") as file:
        for line in file:
            found = _decoded(line)
            if found is None:
                continue
            when = float(found.get("time") or 0.0)
            if found.get("type") == "started" and last:
                unseen.add(Span(last, when, RESTART))
            elif found.get("type") == "judgement" and found.get("configuration") in tallies:
                read += _count(found, tallies, open_)
            last = max(last, when)
    if last:
        unseen.add(Span(last, now, RESTART))
    return read


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None  # the last line of a shadow that was killed
    return found if isinstance(found, dict) else None


def _count(
    found: dict[str, Any],
    tallies: Mapping[str, Tally],
    open_: dict[tuple[str, str, float], Judgement],
) -> int:
    try:
        judged = msgspec.convert(found, Judgement)
    except msgspec.ValidationError:
        return 0
    tally, key = tallies[judged.configuration], (judged.configuration, judged.pod, judged.time)
    earlier = open_.pop(key, None)
    if earlier is not None:
        tally.replace(earlier, judged)
        return 0
    tally.add(judged)
    if not judged.agrees:
        open_[key] = judged
        if len(open_) > 1000:
            del open_[next(iter(open_))]
    return 1
