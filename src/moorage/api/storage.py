"""Storage: volumes, claims, classes, and what nodes can attach."""

import msgspec

from moorage.api.affinity import NodeSelector
from moorage.api.meta import ApiStruct, KubeObject, LabelSelector, QuantityText, ResourceList
from moorage.api.volumes import PersistentVolumeClaimSpec, VolumeSources

__all__ = [
    "CSIDriver",
    "CSIDriverSpec",
    "CSINode",
    "CSINodeDriver",
    "CSINodeSpec",
    "CSIStorageCapacity",
    "LocalVolume",
    "NFSVolume",
    "ObjectReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeClaimStatus",
    "PersistentVolumeSpec",
    "PersistentVolumeStatus",
    "StorageClass",
    "TopologySelectorLabelRequirement",
    "TopologySelectorTerm",
    "VolumeAttachment",
    "VolumeAttachmentSource",
    "VolumeAttachmentSpec",
    "VolumeAttachmentStatus",
    "VolumeNodeAffinity",
    "VolumeNodeResources",
]


class ObjectReference(ApiStruct):
    """A reference to one object of the cluster."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class VolumeNodeAffinity(ApiStruct):
    """The nodes that can reach a volume."""

    required: NodeSelector | None = None


class LocalVolume(ApiStruct):
    """A disk or directory of one node."""

    path: str = ""


class NFSVolume(ApiStruct):
    """A directory exported by an NFS server."""

    server: str = ""
    path: str = ""
    read_only: bool = False


class PersistentVolumeSpec(VolumeSources):
    """Where a volume is, how large, and which claim it is bound to."""

    capacity: ResourceList = msgspec.field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    local: LocalVolume | None = None
    nfs: NFSVolume | None = None


class PersistentVolumeStatus(ApiStruct):
    """Whether a volume is pending, available, bound, released or failed."""

    phase: str = ""


class PersistentVolume(KubeObject):
    """A piece of storage of the cluster."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(ApiStruct):
    """Whether a claim is pending, bound or lost."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = msgspec.field(default_factory=dict)


class PersistentVolumeClaim(KubeObject):
    """A pod's claim to storage."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorLabelRequirement(ApiStruct):
    """A label and the values it may have."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(ApiStruct):
    """Label requirements that must all hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(KubeObject):
    """How volumes of a class are provisioned, where, and when they are bound."""

    provisioner: str = ""
    parameters: dict[str, str] = msgspec.field(default_factory=dict)
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(ApiStruct):
    """How many volumes of a driver a node can attach; None for no limit."""

    count: int | None = None


class CSINodeDriver(ApiStruct):
    """A CSI driver installed on a node."""

    name: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(ApiStruct):
    """The CSI drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject):
    """The CSI drivers of the node of the same name."""

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(ApiStruct):
    """What a CSI driver requires of the cluster."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubeObject):
    """A CSI driver installed in the cluster."""

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeObject):
    """How much storage of a class is left in a part of the topology."""

    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None


class VolumeAttachmentSource(ApiStruct):
    """The volume to attach."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(ApiStruct):
    """Which driver attaches which volume to which node."""

    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachmentStatus(ApiStruct):
    """Whether the volume is attached."""

    attached: bool = False


class VolumeAttachment(KubeObject):
    """A request to attach a volume to a node, and its outcome."""

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
