"""Node labels as columns: one column per label key that a rule has asked for."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from moorage.cache.interning import Interner

MISSING = 0
"""The id of "this node has no such label"."""


class LabelColumn:
    """For one label key, the id of each node's value.  ids: int32 (row)."""

    __slots__ = ("ids", "key", "values")

    def __init__(self, key: str, capacity: int) -> None:
        self.key = key
        self.values: Interner[str | None] = Interner([None])
        self.ids: NDArray[np.int32] = np.zeros(capacity, dtype=np.int32)

    def set(self, row: int, value: str | None) -> None:
        self.ids[row] = MISSING if value is None else self.values.intern(value)

    def grow(self, capacity: int) -> None:
        grown = np.zeros(capacity, dtype=np.int32)
        grown[: len(self.ids)] = self.ids
        self.ids = grown

    def truth(self, holds: Callable[[str | None], bool]) -> NDArray[np.bool_]:
        """A rule on values, asked once per distinct value.  bool (value id)."""
        return np.fromiter(
            (holds(value) for value in self.values.values), dtype=bool, count=len(self.values)
        )
