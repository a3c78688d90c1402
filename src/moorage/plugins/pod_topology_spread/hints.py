"""Which events may let a pod through that hard constraints refused."""

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.events import Hint
from moorage.plugins.pod_topology_spread.constraints import Constraint


def after_assigned_pod_change(
    pod: Pod, constraints: tuple[Constraint, ...], old: Pod | None, new: Pod | None
) -> Hint:
    """A pod on a node matters if it is of the same namespace and selected, before or after."""
    if any(each is not None and not _involved(each, pod) for each in (old, new)):
        return Hint.SKIP
    if old is not None and new is not None:
        return after_label_change(constraints, old, new)
    changed = new if new is not None else old
    assert changed is not None
    selected = any(each.selector.matches(changed.labels) for each in constraints)
    return Hint.QUEUE if selected else Hint.SKIP


def after_target_pod_change(constraints: tuple[Constraint, ...], old: Pod, new: Pod) -> Hint:
    """The pod itself changed: tolerations matter where taints decide which nodes count."""
    if old.spec.tolerations != new.spec.tolerations and any(map(_honours_taints, constraints)):
        return Hint.QUEUE
    return after_label_change(constraints, old, new)


def after_label_change(constraints: tuple[Constraint, ...], old: Pod, new: Pod) -> Hint:
    if old.labels == new.labels:
        return Hint.SKIP
    changed = any(
        each.selector.matches(old.labels) != each.selector.matches(new.labels)
        for each in constraints
    )
    return Hint.QUEUE if changed else Hint.SKIP


def after_node_change(
    constraints: tuple[Constraint, ...], old: Node | None, new: Node | None
) -> Hint:
    """A node matters if it has all topology keys, before or after, and its part in them changed."""
    was = old is not None and _has_all_keys(old, constraints)
    now = new is not None and _has_all_keys(new, constraints)
    if old is None or new is None:
        return Hint.QUEUE if was or now else Hint.SKIP
    if was != now:
        return Hint.QUEUE
    moved = any(
        old.labels.get(each.topology_key, "") != new.labels.get(each.topology_key, "")
        for each in constraints
    )
    return Hint.QUEUE if now and (moved or old.taints != new.taints) else Hint.SKIP


def _involved(changed: Pod, pod: Pod) -> bool:
    placed = changed.spec.node_name or changed.status.nominated_node_name
    return bool(placed) and changed.namespace == pod.namespace


def _honours_taints(constraint: Constraint) -> bool:
    return constraint.included is not None and constraint.included.tolerations is not None


def _has_all_keys(node: Node, constraints: tuple[Constraint, ...]) -> bool:
    return all(each.topology_key in node.labels for each in constraints)
