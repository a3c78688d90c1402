"""The log of changed rows, from which everything incremental catches up."""

from typing import Generic, TypeVar

Entry = TypeVar("Entry")

KEEP = 65_536
"""Entries kept at least; readers further behind start afresh."""


class RowLog(Generic[Entry]):
    """An append-only log with a version; old entries are dropped in bulk.

    A reader remembers `version` and asks `since` for what it missed. `None` means that too much
    was missed, or that everything changed at once: the reader must start afresh.
    """

    __slots__ = ("_base", "entries", "version")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.version = 0
        self._base = 0

    def append(self, entry: Entry) -> None:
        entries = self.entries
        entries.append(entry)
        self.version += 1
        if len(entries) > 2 * KEEP:
            del entries[:KEEP]
            self._base += KEEP

    def since(self, version: int) -> list[Entry] | None:
        start = version - self._base
        return self.entries[start:] if start >= 0 else None

    def restart(self) -> None:
        """Leave every reader behind: all rows are to be taken as changed."""
        self.version += 1
        self._base = self.version
        self.entries.clear()
