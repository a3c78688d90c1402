"""Volumes, claims, storage classes."""

from typing import Final

from moorage.api import quantity
from moorage.memory.error_messages import invalid_value, not_allowed, required
from moorage.memory.validation import placement_rules
from moorage.memory.validation.field_causes import (
    Causes,
    amount,
    check_choice,
    check_selector,
    unsupported,
)
from moorage.watch.api_server import Raw

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_BINDING: Final = ("Immediate", "WaitForFirstConsumer")
VOLUME_FIELDS: Final = frozenset(
    (
        "capacity",
        "accessModes",
        "claimRef",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "mountOptions",
        "volumeMode",
        "nodeAffinity",
        "volumeAttributesClassName",
    )
)
"""The fields of a volume's spec that are no source of it."""


def check_claim(raw: Raw) -> Causes:
    """A PersistentVolumeClaim."""
    yield from check_claim_spec("spec", raw.get("spec") or {})


def check_claim_spec(field: str, spec: Raw) -> Causes:
    """The spec of a claim, or of a claim template."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{field}.accessModes", "at least 1 access mode is required")
    yield from check_selector(f"{field}.selector", spec.get("selector"))
    for mode in modes:
        yield from check_choice(f"{field}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and set(modes) & set(_ACCESS_MODES[:-1]):
        detail = "may not use ReadWriteOncePod with other access modes"
        yield not_allowed(f"{field}.accessModes", detail)
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    parsed = None if size is None else amount(size)
    if size is None:
        yield required(f"{field}.resources[storage]")
    elif parsed is not None and not quantity.parse("0") < parsed:
        yield invalid_value(f"{field}.resources[storage]", str(size), "must be greater than zero")
    yield from check_choice(f"{field}.volumeMode", spec.get("volumeMode"), _VOLUME_MODES)


def check_volume(raw: Raw) -> Causes:
    """A PersistentVolume."""
    spec = raw.get("spec") or {}
    if not spec.get("accessModes"):
        yield required("spec.accessModes")
    for mode in spec.get("accessModes") or ():
        yield from check_choice("spec.accessModes", mode, _ACCESS_MODES)
    capacity = spec.get("capacity") or {}
    if not capacity:
        yield required("spec.capacity")
    if "storage" not in capacity or len(capacity) > 1:
        yield unsupported("spec.capacity", sorted(capacity) or None, ("storage",))
    size = amount(capacity.get("storage", ""))
    if size is not None and not quantity.parse("0") < size:
        text = str(capacity["storage"])
        yield invalid_value("spec.capacity[storage]", text, "must be greater than zero")
    policy = spec.get("persistentVolumeReclaimPolicy")
    yield from check_choice("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    yield from check_choice("spec.volumeMode", spec.get("volumeMode"), _VOLUME_MODES)
    affinity = (spec.get("nodeAffinity") or {}).get("required") or {}
    for index, term in enumerate(affinity.get("nodeSelectorTerms") or ()):
        where = f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]"
        yield from placement_rules.node_term(where, term)
    if not any(spec[field] is not None for field in spec if field not in VOLUME_FIELDS):
        yield required("spec", "must specify a volume type")


def check_storage_class(raw: Raw) -> Causes:
    """A StorageClass."""
    if not raw.get("provisioner"):
        yield required("provisioner")
    yield from check_choice("reclaimPolicy", raw.get("reclaimPolicy"), ("Delete", "Retain"))
    yield from check_choice("volumeBindingMode", raw.get("volumeBindingMode"), _BINDING)
