"""Patches of a pod's status: PodScheduled, DisruptionTarget and nominatedNodeName."""

from datetime import UTC, datetime
from typing import Any, Final, Literal

from moorage.api.pod import Pod

Reason = Literal["Unschedulable", "SchedulerError"]
PREEMPTED: Final = "PreemptionByScheduler"


def not_scheduled_patch(pod: Pod, reason: Reason, message: str, now: float) -> dict[str, Any]:
    """A patch that says why the pod is not scheduled."""
    return _status(conditions=[_condition("PodScheduled", "False", reason, message, pod, now)])


def says_not_scheduled(pod: Pod, reason: Reason, message: str) -> bool:
    """Whether the pod's status says so already."""
    said = ("PodScheduled", "False", reason, message)
    return any(
        (each.type, each.status, each.reason, each.message) == said
        for each in pod.status.conditions
    )


def disruption_target_patch(
    pod: Pod, scheduler: str, now: float, preemptor: str = "pod"
) -> dict[str, Any]:
    """A patch that marks a victim of preemption."""
    message = preemption_message(scheduler, preemptor)
    marked = _condition("DisruptionTarget", "True", PREEMPTED, message, pod, now)
    return _status(conditions=[marked])


def preemption_message(scheduler: str, preemptor: str) -> str:
    """The message of a victim's DisruptionTarget condition."""
    return f"{scheduler}: preempting to accommodate a higher priority {preemptor}"


def is_preempted(pod: Pod) -> bool:
    """Whether a pod is marked as a victim of preemption."""
    return any(
        (each.type, each.status, each.reason) == ("DisruptionTarget", "True", PREEMPTED)
        for each in pod.status.conditions
    )


def nomination_patch(node: str) -> dict[str, Any]:
    """A patch that sets nominatedNodeName, or clears it if `node` is empty."""
    return _status(nominatedNodeName=node or None)


def _status(**fields: Any) -> dict[str, Any]:
    """A patch of a pod that changes these fields of its status."""
    return {"status": fields}


def _condition(
    type_: str, status: str, reason: str, message: str, pod: Pod, now: float
) -> dict[str, Any]:
    """A condition; its lastTransitionTime is kept if the pod has it with the same status."""
    told = ((each.type, each.status, each.last_transition_time) for each in pod.status.conditions)
    since = next((at for *what, at in told if what == [type_, status]), None)
    condition: dict[str, Any] = {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or _time(now),
        "lastProbeTime": None,
    }
    if pod.metadata.generation:
        condition["observedGeneration"] = pod.metadata.generation
    return condition


def _time(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
