"""The Priority admission plugin: resolves priority classes to numbers."""

from typing import Final

from moorage.memory import error_messages
from moorage.memory.versioned_store import Table
from moorage.watch.api_resources import PODS, PRIORITY_CLASSES
from moorage.watch.api_server import Raw

SYSTEM_CRITICAL: Final = 2_000_000_000
SYSTEM_CLASSES: Final[dict[str, int]] = {
    "system-node-critical": SYSTEM_CRITICAL + 1000,
    "system-cluster-critical": SYSTEM_CRITICAL,
}
_ANY: Final = "PreemptLowerPriority"
NO_CLASS: Final[Raw] = {"priority": 0, "preemptionPolicy": _ANY}
"""What a pod without a class gets if there is no default class."""


def system_class(name: str) -> Raw:
    """A priority class that every cluster has."""
    return {
        "apiVersion": PRIORITY_CLASSES.api_version,
        "kind": PRIORITY_CLASSES.kind,
        "metadata": {"name": name},
        "value": SYSTEM_CLASSES[name],
        "preemptionPolicy": _ANY,
    }


def admit_pod_priority(classes: Table, metadata: Raw, spec: Raw) -> Raw:
    """The pod's spec with the priority and preemption policy of its class."""
    name, priority, policy = _establish(classes, metadata, spec.get("priorityClassName") or "")
    _refuse_another(metadata, spec, priority, policy)
    admitted = {**spec, "priority": priority, "preemptionPolicy": policy}
    if name:
        admitted["priorityClassName"] = name
    return admitted


def _establish(classes: Table, metadata: Raw, name: str) -> tuple[str, int, str]:
    if not name:
        default = default_class(classes)
        return ("", 0, _ANY) if default is None else _of(default)
    entry = classes.entries.get(name)
    if entry is None:
        raise error_messages.forbidden(
            PODS, metadata, f"no PriorityClass with name {name} was found"
        )
    return _of(entry.raw)


def _of(raw: Raw) -> tuple[str, int, str]:
    return raw["metadata"]["name"], raw.get("value") or 0, raw.get("preemptionPolicy") or _ANY


def default_class(classes: Table) -> Raw | None:
    """The class of pods that name none: the global default; of several, the lowest."""
    entries = classes.entries.values()
    defaults = [entry.raw for entry in entries if entry.raw.get("globalDefault")]
    return min(defaults, key=lambda raw: raw.get("value") or 0, default=None)


def _refuse_another(metadata: Raw, spec: Raw, priority: int, policy: str) -> None:
    if spec.get("priority") not in (None, priority):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name"
        )
        raise error_messages.forbidden(PODS, metadata, why)
    if spec.get("preemptionPolicy") not in (None, policy):
        why = (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
            f"provided in pod spec; priority admission controller computed {policy} from the given "
            "PriorityClass name"
        )
        raise error_messages.forbidden(PODS, metadata, why)


def admit_priority_class(classes: Table, raw: Raw) -> None:
    """Refuse a second global default."""
    default = default_class(classes) if raw.get("globalDefault") else None
    if default is not None and default["metadata"]["name"] != raw["metadata"]["name"]:
        why = (
            f"PriorityClass {default['metadata']['name']} is already marked as default. "
            "Only one default can exist"
        )
        raise error_messages.forbidden(PRIORITY_CLASSES, raw["metadata"], why)
