"""Objects with names, labels, namespaces and images replaced, annotations and messages dropped.

What stays is said by the field that holds it, never by the look of a value: amounts, constants of
Kubernetes, devices and their drivers. Every other text is taken for a name.
"""

import datetime
from typing import Any, Final, TypeVar

import msgspec

from moorage.api.kinds import KINDS
from moorage.api.meta import KubeObject
from moorage.recording.pseudonyms import Pseudonyms
from moorage.recording.redaction import ANNOTATIONS, Holds

LABELS: Final = frozenset({"labels", "matchLabels", "nodeSelector", "selector"})
"""Labels, unless it is a selector of requirements, as that of a ResourceSlice."""
WHOLE: Final = frozenset(
    {
        "requests",
        "limits",
        "allocatable",
        "capacity",
        "overhead",
        "attributes",
        "derivedAttributes",
        "counters",
        "consumesCounters",
        "consumedCapacity",
        "sharedCounters",
        "maximumVolumeSize",
        "allocatedResources",
        "minResources",
        "min",
        "max",
        "used",
    }
)
"""Maps and objects that stay as they are: resources and devices must keep their names."""
CONSTANTS: Final = frozenset(
    {
        "accessModes",
        "action",
        "allocationMode",
        "apiGroup",
        "apiVersion",
        "declaredFeatures",
        "distinctAttribute",
        "effect",
        "expression",
        "extendedResourceName",
        "kind",
        "lastTransitionTime",
        "matchAttribute",
        "maxUnavailable",
        "maximumVolumeSize",
        "minAvailable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "operator",
        "phase",
        "preemptionPolicy",
        "protocol",
        "resize",
        "resource",
        "resourceVersion",
        "restartPolicy",
        "source",
        "timeAdded",
        "volumeBindingMode",
        "volumeMode",
        "whenUnsatisfiable",
    }
)
"""Fields whose text stays: an API server takes few values there, or a decision needs the text."""
CONDITIONS: Final = frozenset({"type", "status", "reason"})
KNOWN_CONDITIONS: Final = frozenset(
    {
        "",
        "True",
        "False",
        "Unknown",
        "ContainersReady",
        "DiskPressure",
        "DisruptionTarget",
        "Initialized",
        "MemoryPressure",
        "NetworkUnavailable",
        "PIDPressure",
        "PodGroupInitiallyScheduled",
        "PodReadyToStartContainers",
        "PodScheduled",
        "PreemptionByScheduler",
        "Ready",
        "Scheduled",
        "SchedulerError",
        "SchedulingGated",
        "Unschedulable",
        "schedulerLatency",
    }
)
"""What stays of types, status and reasons of conditions: anybody may add conditions of his own."""
KEYS: Final = frozenset(
    {
        "topologyKey",
        "topologyKeys",
        "matchLabelKeys",
        "mismatchLabelKeys",
        "key",
        "finalizers",
        "bindingConditions",
        "bindingFailureConditions",
    }
)
IMAGES: Final = frozenset({"image", "names"})
MACHINE: Final = "providerID"
KEPT_EVERYWHERE: Final = frozenset({"driver", "provisioner", "attacher", "deviceClassName"})
"""Fields with the name of a driver or a class of devices, which stays wherever it occurs."""
WILDCARDS: Final = frozenset({"", "0.0.0.0", "::", "127.0.0.1"})
"""Addresses of ports that stay: the others are those of somebody's machines."""
DROPPED: Final = frozenset(
    {
        "message",
        "generateName",
        "addresses",
        "podIP",
        "podIPs",
        "hostIPs",
        "clusterIP",
        "parameters",
        "volumeAttributes",
    }
)
OWNERS: Final = frozenset({*KINDS, "DaemonSet", "Deployment", "Job", "CronJob", "Node"})
"""Kinds of owners that everybody has; others tell whose software runs there."""
COMPARED: Final = ("Gt", "Lt")
"""Operators that compare labels as numbers."""

K = TypeVar("K", bound=KubeObject)


def anonymous(obj: K, names: Pseudonyms) -> K:
    """The object with its names replaced."""
    plain = msgspec.to_builtins(obj, builtin_types=(datetime.datetime,))
    changed = _walk(plain, "", names)
    return msgspec.convert(changed, type(obj), builtin_types=(datetime.datetime,))


def plain_value(value: Any, names: Pseudonyms) -> Any:
    """State of features with every text replaced, in lists, keys and values."""
    if isinstance(value, dict):
        return {names.key(k): plain_value(v, names) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(each, names) for each in value]
    return _owned(value, names) if isinstance(value, str) else value


def _owned(text: str, names: Pseudonyms) -> str:
    """`namespace/name`, maybe with a kind before it."""
    kind, space, rest = text.partition(" ")
    return f"{kind} {names.key(rest)}" if space else names.key(text)


def _walk(value: Any, field: str, names: Pseudonyms) -> Any:
    if isinstance(value, dict):
        return _map(value, field, names)
    if isinstance(value, list | tuple):
        return [_walk(each, field, names) for each in value]
    return _text(value, field, names) if isinstance(value, str) else value


def _map(value: dict[str, Any], field: str, names: Pseudonyms) -> Any:
    if field in LABELS and _is_plain(value):
        return {names.label(k): names.value(k, v) for k, v in value.items()}
    if field == "annotations":
        return dict(_annotations(value, names))
    if field in WHOLE:
        return value
    if field == "disruptedPods":
        return {names.name(k): v for k, v in value.items()}
    if "operator" in value and "key" in value:
        return _requirement(value, names)
    if field == "taints":
        key, text = value.get("key", ""), value.get("value", "")
        return {**_fields(value, names), "value": names.value(key, text)}
    if field == "ownerReferences" and value.get("kind") not in OWNERS:
        told = ("kind", "apiVersion")
        return {k: names.name(v) if k in told else v for k, v in _fields(value, names).items()}
    if field == "ports" and value.get("hostIP", "") in WILDCARDS:
        return {**_fields(value, names), **{k: v for k, v in value.items() if k == "hostIP"}}
    return _fields(value, names)


def _fields(value: dict[str, Any], names: Pseudonyms) -> dict[str, Any]:
    return {k: _walk(v, k, names) for k, v in value.items() if k not in DROPPED}


def _requirement(value: dict[str, Any], names: Pseudonyms) -> dict[str, Any]:
    """A requirement of a selector, or a toleration: a key with values."""
    key = value["key"]
    if value["operator"] in COMPARED:
        names.compare(key)
    found = _fields(value, names)
    if "values" in value:
        found["values"] = [names.value(key, each) for each in value["values"]]
    if "value" in value:
        found["value"] = names.value(key, value["value"])
    return found


def _is_plain(selector: dict[str, Any]) -> bool:
    """Whether a selector is that of a Service or pod: labels, and nothing else."""
    return all(isinstance(each, str) for each in selector.values())


def _annotations(said: dict[str, str], names: Pseudonyms) -> "list[tuple[str, str]]":
    """Annotations that Moorage reads, and those that the configuration names."""
    found = []
    for key, text in said.items():
        match ANNOTATIONS.get(key, Holds.VALUE if names.is_kept(key) else None):
            case Holds.AMOUNT:
                found.append((key, text))
            case Holds.KEY:
                found.append((key, names.label(text)))
            case Holds.NAMES:
                found.append((key, ",".join(names.key(part.strip()) for part in text.split(","))))
            case Holds.VALUE:
                found.append((key, names.value(key, text)))
    return found


def _text(text: str, field: str, names: Pseudonyms) -> str:
    if field in CONSTANTS or (field in CONDITIONS and text in KNOWN_CONDITIONS):
        return text
    if field in KEYS:
        return names.label(text)
    if field in IMAGES:
        return names.image(text)
    if field in KEPT_EVERYWHERE:
        names.keep(text)
        return text
    if field == MACHINE:
        scheme, found, rest = text.partition("://")
        return f"{scheme}://{names.name(rest)}" if found else names.name(text)
    return names.name(text)
