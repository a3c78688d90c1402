"""The API resources a scheduler reads and writes: group, version, plural, kind and URL path."""

from typing import Final

import msgspec

from moorage.api.outside_text import url_path


class Resource(msgspec.Struct, frozen=True):
    """One kind of object as an API server serves it.

    If `only` is set, it is the key of the one object that is listed and watched.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    only: str = ""

    def one(self, key: str) -> "Resource":
        """The resource limited to the object of this key."""
        return msgspec.structs.replace(self, only=key)

    @property
    def whole(self) -> "Resource":
        """The resource without a limit: all objects of the kind."""
        return msgspec.structs.replace(self, only="") if self.only else self

    @property
    def selector(self) -> str:
        """The field selector of its lists and watches."""
        return f"metadata.name={self.only.rpartition('/')[2]}" if self.only else ""

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: `v1`, `storage.k8s.io/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """Its name in API server messages: `pods`, `storageclasses.storage.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def key(self, namespace: str, name: str) -> str:
        """`namespace/name`, or `name` for cluster-wide resources, as `KubeObject.key` gives it."""
        return f"{namespace}/{name}" if self.namespaced else name

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of one of its subresources."""
        namespace = namespace or self.only.rpartition("/")[0]
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces{url_path(namespace)}" if self.namespaced and namespace else ""
        return f"{root}{scope}/{self.plural}{url_path(*filter(None, (name, subresource)))}"


def _resource(group_version: str, plural: str, kind: str, *, namespaced: bool = True) -> Resource:
    group, _, version = group_version.rpartition("/")
    return Resource(group, version, plural, kind, namespaced)


_ALL: Final = (
    _resource("v1", "namespaces", "Namespace", namespaced=False),
    _resource("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", namespaced=False),
    _resource("v1", "nodes", "Node", namespaced=False),
    _resource("storage.k8s.io/v1", "storageclasses", "StorageClass", namespaced=False),
    _resource("storage.k8s.io/v1", "csidrivers", "CSIDriver", namespaced=False),
    _resource("storage.k8s.io/v1", "csinodes", "CSINode", namespaced=False),
    _resource("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity"),
    _resource("v1", "persistentvolumes", "PersistentVolume", namespaced=False),
    _resource("v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    _resource("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", namespaced=False),
    _resource("resource.k8s.io/v1", "deviceclasses", "DeviceClass", namespaced=False),
    _resource("resource.k8s.io/v1", "resourceslices", "ResourceSlice", namespaced=False),
    _resource("resource.k8s.io/v1", "devicetaintrules", "DeviceTaintRule", namespaced=False),
    _resource("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
    _resource("resource.k8s.io/v1", "resourceclaims", "ResourceClaim"),
    _resource("v1", "configmaps", "ConfigMap"),
    _resource("v1", "services", "Service"),
    _resource("v1", "replicationcontrollers", "ReplicationController"),
    _resource("apps/v1", "replicasets", "ReplicaSet"),
    _resource("apps/v1", "statefulsets", "StatefulSet"),
    _resource("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    _resource("scheduling.x-k8s.io/v1alpha1", "elasticquotas", "ElasticQuota"),
    _resource("scheduling.k8s.io/v1alpha3", "compositepodgroups", "CompositePodGroup"),
    _resource("scheduling.x-k8s.io/v1alpha1", "podgroups", "PodGroup"),
    _resource("v1", "pods", "Pod"),
    _resource("coordination.k8s.io/v1", "leases", "Lease"),
    _resource("events.k8s.io/v1", "events", "Event"),
)

RESOURCES: Final[dict[str, Resource]] = {resource.plural: resource for resource in _ALL}
"""Every resource by plural name; each comes after the resources it refers to."""

PODS: Final = RESOURCES["pods"]
NODES: Final = RESOURCES["nodes"]
NAMESPACES: Final = RESOURCES["namespaces"]
PRIORITY_CLASSES: Final = RESOURCES["priorityclasses"]
POD_DISRUPTION_BUDGETS: Final = RESOURCES["poddisruptionbudgets"]
EVENTS: Final = RESOURCES["events"]
LEASES: Final = RESOURCES["leases"]
