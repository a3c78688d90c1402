"""Objects with names, labels, namespaces and images replaced, annotations and messages dropped.

The name of a field tells what it holds: some fields hold labels, some hold amounts, and some hold
constants of Kubernetes. Every other text is taken for a name.
"""

import datetime
import re
from typing import Any, Final, TypeVar

import msgspec

from moorage.api.meta import KubeObject
from moorage.recording.pseudonyms import Pseudonyms

LABELS: Final = frozenset({"labels", "matchLabels", "nodeSelector"})
AMOUNTS: Final = frozenset(
    {
        "requests",
        "limits",
        "allocatable",
        "capacity",
        "overhead",
        "attributes",
        "counters",
        "consumesCounters",
        "sharedCounters",
        "maximumVolumeSize",
        "allocatedResources",
        "min",
        "max",
        "used",
    }
)
"""Fields that are kept: resources and devices must keep their names."""
WORDS: Final = frozenset(
    {
        "apiVersion",
        "apiGroup",
        "kind",
        "operator",
        "effect",
        "phase",
        "protocol",
        "expression",
        "deviceClassName",
        "resourceVersion",
        "policy",
        "mode",
        "volumeMode",
        "volumeBindingMode",
        "preemptionPolicy",
        "hostIP",
        "lastTransitionTime",
    }
)
KEYS: Final = frozenset({"topologyKey", "matchLabelKeys", "mismatchLabelKeys", "key"})
IMAGES: Final = frozenset({"image", "names"})
MACHINE: Final = "providerID"
DRIVERS: Final = frozenset({"driver", "provisioner", "attacher"})
"""Fields with the name of a driver, which is kept wherever it occurs."""
DROPPED: Final = frozenset({"message", "generateName", "addresses", "podIP", "podIPs", "hostIPs"})
DECIDING: Final = (
    "moorage.io",
    "scheduling.k8s.io",
    "scheduling.x-k8s.io",
    "volume.kubernetes.io",
    "volume.beta.kubernetes.io",
    "pv.kubernetes.io",
    "resource.kubernetes.io",
    "storage.alpha.kubernetes.io",
)
"""Annotations of these domains affect decisions: they are kept, with their values replaced."""
_WORD: Final = re.compile(r"[A-Z][A-Za-z]*")
_AMOUNT: Final = re.compile(r"[0-9.]+(m|k|[KMGTPE]i?)?")

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
    if _AMOUNT.fullmatch(text):
        return text
    kind, space, rest = text.partition(" ")
    return f"{kind} {names.key(rest)}" if space else names.key(text)


def _walk(value: Any, field: str, names: Pseudonyms) -> Any:
    if isinstance(value, dict):
        return _map(value, field, names)
    if isinstance(value, list | tuple):
        return [_walk(each, field, names) for each in value]
    return _text(value, field, names) if isinstance(value, str) else value


def _map(value: dict[str, Any], field: str, names: Pseudonyms) -> Any:
    if (field in LABELS or field == "selector") and _is_plain(value):
        return {names.label(k): names.zones(v) for k, v in value.items()}
    if field == "annotations":
        return {k: _owned(v, names) for k, v in value.items() if _decides(k)}
    if field in AMOUNTS:
        return value
    if field == "disruptedPods":
        return {names.name(k): v for k, v in value.items()}
    return {k: _walk(v, k, names) for k, v in value.items() if k not in DROPPED}


def _is_plain(selector: dict[str, Any]) -> bool:
    """Whether a selector is labels alone, as a Service's is, and not terms, as a volume's is."""
    return all(isinstance(each, str) for each in selector.values())


def _decides(key: str) -> bool:
    domain, slash, _ = key.rpartition("/")
    return bool(slash) and any(domain == each or domain.endswith(f".{each}") for each in DECIDING)


def _text(text: str, field: str, names: Pseudonyms) -> str:
    if field in KEYS:
        return names.label(text)
    if field in IMAGES:
        return names.image(text)
    if field in DRIVERS:
        names.keep(text)
        return text
    if field == MACHINE:
        scheme, found, rest = text.partition("://")
        return f"{scheme}://{names.name(rest)}" if found else names.name(text)
    if field in WORDS or _WORD.fullmatch(text) or _AMOUNT.fullmatch(text):
        return text
    return names.zones(text)
