"""Follower: a reader of a row log, which remembers how far it has read."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from moorage.cache.row_log import RowLog

Entry = TypeVar("Entry")


class Follower(Generic[Entry]):
    """Answers what a log has that its owner has not taken in yet.

    A new follower has taken in nothing, and is told to take all anew; one that is made of a log
    begins at the log's end. A log of another table is all anew, too.
    """

    __slots__ = ("_log", "_version")

    def __init__(self, log: RowLog[Entry] | None = None) -> None:
        self._log = log
        self._version = -1 if log is None else log.version

    def is_behind(self, log: RowLog[Entry]) -> bool:
        """Whether `missed` would have anything to tell."""
        return self._version != log.version or self._log is not log

    def missed(self, log: RowLog[Entry]) -> Sequence[Entry] | None:
        """The entries since the last call, which counts as taking them in.

        None: too much was missed, or everything changed at once. Take all anew.
        """
        if self._log is not log:
            self._log, self._version = log, log.version
            return None
        version, self._version = self._version, log.version
        return () if version == log.version else log.since(version)

    def skip(self, log: RowLog[Entry]) -> None:
        """Take what was logged since as taken in: it is known to be without effect."""
        self._log, self._version = log, log.version

    def forget(self) -> None:
        """What was taken in is lost: the next time all is to be taken anew."""
        self._log = None
