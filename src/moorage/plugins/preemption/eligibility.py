"""Whether a pod may preempt at all."""

from moorage.api.pod import Pod
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.verdicts import Code
from moorage.plugins.preemption import sparing

NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."

_DISRUPTION_TARGET = "DisruptionTarget"
_BY_SCHEDULER = "PreemptionByScheduler"


def refusal(cycle: Cycle, diagnosis: Diagnosis) -> str | None:
    """Why the pod may not preempt, or None.

    A pod whose victims are still leaving its nominated node waits for them, unless that node has
    become one that no eviction helps.
    """
    if cycle.pod.spec.preemption_policy == "Never":
        return NEVER
    row = cycle.table.row_of.get(cycle.pod.status.nominated_node_name)
    if row is None:
        return None
    refused = diagnosis.rejection(row)
    if refused is not None and refused.code is Code.UNRESOLVABLE:
        return None
    by_priority = sparing.evictable(cycle) is None
    leaving = any(
        (not by_priority or info.priority < cycle.incoming.priority)
        and terminating_by_preemption(info.pod)
        for info in cycle.table.pods[row].values()
    )
    return TERMINATING if leaving else None


def terminating_by_preemption(pod: Pod) -> bool:
    """Whether the pod is being deleted because a scheduler preempted it."""
    if not pod.is_terminating:
        return False
    for condition in pod.status.conditions:
        if condition.type == _DISRUPTION_TARGET:
            return condition.status == "True" and condition.reason == _BY_SCHEDULER
    return False
