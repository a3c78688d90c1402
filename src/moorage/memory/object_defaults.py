"""Defaults an API server fills into objects other than pods."""

from typing import Any, Final

from moorage.memory import namespace_lifecycle
from moorage.memory.object_registry import ObjectRegistry
from moorage.watch.api_resources import RESOURCES, Resource
from moorage.watch.api_server import Raw

_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"

_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "storageclasses": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "priorityclasses": {"preemptionPolicy": "PreemptLowerPriority"},
}
_SPEC_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "persistentvolumes": {
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
    },
    "persistentvolumeclaims": {"volumeMode": "Filesystem"},
    "csidrivers": {"attachRequired": True, "storageCapacity": False},
}


def fill_object_defaults(registry: ObjectRegistry, resource: Resource, raw: Raw) -> Raw:
    """A copy of the object with defaults filled in."""
    if fields := _FIELDS.get(resource.plural):
        raw = _filled(raw, fields)
    if fields := _SPEC_FIELDS.get(resource.plural):
        raw = {**raw, "spec": _filled(raw.get("spec") or {}, fields)}
    if resource.plural == "persistentvolumeclaims":
        raw = _with_class(registry, raw)
    if resource.plural == "resourceclaims":
        raw = {**raw, "spec": _with_request_defaults(raw.get("spec") or {})}
    if resource.plural == "resourceclaimtemplates":
        spec = raw.get("spec") or {}
        raw = {**raw, "spec": {**spec, "spec": _with_request_defaults(spec.get("spec") or {})}}
    if resource.plural == "nodes":
        raw = _with_allocatable(raw)
    if resource.plural == "namespaces":
        metadata = raw["metadata"]
        labels = namespace_lifecycle.namespace_labels(
            metadata.get("labels") or {}, metadata["name"]
        )
        raw = {**raw, "metadata": {**metadata, "labels": labels}}
    return raw


def _with_allocatable(node: Raw) -> Raw:
    """The node with its capacity as allocatable, where it sets none."""
    status = node.get("status") or {}
    if status.get("allocatable") or not status.get("capacity"):
        return node
    return {**node, "status": {**status, "allocatable": status["capacity"]}}


def _with_request_defaults(spec: Raw) -> Raw:
    """A ResourceClaim's spec with the default allocation mode and count of each request."""
    devices = spec.get("devices") or {}
    requests = [_with_count(request) for request in devices.get("requests") or ()]
    return {**spec, "devices": {**devices, "requests": requests}} if requests else spec


def _with_count(request: Raw) -> Raw:
    if request.get("exactly"):
        return {**request, "exactly": _counted(request["exactly"])}
    if request.get("firstAvailable"):
        return {**request, "firstAvailable": [_counted(e) for e in request["firstAvailable"]]}
    return _counted(request)


def _counted(request: Raw) -> Raw:
    counted = _filled(request, {"allocationMode": "ExactCount"})
    return _filled(counted, {"count": 1}) if counted["allocationMode"] == "ExactCount" else counted


def _filled(raw: Raw, fields: dict[str, Any]) -> Raw:
    missing = {field: value for field, value in fields.items() if raw.get(field) is None}
    return {**raw, **missing}


def _with_class(registry: ObjectRegistry, claim: Raw) -> Raw:
    """The claim with the default storage class, as the DefaultStorageClass plugin gives it."""
    named = _CLASS_ANNOTATION in (claim["metadata"].get("annotations") or {})
    if named or claim["spec"].get("storageClassName") is not None:
        return claim
    name = _default_class(registry)
    return claim if name is None else {**claim, "spec": {**claim["spec"], "storageClassName": name}}


def _default_class(registry: ObjectRegistry) -> str | None:
    """The newest class marked as default; of equally new ones, the first by name."""
    marked = [
        entry.raw["metadata"]
        for entry in registry.store.table(RESOURCES["storageclasses"]).in_order()
        if (entry.raw["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    ]
    newest = max((metadata["creationTimestamp"] for metadata in marked), default=None)
    return next((m["name"] for m in marked if m["creationTimestamp"] == newest), None)
