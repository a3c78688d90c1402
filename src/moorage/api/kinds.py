"""The kinds of objects scheduling reads: their groups, their paths, their structs."""

from typing import Final, NamedTuple

from moorage.api.cluster_objects import (
    ConfigMap,
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import CompositePodGroup, ElasticQuota, PodGroup
from moorage.api.resource_claims import ResourceClaim, ResourceClaimTemplate
from moorage.api.resource_slices import DeviceClass, DeviceTaintRule, ResourceSlice
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)


class Kind(NamedTuple):
    """A kind: `api_version` is the one to request; objects of any of `groups` are read as it."""

    name: str
    api_version: str
    plural: str
    namespaced: bool
    struct: type[KubeObject]
    groups: tuple[str, ...]


def _kind(
    struct: type[KubeObject], api_version: str, plural: str, *also: str, namespaced: bool = True
) -> Kind:
    groups = (group_of(api_version), *also)
    return Kind(struct.__name__, api_version, plural, namespaced, struct, groups)


def group_of(api_version: str) -> str:
    """Return the group of an apiVersion; the core group has the empty name."""
    return api_version.rpartition("/")[0]


KINDS: Final = {
    kind.name: kind
    for kind in (
        _kind(Pod, "v1", "pods"),
        _kind(Node, "v1", "nodes", namespaced=False),
        _kind(Namespace, "v1", "namespaces", namespaced=False),
        _kind(ConfigMap, "v1", "configmaps"),
        _kind(Service, "v1", "services"),
        _kind(ReplicationController, "v1", "replicationcontrollers"),
        _kind(ReplicaSet, "apps/v1", "replicasets"),
        _kind(StatefulSet, "apps/v1", "statefulsets"),
        _kind(PodDisruptionBudget, "policy/v1", "poddisruptionbudgets"),
        _kind(PriorityClass, "scheduling.k8s.io/v1", "priorityclasses", namespaced=False),
        _kind(PersistentVolume, "v1", "persistentvolumes", namespaced=False),
        _kind(PersistentVolumeClaim, "v1", "persistentvolumeclaims"),
        _kind(StorageClass, "storage.k8s.io/v1", "storageclasses", namespaced=False),
        _kind(CSINode, "storage.k8s.io/v1", "csinodes", namespaced=False),
        _kind(CSIDriver, "storage.k8s.io/v1", "csidrivers", namespaced=False),
        _kind(CSIStorageCapacity, "storage.k8s.io/v1", "csistoragecapacities"),
        _kind(VolumeAttachment, "storage.k8s.io/v1", "volumeattachments", namespaced=False),
        _kind(ResourceSlice, "resource.k8s.io/v1", "resourceslices", namespaced=False),
        _kind(DeviceClass, "resource.k8s.io/v1", "deviceclasses", namespaced=False),
        _kind(DeviceTaintRule, "resource.k8s.io/v1", "devicetaintrules", namespaced=False),
        _kind(ResourceClaim, "resource.k8s.io/v1", "resourceclaims"),
        _kind(ResourceClaimTemplate, "resource.k8s.io/v1", "resourceclaimtemplates"),
        _kind(PodGroup, "scheduling.x-k8s.io/v1alpha1", "podgroups", "scheduling.k8s.io"),
        _kind(CompositePodGroup, "scheduling.k8s.io/v1alpha3", "compositepodgroups"),
        _kind(ElasticQuota, "scheduling.x-k8s.io/v1alpha1", "elasticquotas"),
    )
}
"""Every kind by name."""


def find(api_version: str, kind: str) -> Kind | None:
    """Return the kind of an object, or None if scheduling does not read it.

    Versions are not distinguished: all versions of a group share the fields scheduling reads.
    """
    found = KINDS.get(kind)
    return found if found is not None and group_of(api_version) in found.groups else None
