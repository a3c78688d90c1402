"""The Priority admission plugin: classes become numbers when a pod is created."""

from typing import Final

from moorage.memory import refusals
from moorage.memory.registry import Registry
from moorage.watch.resources import PODS, PRIORITY_CLASSES
from moorage.watch.surface import Raw

SYSTEM_CRITICAL: Final = 2_000_000_000
SYSTEM_CLASSES: Final[dict[str, int]] = {
    "system-node-critical": SYSTEM_CRITICAL + 1000,
    "system-cluster-critical": SYSTEM_CRITICAL,
}
_ANY: Final = "PreemptLowerPriority"
_NO_CLASS: Final = ("", 0, _ANY)


def system_class(name: str) -> Raw:
    """A priority class that every cluster has."""
    return {
        "apiVersion": PRIORITY_CLASSES.api_version,
        "kind": PRIORITY_CLASSES.kind,
        "metadata": {"name": name},
        "value": SYSTEM_CLASSES[name],
        "preemptionPolicy": _ANY,
    }


def admit(registry: Registry, metadata: Raw, spec: Raw) -> Raw:
    """The pod's spec with priority and preemption policy as its class has them."""
    name, priority, policy = _establish(registry, metadata, spec.get("priorityClassName") or "")
    _refuse_another(metadata, spec, priority, policy)
    admitted = {**spec, "priority": priority, "preemptionPolicy": policy}
    if name:
        admitted["priorityClassName"] = name
    return admitted


def _establish(registry: Registry, metadata: Raw, name: str) -> tuple[str, int, str]:
    classes = registry.store.table(PRIORITY_CLASSES).entries
    if not name:
        default = default_class(registry)
        return _NO_CLASS if default is None else _of(default)
    entry = classes.get(name)
    if entry is None:
        raise refusals.forbidden(PODS, metadata, f"no PriorityClass with name {name} was found")
    return _of(entry.raw)


def _of(raw: Raw) -> tuple[str, int, str]:
    return raw["metadata"]["name"], raw.get("value") or 0, raw.get("preemptionPolicy") or _ANY


def default_class(registry: Registry) -> Raw | None:
    """The class of pods that name none: the global default, the lowest if there are several."""
    classes = registry.store.table(PRIORITY_CLASSES).entries.values()
    defaults = [entry.raw for entry in classes if entry.raw.get("globalDefault")]
    return min(defaults, key=lambda raw: raw.get("value") or 0, default=None)


def _refuse_another(metadata: Raw, spec: Raw, priority: int, policy: str) -> None:
    if spec.get("priority") not in (None, priority):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name"
        )
        raise refusals.forbidden(PODS, metadata, why)
    if spec.get("preemptionPolicy") not in (None, policy):
        why = (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
            f"provided in pod spec; priority admission controller computed {policy} from the given "
            "PriorityClass name"
        )
        raise refusals.forbidden(PODS, metadata, why)


def admit_class(registry: Registry, raw: Raw) -> None:
    """Refuse a second global default."""
    default = default_class(registry) if raw.get("globalDefault") else None
    if default is not None and default["metadata"]["name"] != raw["metadata"]["name"]:
        why = (
            f"PriorityClass {default['metadata']['name']} is already marked as default. "
            "Only one default can exist"
        )
        raise refusals.forbidden(PRIORITY_CLASSES, raw["metadata"], why)
