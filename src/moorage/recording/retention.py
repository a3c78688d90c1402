"""How much of a recording is kept: what is older is removed, file by file.

Only whole beginnings are left: a file stays unless one after it begins with everything that is
believed, so whatever is kept can be replayed.
"""

from pathlib import Path
from typing import Final, NamedTuple

from moorage.recording.segments import begins_whole, segments_in

SEGMENT_BYTES: Final = 32 << 20
"""A new file is begun when one has become so large."""
PARTS: Final = 8
"""What is kept is in so many files at least, so that not much goes at a time."""


class Rotation:
    """Whether a new file is due; the recorder begins it with what is believed then."""

    __slots__ = ("due",)

    def __init__(self) -> None:
        self.due = False


class Retention(NamedTuple):
    """How many bytes are kept, or of how many seconds; None: everything."""

    size: int | None = None
    seconds: float | None = None

    def is_due(self, size: int, age: float) -> bool:
        """Whether a file of that size and age is to be followed by another."""
        if self.seconds is not None and age >= self.seconds / PARTS:
            return True
        most = SEGMENT_BYTES if self.size is None else min(SEGMENT_BYTES, self.size // PARTS)
        return size >= most

    def prune(self, folder: Path, now: float) -> list[Path]:
        """Remove what is too old or too much; which files those were."""
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
