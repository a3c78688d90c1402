"""Lower bounds of what every node has free, to skip checks while there is room everywhere.

A request that is not above the bound fits every node, so that no node needs to be checked. The
bound sinks when a pod comes, and does not rise when a pod goes. It is measured afresh when it is
too low for a request and enough rows have changed.
"""

import numpy as np
from numpy.typing import NDArray

from moorage.api import int64

_WORTH_MEASURING = 4
"""A bound is measured again after as many changes as there are rows, divided by this."""


class FreeBound:
    """A lower bound of what the rows in use have free; int64's maximum while there are none."""

    __slots__ = ("_measured", "bound")

    def __init__(self, bound: int = int64.MAX) -> None:
        self.bound = bound
        self._measured: int | None = None

    def sink(self, free: int) -> None:
        """Lower the bound: some row has only this much free."""
        if free < self.bound:
            self.bound = free

    def is_due(self, version: int, rows: int) -> bool:
        """Whether it is worth measuring again; `version` counts the changes of all rows."""
        last = self._measured
        return last is None or version - last >= rows // _WORTH_MEASURING

    def measure(self, free: NDArray[np.int64], version: int) -> None:
        """Set the bound to the least of `free`, what the rows in use have free now."""
        self.bound = int(free.min(initial=int64.MAX))
        self._measured = version
