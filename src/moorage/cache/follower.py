"""Logs of changed rows, and followers: readers that remember how far they have read.

Every value derived from rows follows a log, and recomputes the rows that changed.

What people write into objects must not stop a reader: an entry that a reader cannot take is left
out alone, logged once and counted. A reader of whole batches that fails starts afresh.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, TypeVar

_log: Final = logging.getLogger(__name__)

Entry = TypeVar("Entry")
Result = TypeVar("Result")

KEEP = 65_536
"""The least number of entries kept by default; readers further behind must start afresh."""
_REPORTS_KEPT: Final = 1_000


class RowLog(Generic[Entry]):
    """An append-only log with a version; old entries are dropped in bulk.

    A reader remembers `version` and asks `since` for what it missed. `None` means that too much
    was missed, or that everything changed at once: the reader must start afresh. `name_of` names
    the object of an entry, for messages.
    """

    __slots__ = ("_base", "_keep", "_name_of", "_reported", "entries", "left_out", "version")

    def __init__(self, keep: int = KEEP, name_of: Callable[[Entry], str] = str) -> None:
        self.entries: list[Entry] = []
        self.version = 0
        self.left_out = 0
        """How many objects were left out by a reader, each counted once for each reason."""
        self._name_of = name_of
        self._reported: dict[tuple[str, str], None] = {}
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
        return self.entries[version - self._base :] if self.keeps(version) else None

    def keeps(self, version: int) -> bool:
        """Whether everything since that version is there."""
        return version >= self._base

    def restart(self) -> None:
        """Make every reader start afresh: all rows count as changed."""
        self.version += 1
        self._base = self.version
        self.entries.clear()

    def leave_out(self, entry: Entry, error: Exception) -> None:
        """Report an object that a reader cannot take; once, however often it is read."""
        name, reason = self._name_of(entry), f"{type(error).__name__}: {error}"
        if (name, reason) in self._reported:
            return
        self.left_out += 1
        self._reported[name, reason] = None
        if len(self._reported) > _REPORTS_KEPT:
            del self._reported[next(iter(self._reported))]
        _log.error("%s is left out: %s", name, reason, exc_info=error)


class Follower(Generic[Entry]):
    """Remembers how far its owner has read a log, and passes on the entries it has missed.

    A new follower must start afresh; one that is made with a log begins at the log's end. A log of
    another table means starting afresh, too. While `version` equals the log's, nothing was missed:
    an owner that follows only one log may compare the two first.
    """

    __slots__ = ("_log", "version")

    def __init__(self, log: RowLog[Entry] | None = None) -> None:
        self._log = log
        self.version = -1 if log is None else log.version

    def is_behind(self, log: RowLog[Entry]) -> bool:
        """Whether there is anything to read."""
        return self.version != log.version or self._log is not log

    def is_lost(self, log: RowLog[Entry]) -> bool:
        """Whether its owner must start afresh."""
        return self._log is not log or not log.keeps(self.version)

    def apply(
        self,
        log: RowLog[Entry],
        afresh: Callable[[], Iterable[Entry]],
        one: Callable[[Entry], object],
    ) -> None:
        """Let `one` apply each entry since the last call; one that raises is left out by name.

        If too much was missed, `afresh` forgets all that was applied, and returns entries for all
        that there is.
        """
        if self.version == log.version and self._log is log:
            return

        def each(missed: Sequence[Entry] | None) -> None:
            for entry in afresh() if missed is None else missed:
                try:
                    one(entry)
                except Exception as error:
                    log.leave_out(entry, error)

        self.read(log, each)

    def read(self, log: RowLog[Entry], use: Callable[[Sequence[Entry] | None], Result]) -> Result:
        """What `use` makes of the entries since the last call, all at once.

        It gets None if it must start afresh: too much was missed, everything changed at once, or it
        raised the last time.
        """
        missed = None
        if self._log is log:
            missed = () if self.version == log.version else log.since(self.version)
        self._log, self.version = log, log.version
        try:
            return use(missed)
        except BaseException:
            self.forget()
            raise

    def skip(self, log: RowLog[Entry]) -> None:
        """Count all entries as read, because they are known to have no effect on the owner."""
        self._log, self.version = log, log.version

    def forget(self) -> None:
        """Make the owner start afresh at the next call."""
        self._log, self.version = None, -1
