"""A pod from a workload's template."""

import hashlib

import msgspec

from moorage.memory.controllers.owned_pods import OwnerKey
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Raw

_HASH_LENGTH = 9


def reference(resource: Resource, owner: Raw) -> Raw:
    """An owner reference with `controller: true` to the workload."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def key_of(resource: Resource, owner: Raw) -> OwnerKey:
    """Kind, namespace and name of a workload."""
    return resource.kind, owner["metadata"].get("namespace", ""), owner["metadata"]["name"]


def template_hash(template: Raw) -> str:
    """A hash of the template, for the names and labels of the objects created from it."""
    text = msgspec.json.encode(template, order="deterministic")
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()[:_HASH_LENGTH]


def pod_from(
    resource: Resource,
    owner: Raw,
    name: str,
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    spec: Raw | None = None,
) -> Raw:
    """A pod of a workload, with the given spec or else the template's."""
    template = owner["spec"]["template"]
    metadata = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": {**(metadata.get("labels") or {}), **(labels or {})},
            "annotations": {**(metadata.get("annotations") or {}), **(annotations or {})},
            "ownerReferences": [reference(resource, owner)],
        },
        "spec": template["spec"] if spec is None else spec,
    }


def wanted(raw: Raw, field: str = "replicas", otherwise: int = 1) -> int:
    """The requested number; `otherwise` if the field is missing or null."""
    count = raw["spec"].get(field)
    return otherwise if count is None else int(count)
