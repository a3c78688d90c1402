"""Logs of changed rows, and followers: readers that remember how far they have read.

Everything that is derived from rows follows a log, and recomputes the rows that changed.
"""

from collections.abc import Sequence
from typing import Generic, TypeVar

Entry = TypeVar("Entry")

KEEP = 65_536
"""Entries kept at least, unless told otherwise; readers further behind start afresh."""


class RowLog(Generic[Entry]):
    """An append-only log with a version; old entries are dropped in bulk.

    A reader remembers `version` and asks `since` for what it missed. `None` means that too much
    was missed, or that everything changed at once: the reader must start afresh.
    """

    __slots__ = ("_base", "_keep", "entries", "version")

    def __init__(self, keep: int = KEEP) -> None:
        self.entries: list[Entry] = []
        self.version = 0
        self._base = 0
        self._keep = keep

    def append(self, entry: Entry) -> None:
        entries = self.entries
        entries.append(entry)
        self.version += 1
        spare = len(entries) - self._keep
        if spare > self._keep >> 2:
            del entries[:spare]
            self._base += spare

    def since(self, version: int) -> list[Entry] | None:
        start = version - self._base
        return self.entries[start:] if start >= 0 else None

    def restart(self) -> None:
        """Leave every reader behind: all rows are to be taken as changed."""
        self.version += 1
        self._base = self.version
        self.entries.clear()


class Follower(Generic[Entry]):
    """Answers what a log has that its owner has not taken in yet.

    A new follower has taken in nothing, and is told to take all anew; one that is made of a log
    begins at the log's end. A log of another table is all anew, too. While `version` is that of
    its log nothing is missed, which whoever follows one log alone may look at first.
    """

    __slots__ = ("_log", "version")

    def __init__(self, log: RowLog[Entry] | None = None) -> None:
        self._log = log
        self.version = -1 if log is None else log.version

    def is_behind(self, log: RowLog[Entry]) -> bool:
        """Whether `missed` would have anything to tell."""
        return self.version != log.version or self._log is not log

    def missed(self, log: RowLog[Entry]) -> Sequence[Entry] | None:
        """The entries since the last call, which counts as taking them in.

        None: too much was missed, or everything changed at once. Take all anew.
        """
        if self._log is not log:
            self._log, self.version = log, log.version
            return None
        version, self.version = self.version, log.version
        return () if version == log.version else log.since(version)

    def skip(self, log: RowLog[Entry]) -> None:
        """Take what was logged since as taken in: it is known to be without effect."""
        self._log, self.version = log, log.version

    def forget(self) -> None:
        """What was taken in is lost: the next time all is to be taken anew."""
        self._log, self.version = None, -1
