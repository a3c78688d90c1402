"""The admission plugins of a real API server that change where a pod goes, or refuse it.

LimitRanger, RuntimeClass, DefaultTolerationSeconds, then ResourceQuota. Priority is resolved for
every pod, with these or without (`pod_admission`).
"""

from collections import OrderedDict
from typing import Final

import msgspec

from moorage.api.taints import NO_EXECUTE, Taint, Toleration, tolerates
from moorage.memory import error_messages, limit_ranges, pod_defaults
from moorage.memory.cluster_resources import LIMIT_RANGES, RUNTIME_CLASSES
from moorage.memory.resource_quotas import ResourceQuotas
from moorage.memory.versioned_store import Store, Table
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

TOLERATION_SECONDS: Final = 300
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


_SPECS_KEPT: Final = 1024


class AdmissionPlugins:
    """Admits new pods. A spec that many pods of a namespace share is changed once."""

    def __init__(self, store: Store) -> None:
        self._ranges = store.table(LIMIT_RANGES)
        self._runtimes = store.table(RUNTIME_CLASSES)
        self._quotas = ResourceQuotas(store)
        self._known: OrderedDict[tuple[int, str, int, int], tuple[Raw, Raw]] = OrderedDict()

    def changed(self, metadata: Raw, spec: Raw) -> Raw:
        """The spec after the plugins have changed it; raises an ApiError if a plugin refuses it."""
        versions = self._ranges.history.end, self._runtimes.history.end
        key = (id(spec), metadata["namespace"], *versions)
        known = self._known.get(key)
        if known is not None:
            return known[1]
        changed = self._change(metadata, spec)
        self._known[key] = (spec, changed)
        if len(self._known) > _SPECS_KEPT:
            self._known.popitem(last=False)
        return changed

    def admit(self, metadata: Raw, spec: Raw) -> None:
        """Refuse a pod that exceeds a quota of its namespace."""
        self._quotas.admit(metadata, spec)

    def _change(self, metadata: Raw, spec: Raw) -> Raw:
        prefix = f"{metadata['namespace']}/"
        limits = [
            limit
            for key, entry in self._ranges.entries.items()
            if key.startswith(prefix)
            for limit in limit_ranges.container_limits(entry.raw)
        ]
        spec = limit_ranges.with_default_resources(pod_defaults.fill_pod_defaults(spec), limits)
        limit_ranges.check_bounds(metadata, spec, limits)
        spec = _with_runtime_class(self._runtimes, metadata, spec)
        return _with_default_tolerations(spec)


def _with_runtime_class(classes: Table, metadata: Raw, spec: Raw) -> Raw:
    """RuntimeClass: the spec with the class's overhead, node selector and tolerations."""
    name = spec.get("runtimeClassName")
    if not name:
        return spec
    entry = classes.entries.get(name)
    if entry is None:
        raise error_messages.forbidden(
            PODS, metadata, f'pod rejected: RuntimeClass "{name}" not found'
        )
    filled = {**spec}
    overhead = (entry.raw.get("overhead") or {}).get("podFixed")
    if spec.get("overhead") not in (None, {}, overhead):
        why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise error_messages.forbidden(PODS, metadata, why)
    if overhead:
        filled["overhead"] = overhead
    scheduling = entry.raw.get("scheduling") or {}
    filled["nodeSelector"] = _merged_selector(metadata, spec, scheduling.get("nodeSelector") or {})
    added = scheduling.get("tolerations") or ()
    known = spec.get("tolerations") or []
    filled["tolerations"] = [*known, *(each for each in added if each not in known)]
    return filled


def _merged_selector(metadata: Raw, spec: Raw, selector: dict[str, str]) -> dict[str, str]:
    own = spec.get("nodeSelector") or {}
    for key, value in selector.items():
        if own.get(key, value) != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
            raise error_messages.forbidden(PODS, metadata, why)
    return {**own, **selector}


def _with_default_tolerations(spec: Raw) -> Raw:
    """DefaultTolerationSeconds: tolerate an unreachable node for five minutes, by default."""
    own = spec.get("tolerations") or []
    known = [msgspec.convert(each, Toleration) for each in own]
    missing = [
        {
            "key": key,
            "operator": "Exists",
            "effect": NO_EXECUTE,
            "tolerationSeconds": TOLERATION_SECONDS,
        }
        for key in _TAINTS
        if not any(tolerates(each, Taint(key=key, effect=NO_EXECUTE)) for each in known)
    ]
    return {**spec, "tolerations": [*own, *missing]} if missing else spec
