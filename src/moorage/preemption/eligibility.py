"""Whether a pod may preempt at all."""

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.table import NodeTable
from moorage.framework import eviction
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.points import Filter
from moorage.framework.verdicts import Code, Rejection, unresolvable

NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."

_DISRUPTION_TARGET = "DisruptionTarget"
_BY_SCHEDULER = "PreemptionByScheduler"


def refusal(cycle: Cycle, diagnosis: Diagnosis) -> str | None:
    """Why the pod may not preempt, or None.

    A pod whose victims are still leaving its nominated node waits for them, unless no eviction can
    help on that node any more. Nomination and evictions are read from memory, so they count before
    the API server reports them.
    """
    if cycle.pod.spec.preemption_policy == "Never":
        return NEVER
    promised = cycle.cache.nominations.node_of(cycle.incoming.uid)
    row = cycle.table.row_of.get(promised or cycle.pod.status.nominated_node_name)
    if row is None:
        return None
    refused = diagnosis.rejection(row)
    if refused is not None and refused.code is Code.UNRESOLVABLE:
        return None
    by_priority = eviction.evictable(cycle) is None
    leaving = cycle.shared.get(eviction.BEING_EVICTED, ())
    waits = any(
        (not by_priority or info.priority < cycle.incoming.priority)
        and (uid in leaving or terminating_by_preemption(info.pod))
        for uid, info in cycle.table.pods[row].items()
    )
    return TERMINATING if waits else None


def terminating_by_preemption(pod: Pod) -> bool:
    """Whether the pod is being deleted because a scheduler preempted it."""
    if not pod.is_terminating:
        return False
    for condition in pod.status.conditions:
        if condition.type == _DISRUPTION_TARGET:
            return condition.status == "True" and condition.reason == _BY_SCHEDULER
    return False


NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling")

Rows = NDArray[np.intp]


class Explanation:
    """The refusal of each row that was tried; on all others preemption is not helpful."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._diagnosis = Diagnosis(table)
        self._known: dict[Rejection, int] = {}
        self._rows: list[int] = []
        self._codes: list[int] = []

    def refuse(self, rows: Rows, rejection: Rejection) -> None:
        """Record one reason for these rows."""
        self._diagnosis.refuse(rows, np.ones(len(rows), dtype=np.int32), lambda _: rejection)

    def refuse_by(self, cycle: Cycle, plugin: Filter, rows: Rows, codes: NDArray[np.int32]) -> None:
        """Record the codes that a plugin wrote for these rows."""
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
