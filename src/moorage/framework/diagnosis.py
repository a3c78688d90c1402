"""Why no node fits: one entry per node, kept as columns until someone asks for names."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moorage.cache.table import NodeTable
from moorage.framework.verdicts import Code, Rejection

NARROWED_OUT = "PreFilterResult"
"""The plugin named for nodes outside the set that PreFilter plugins narrowed the search to."""


class Diagnosis:
    """The outcome of filtering, node by node.

    `slot` (row) is the number of the `refuse` call that refused the row, -1 if none did. `code`
    (row) is the code it wrote, which that call's `decode` explains.
    """

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.pre_filter: Rejection | None = None
        self.unschedulable_plugins: set[str] = set()
        self.pending_plugins: set[str] = set()
        self.post_filter_message = ""
        self._decoders: list[Callable[[int], Rejection]] = []
        self._seen: dict[tuple[int, int], Rejection] = {}
        self._counts: dict[tuple[int, int], int] = {}
        """(slot, code) -> number of rows."""

    @cached_property
    def slot(self) -> NDArray[np.int32]:
        return np.full(self.table.rows, -1, dtype=np.int32)

    @cached_property
    def code(self) -> NDArray[np.int32]:
        return np.zeros(self.table.rows, dtype=np.int32)

    def refuse(
        self, rows: NDArray[np.intp], codes: NDArray[np.int32], decode: Callable[[int], Rejection]
    ) -> None:
        """Record refusals, with codes that `decode` explains; rows refused earlier are left out."""
        fresh = self.slot[rows] < 0
        slot, written = len(self._decoders), codes[fresh]
        self.slot[rows[fresh]] = slot
        self.code[rows[fresh]] = written
        self._decoders.append(decode)
        for code, count in _histogram(written):
            self._counts[(slot, code & 0xFFFFFFFF)] = count

    def rejection(self, row: int) -> Rejection | None:
        if self.pre_filter is not None:
            return self.pre_filter
        slot = int(self.slot[row])
        return None if slot < 0 else self._decode(slot, int(self.code[row]))

    def rejections(self) -> Iterator[tuple[int, Rejection]]:
        """Every refused row with its reason."""
        for row in self.table.row_of.values():
            rejection = self.rejection(row)
            if rejection is not None:
                yield row, rejection

    def rows_with(self, code: Code) -> NDArray[np.intp]:
        """Rows refused with a status code."""
        if self.pre_filter is not None:
            everything = np.fromiter(self.table.row_of.values(), dtype=np.intp)
            return everything if self.pre_filter.code is code else everything[:0]
        return self._rows_where(lambda rejection: rejection.code is code)

    def rows_refused_for(self, plugin: str, reason: str) -> NDArray[np.intp]:
        """Rows that a plugin was the first to refuse in Filter, for this reason."""
        return self._rows_where(lambda why: why.plugin == plugin and reason in why.reasons)

    def _rows_where(self, holds: Callable[[Rejection], bool]) -> NDArray[np.intp]:
        chosen = np.zeros(len(self.slot), dtype=bool)
        for slot, value in self._counts:
            if holds(self._decode(slot, value)):
                chosen |= (self.slot == slot) & (self.code == value)
        return np.flatnonzero(chosen)

    def distinct(self) -> list[Rejection]:
        """The different rejections among the rows."""
        return [self._decode(slot, code) for slot, code in self._counts]

    def counts(self) -> list[tuple[Rejection, int]]:
        """The different rejections, and how many nodes each stands for."""
        if self.pre_filter is not None:
            return [(self.pre_filter, len(self.table))]
        return [(self._decode(*pair), count) for pair, count in self._counts.items()]

    def reasons(self) -> Counter[str]:
        """How many nodes gave each reason."""
        counted: Counter[str] = Counter()
        for (slot, code), count in self._counts.items():
            for reason in self._decode(slot, code).reasons:
                counted[reason] += count
        return counted

    def message(self) -> str:
        """The FailedScheduling text, exactly as kube-scheduler writes it."""
        if self.pre_filter is not None and self.pre_filter.message:
            why = self.pre_filter.message
        else:
            why = _told(self.reasons())
        text = _unavailable(len(self.table), why)
        return f"{text} {self.post_filter_message}" if self.post_filter_message else text

    def _decode(self, slot: int, code: int) -> Rejection:
        found = self._seen.get((slot, code))
        if found is None:
            found = self._seen[(slot, code)] = self._decoders[slot](code)
        return found


def message_of_one_node(rejection: Rejection) -> str:
    """The FailedScheduling text if the pod was refused on the node chosen for it."""
    return _unavailable(1, _told(Counter(rejection.reasons)))


def _told(reasons: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))


def _unavailable(nodes: int, why: str) -> str:
    text = f"0/{nodes} nodes are available:"
    return f"{text} {why}." if why else text


def _histogram(codes: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """The different codes and how often each occurs; mostly there is one."""
    if not len(codes):
        return
    least = int(codes.min())
    if least == int(codes.max()):
        yield least, len(codes)
    else:
        yield from np.stack(np.unique(codes, return_counts=True), axis=1).tolist()
