"""Validation of new pods and of pod updates."""

from typing import Any, Final

from moorage.memory import conditions, error_messages
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"
_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def checked_new(pod: Raw, now: str) -> Raw:
    """A pod to be created, validated; a gated pod gets the condition SchedulingGated."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    if not spec.get("containers"):
        raise error_messages.invalid(PODS, name, error_messages.required("spec.containers"))
    if not spec.get("schedulingGates") or conditions.find_condition(pod["status"], "PodScheduled"):
        return pod
    if spec.get("nodeName"):
        detail = "cannot be set until all schedulingGates have been cleared"
        raise error_messages.invalid(
            PODS, name, error_messages.not_allowed("spec.nodeName", detail)
        )
    details = {"reason": "SchedulingGated", "message": GATED_MESSAGE}
    status = conditions.set_condition(pod["status"], now, "PodScheduled", "False", **details)
    return {**pod, "status": status}


def check_update(old: Raw, new: Raw) -> None:
    """Refuse an update of a field that is immutable once the pod exists."""
    if old["spec"] == new["spec"]:
        return
    causes = [
        *_containers_kept(old["spec"], new["spec"]),
        *_tolerations_kept(old["spec"], new["spec"]),
        *_gates_not_added(old["spec"], new["spec"]),
    ] or _rest_kept(old["spec"], new["spec"])
    if causes:
        raise error_messages.invalid(PODS, old["metadata"]["name"], *causes)


def check_status_update(old: Raw, new: Raw) -> None:
    """Refuse to nominate a node for a bound pod."""
    nominated = (new.get("status") or {}).get("nominatedNodeName") or ""
    before = (old.get("status") or {}).get("nominatedNodeName") or ""
    if nominated and nominated != before and old["spec"].get("nodeName"):
        detail = "may not be set on pods that are already bound to a node"
        cause = error_messages.not_allowed("status.nominatedNodeName", detail)
        raise error_messages.invalid(PODS, old["metadata"]["name"], cause)


def _containers_kept(old: Raw, new: Raw) -> list[str]:
    detail = "pod updates may not add or remove containers"
    return [
        error_messages.not_allowed(f"spec.{field}", detail)
        for field in ("containers", "initContainers")
        if len(old.get(field) or ()) != len(new.get(field) or ())
    ]


def _tolerations_kept(old: Raw, new: Raw) -> list[str]:
    kept = [_timeless(toleration) for toleration in new.get("tolerations") or ()]
    if all(_timeless(toleration) in kept for toleration in old.get("tolerations") or ()):
        return []
    detail = "existing toleration can not be modified except its tolerationSeconds"
    return [error_messages.not_allowed("spec.tolerations", detail)]


def _timeless(toleration: Raw) -> Raw:
    return {field: value for field, value in toleration.items() if field != "tolerationSeconds"}


def _gates_not_added(old: Raw, new: Raw) -> list[str]:
    known = {gate.get("name") for gate in old.get("schedulingGates") or ()}
    return [
        error_messages.not_allowed(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
        )
        for index, gate in enumerate(new.get("schedulingGates") or ())
        if gate.get("name") not in known
    ]


def _rest_kept(old: Raw, new: Raw) -> list[str]:
    if old.get("schedulingGates"):
        if cause := _selector_narrowed(old, new):
            return [cause]
        old, new = _without_node_choice(old), _without_node_choice(new)
    changed = sorted(field for field in {*old, *new} if _fixed(field, old) != _fixed(field, new))
    if not changed:
        return []
    detail = f"pod updates may not change fields other than {_UPDATABLE}\nchanged: "
    return [
        error_messages.not_allowed("spec", detail + ", ".join(f"spec.{field}" for field in changed))
    ]


def _fixed(field: str, spec: Raw) -> Any:
    """The immutable part of a field of the spec."""
    value = spec.get(field)
    if field in ("tolerations", "schedulingGates", "activeDeadlineSeconds"):
        return None
    if field in ("containers", "initContainers"):
        return [{**container, "image": ""} for container in value or ()]
    return value or None


def _selector_narrowed(old: Raw, new: Raw) -> str | None:
    before, after = old.get("nodeSelector") or {}, new.get("nodeSelector") or {}
    if before.items() <= after.items():
        return None
    detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    return error_messages.invalid_value("spec.nodeSelector", after, detail)


def _without_node_choice(spec: Raw) -> Raw:
    """A gated pod's spec without the mutable node selector and node affinity."""
    affinity = {**(spec.get("affinity") or {})}
    affinity.pop("nodeAffinity", None)
    return {**spec, "nodeSelector": None, "affinity": affinity}
