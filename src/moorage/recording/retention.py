"""How much of a recording is kept: older files are removed.

A file is removed only if a later file begins with the whole state. So whatever is kept can be
replayed.
"""

from pathlib import Path
from typing import Final, NamedTuple

from moorage.recording.segments import begins_whole, segments_in

SEGMENT_BYTES: Final = 32 << 20
"""A new file is begun when the current one has reached this many bytes."""
PARTS: Final = 8
"""What is kept is spread over at least this many files, so that little is removed at a time."""


class Rotation:
    """Whether a new file is due; the recorder begins it with a snapshot of the state."""

    __slots__ = ("due",)

    def __init__(self) -> None:
        self.due = False


class Retention(NamedTuple):
    """How many bytes are kept, and the files of how many seconds; None means no limit."""

    size: int | None = None
    seconds: float | None = None

    def is_due(self, size: int, age: float) -> bool:
        """Whether a new file must follow one of this size and age."""
        if self.seconds is not None and age >= self.seconds / PARTS:
            return True
        most = SEGMENT_BYTES if self.size is None else min(SEGMENT_BYTES, self.size // PARTS)
        return size >= most

    def prune(self, folder: Path, now: float) -> list[Path]:
        """Remove the files beyond the limits; returns them."""
        if self.size is None and self.seconds is None:
            return []
        files = segments_in(folder)
        first = 0
        for start in range(1, len(files)):
            if not self._is_too_much(files[first:], files[start - 1], now):
                break
            if begins_whole(files[start]):
                first = start
        for file in files[:first]:
            file.unlink()
        return files[:first]

    def _is_too_much(self, files: list[Path], older: Path, now: float) -> bool:
        if self.size is not None and sum(file.stat().st_size for file in files) > self.size:
            return True
        return self.seconds is not None and older.stat().st_mtime < now - self.seconds
