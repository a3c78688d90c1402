"""The admission plugins of a real API server that change where a pod goes, or refuse it.

LimitRanger, RuntimeClass, DefaultTolerationSeconds, then ResourceQuota. Priority is resolved for
every pod, with these or without (`pod_admission`).
"""

from collections import OrderedDict
from typing import Final

from moorage.memory import default_tolerations, limit_ranges, pod_defaults, runtime_classes
from moorage.memory.cluster_resources import LIMIT_RANGES, RUNTIME_CLASSES
from moorage.memory.object_store import Store
from moorage.memory.resource_quotas import ResourceQuotas
from moorage.watch.api_server import Raw

_SPECS_KEPT: Final = 1024


class AdmissionPlugins:
    """Admits new pods; a spec that many share is changed once for each namespace."""

    def __init__(self, store: Store) -> None:
        self._ranges = store.table(LIMIT_RANGES)
        self._runtimes = store.table(RUNTIME_CLASSES)
        self._quotas = ResourceQuotas(store)
        self._known: OrderedDict[tuple[int, str, int, int], tuple[Raw, Raw]] = OrderedDict()

    def changed(self, metadata: Raw, spec: Raw) -> Raw:
        """The spec as the plugins leave it; or a refusal."""
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
        """Refuse a pod for which there is no quota left."""
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
        spec = runtime_classes.with_runtime_class(self._runtimes, metadata, spec)
        return default_tolerations.with_default_tolerations(spec)
