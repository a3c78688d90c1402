"""Why preemption does not help: one reason per node, counted like any other refusal."""

import numpy as np
from numpy.typing import NDArray

from moorage.cache.table import NodeTable
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.points import Filter
from moorage.framework.verdicts import Rejection, unresolvable

NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling")

Rows = NDArray[np.intp]


class Explanation:
    """What became of each row that was tried; all others are beyond help."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._diagnosis = Diagnosis(table)
        self._known: dict[Rejection, int] = {}
        self._rows: list[int] = []
        self._codes: list[int] = []

    def refuse(self, rows: Rows, rejection: Rejection) -> None:
        """These rows have one reason in common."""
        self._diagnosis.refuse(rows, np.ones(len(rows), dtype=np.int32), lambda _: rejection)

    def refuse_by(self, cycle: Cycle, plugin: Filter, rows: Rows, codes: NDArray[np.int32]) -> None:
        """A plugin wrote these codes, and knows what they mean."""
        self._diagnosis.refuse(rows, codes, lambda code: plugin.rejection(cycle, cycle.pod, code))

    def refuse_one(self, row: int, rejection: Rejection) -> None:
        self._rows.append(row)
        self._codes.append(self._known.setdefault(rejection, len(self._known)))

    def message(self) -> str:
        """The FailedScheduling text of a preemption that found nothing."""
        reasons = list(self._known)
        self._diagnosis.refuse(
            np.asarray(self._rows, dtype=np.intp),
            np.asarray(self._codes, dtype=np.int32),
            reasons.__getitem__,
        )
        self.refuse(np.flatnonzero(self._table.alive[: self._table.rows]), NOT_HELPFUL)
        return self._diagnosis.message()
