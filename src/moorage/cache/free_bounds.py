"""Lower bounds of what every node has free, to skip checks while there is room everywhere.

While there is room everywhere, a floor answers for all nodes at once whether one of them is short
of an amount. A floor is a lower bound: it sinks with every pod that comes, does not rise when one
goes, and is measured afresh when it stands in the way and enough has changed to be worth it.
"""

import numpy as np
from numpy.typing import NDArray

from moorage.api import int64

_WORTH_MEASURING = 4
"""A floor is measured again after as many changes as one row in this many."""


class FreeBound:
    """A lower bound of what the rows in use have free; as high as can be while there are none."""

    __slots__ = ("_measured", "bound")

    def __init__(self, bound: int = int64.MAX) -> None:
        self.bound = bound
        self._measured: int | None = None

    def sink(self, free: int) -> None:
        """Some row has no more than this left."""
        if free < self.bound:
            self.bound = free

    def is_due(self, version: int, rows: int) -> bool:
        """Whether it is worth measuring again; `version` counts the changes to any row."""
        last = self._measured
        return last is None or version - last >= rows // _WORTH_MEASURING

    def measure(self, free: NDArray[np.int64], version: int) -> None:
        """Rise or sink to what the rows in use have free now."""
        self.bound = int(free.min(initial=int64.MAX))
        self._measured = version
