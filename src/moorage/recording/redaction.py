"""Leaves out of a recording what may hold a secret.

Objects are decoded into the fields that scheduling reads, so environment variables, commands and
the data of Secrets are never present. What must be removed here is the annotation of
`kubectl apply`, which repeats a whole manifest, and the data of ConfigMaps.
"""

from collections.abc import Container
from enum import Enum, auto
from typing import Any, Final, TypeVar

import msgspec

from moorage.api.meta import KubeObject

Raw = dict[str, Any]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
LEFT_OUT: Final = frozenset({"ConfigMap", "Secret"})
"""Kinds that are never recorded."""


class Holds(Enum):
    """What the text of an annotation is."""

    AMOUNT = auto()
    """A number, a time, indices of devices, a constant: it says nothing of anybody."""
    VALUE = auto()
    """A number, or a name."""
    KEY = auto()
    """The key of a label."""
    NAMES = auto()
    """Names, separated by commas."""


ANNOTATIONS: Final = {
    "alibabacloud.com/gpu-card-model": Holds.AMOUNT,
    "alibabacloud.com/gpu-count": Holds.AMOUNT,
    "alibabacloud.com/gpu-index": Holds.AMOUNT,
    "alibabacloud.com/gpu-milli": Holds.AMOUNT,
    "cluster-autoscaler.kubernetes.io/safe-to-evict": Holds.AMOUNT,
    "gpu-fraction": Holds.AMOUNT,
    "gpu-fraction-num-devices": Holds.AMOUNT,
    "gpu-memory": Holds.AMOUNT,
    "hami.io/bind-phase": Holds.AMOUNT,
    "hami.io/bind-time": Holds.AMOUNT,
    "hami.io/node-nvidia-register": Holds.AMOUNT,
    "metrics.moorage.io/cpu": Holds.AMOUNT,
    "metrics.moorage.io/measured-at": Holds.AMOUNT,
    "metrics.moorage.io/memory": Holds.AMOUNT,
    "moorage.io/cpu-performance": Holds.AMOUNT,
    "moorage.io/duration-seconds": Holds.AMOUNT,
    "moorage.io/gpu-devices": Holds.AMOUNT,
    "moorage.io/gpu-milli": Holds.AMOUNT,
    "moorage.io/gpu-models": Holds.AMOUNT,
    "moorage.io/gpu-node": Holds.NAMES,
    "moorage.io/gpu-numa": Holds.AMOUNT,
    "moorage.io/gpu-nvlink": Holds.AMOUNT,
    "moorage.io/gpu-topology": Holds.AMOUNT,
    "moorage.io/gpus-per-numa": Holds.AMOUNT,
    "moorage.io/minimum-runtime-seconds": Holds.AMOUNT,
    "moorage.io/network-performance": Holds.AMOUNT,
    "moorage.io/power-watts": Holds.AMOUNT,
    "moorage.io/preferred-topology": Holds.KEY,
    "moorage.io/required-topology": Holds.KEY,
    "moorage.io/storage-performance": Holds.AMOUNT,
    "moorage.io/talks-to": Holds.NAMES,
    "moorage.io/temperature-celsius": Holds.AMOUNT,
    "moorage/price-per-hour": Holds.AMOUNT,
    "pv.kubernetes.io/bind-completed": Holds.AMOUNT,
    "pv.kubernetes.io/bound-by-controller": Holds.AMOUNT,
    "resource.kubernetes.io/extended-resource-claim": Holds.AMOUNT,
    "storage.alpha.kubernetes.io/migrated-plugins": Holds.AMOUNT,
    "volcano.sh/bind-phase": Holds.AMOUNT,
    "volcano.sh/bind-time": Holds.AMOUNT,
    "volcano.sh/node-vgpu-register": Holds.AMOUNT,
    "volume.beta.kubernetes.io/storage-class": Holds.NAMES,
    "volume.kubernetes.io/selected-node": Holds.NAMES,
}
"""The annotations that Moorage reads, but for those that a configuration names. No other leaves a
cluster in a snapshot, nor in an anonymous recording."""


K = TypeVar("K", bound=KubeObject)


def without_secrets(obj: K) -> K:
    """The object without secrets, as it may be written."""
    annotations = obj.metadata.annotations
    if LAST_APPLIED not in annotations:
        return obj
    kept = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    metadata = msgspec.structs.replace(obj.metadata, annotations=kept)
    return msgspec.structs.replace(obj, metadata=metadata)


def without_annotations(raw: Raw, more: Container[str] = ()) -> Raw:
    """An object as the API server has it, with the annotations that are read, and `more`."""
    changed = {**raw, "metadata": _read(raw.get("metadata") or {}, more)}
    spec = raw.get("spec")
    if isinstance(spec, dict) and isinstance(template := spec.get("template"), dict):
        inner = {**template, "metadata": _read(template.get("metadata") or {}, more)}
        changed["spec"] = {**spec, "template": inner}
    return changed


def _read(metadata: Raw, more: Container[str]) -> Raw:
    said = metadata.get("annotations")
    if not said:
        return metadata
    kept = {key: text for key, text in said.items() if key in ANNOTATIONS or key in more}
    return {**metadata, "annotations": kept}
