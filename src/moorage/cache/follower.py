"""Logs of changed rows, and followers: readers that remember how far they have read.

Every value derived from rows follows a log, and recomputes the rows that changed.
"""

from collections.abc import Sequence
from typing import Generic, TypeVar

Entry = TypeVar("Entry")

KEEP = 65_536
"""The least number of entries kept by default; readers further behind must start afresh."""


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
        """Make every reader start afresh: all rows count as changed."""
        self.version += 1
        self._base = self.version
        self.entries.clear()


class Follower(Generic[Entry]):
    """Remembers how far its owner has read a log, and returns the entries it has missed.

    A new follower must start afresh; one that is made with a log begins at the log's end. A log of
    another table means starting afresh, too. While `version` equals the log's, nothing was missed:
    an owner that follows only one log may compare the two first.
    """

    __slots__ = ("_log", "version")

    def __init__(self, log: RowLog[Entry] | None = None) -> None:
        self._log = log
        self.version = -1 if log is None else log.version

    def is_behind(self, log: RowLog[Entry]) -> bool:
        """Whether `missed` would return anything but an empty sequence."""
        return self.version != log.version or self._log is not log

    def missed(self, log: RowLog[Entry]) -> Sequence[Entry] | None:
        """The entries since the last call; they count as read from now on.

        None if too much was missed, or everything changed at once: the owner must start afresh.
        """
        if self._log is not log:
            self._log, self.version = log, log.version
            return None
        version, self.version = self.version, log.version
        return () if version == log.version else log.since(version)

    def skip(self, log: RowLog[Entry]) -> None:
        """Count all entries as read, because they are known to have no effect on the owner."""
        self._log, self.version = log, log.version

    def forget(self) -> None:
        """Make the owner start afresh at the next call."""
        self._log, self.version = None, -1
