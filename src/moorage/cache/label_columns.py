"""Node labels as columns: one column per label key that a plugin has asked for."""

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from moorage.cache.interner import Interner

MISSING = 0
"""The id of "this node has no such label"."""


_TRUTHS_KEPT = 512


class LabelColumn:
    """For one label key, the id of each node's value.  ids: int32 (row), read-only."""

    __slots__ = ("_ids", "_truths", "ids", "key", "values")

    def __init__(self, key: str, capacity: int) -> None:
        self.key = key
        self.values: Interner[str | None] = Interner([None])
        self._show(np.zeros(capacity, dtype=np.int32))
        self._truths: dict[Hashable, NDArray[np.bool_]] = {}

    def renumber(self) -> None:
        """Give new ids to the values that nodes have, and forget all others."""
        ids, before = self._ids, self.values.values
        held, position = np.unique(ids, return_inverse=True)
        self.values = Interner([None, *(before[each] for each in held.tolist() if each)])
        ids[:] = position + (0 if held[0] == MISSING else 1)
        self._truths.clear()

    def set(self, row: int, value: str | None) -> None:
        self._ids[row] = MISSING if value is None else self.values.intern(value)

    def grow(self, capacity: int) -> None:
        grown = np.zeros(capacity, dtype=np.int32)
        grown[: len(self.ids)] = self.ids
        self._show(grown)

    def _show(self, ids: NDArray[np.int32]) -> None:
        self._ids = ids
        self.ids = ids.view()
        self.ids.flags.writeable = False

    def truth(self, key: Hashable, holds: Callable[[str | None], bool]) -> NDArray[np.bool_]:
        """`holds` for each distinct value, called once per value.  bool (value id), read-only.

        The answers are kept under `key`; a later call adds the values seen since.
        """
        known = self._truths.get(key)
        count = len(self.values)
        if known is None or len(known) < count:
            start = 0 if known is None else len(known)
            fresh = (holds(value) for value in self.values.values[start:])
            added = np.fromiter(fresh, dtype=bool, count=count - start)
            known = added if known is None else np.concatenate((known, added))
            if len(self._truths) >= _TRUTHS_KEPT:
                self._truths.clear()
            known.flags.writeable = False
            self._truths[key] = known
        return known
