"""Rows whose attached volumes were counted, and what each count was made of."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.plugins.node_volume_limits_resolving import Name

NOWHERE: Final = -1
"""No row at all."""


class Counted(NamedTuple):
    """What a node has attached: volumes of its pods, and all; or why that cannot be told."""

    by_pods: set[Name]
    attached: set[Name]
    problem: str = ""


class Rows:
    """Counts by row, and columns over those rows that are `known`."""

    def __init__(self) -> None:
        self.known: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.problems: dict[int, str] = {}
        """Rows where counting failed, and why."""
        self._counted: dict[int, Counted] = {}
        self._counts: dict[str, NDArray[np.int64]] = {}
        self._holders: dict[Name, set[int]] = {}
        self._readers: dict[tuple[type[Any], str], set[int]] = {}

    def count(self, driver: str) -> NDArray[np.int64]:
        """(row) The volumes of a driver that are attached, where that is known."""
        found = self._counts.get(driver)
        return found if found is not None else np.zeros(len(self.known), dtype=np.int64)

    def holders(self, name: Name) -> set[int]:
        """Rows with a pod that has the volume."""
        return self._holders.get(name, set())

    def put(self, row: int, counted: Counted) -> None:
        self.known[row] = True
        self._counted[row] = counted
        if counted.problem:
            self.problems[row] = counted.problem
        for name in counted.by_pods:
            self._holders.setdefault(name, set()).add(row)
        for driver, _ in counted.attached:
            if driver not in self._counts:
                self._counts[driver] = np.zeros(len(self.known), dtype=np.int64)
            self._counts[driver][row] += 1

    def depends(self, row: int, kind: type[Any], key: str) -> None:
        """Note that the count of a row read an object, which may not even be there."""
        self._readers.setdefault((kind, key), set()).add(row)

    def changed(self, kind: type[Any], key: str) -> None:
        """Forget the counts that read an object."""
        for row in self._readers.pop((kind, key), ()):
            self.forget(row)

    def forget(self, row: int) -> None:
        counted = self._counted.pop(row, None)
        if counted is None:
            return
        self.known[row] = False
        self.problems.pop(row, None)
        for name in counted.by_pods:
            self._holders[name].discard(row)
        for driver, _ in counted.attached:
            self._counts[driver][row] = 0

    def forget_all(self) -> None:
        self.known.fill(False)
        self.problems.clear()
        for kept in (self._counted, self._counts, self._holders, self._readers):
            kept.clear()

    def grow(self, capacity: int) -> None:
        if capacity != len(self.known):
            self.forget_all()
            self.known = np.zeros(capacity, dtype=bool)
