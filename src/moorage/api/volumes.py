"""Volumes of pods, and the volume sources that pods and persistent volumes share."""

import msgspec

from moorage.api.meta import ApiStruct, LabelSelector, ObjectMeta, ResourceList


class GCEPersistentDisk(ApiStruct):
    """A Google Compute Engine disk."""

    pd_name: str = ""
    partition: int = 0
    read_only: bool = False


class AWSElasticBlockStore(ApiStruct):
    """An Amazon EBS volume."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    partition: int = 0
    read_only: bool = False


class AzureDisk(ApiStruct):
    """An Azure data disk."""

    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    read_only: bool = False
    kind: str | None = None


class AzureFile(ApiStruct):
    """An Azure file share."""

    secret_name: str = ""
    secret_namespace: str | None = None
    share_name: str = ""
    read_only: bool = False


class Cinder(ApiStruct):
    """An OpenStack Cinder volume."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class VsphereVolume(ApiStruct):
    """A vSphere virtual disk."""

    volume_path: str = ""


class PortworxVolume(ApiStruct):
    """A Portworx volume."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class ISCSI(ApiStruct):
    """An iSCSI logical unit."""

    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class RBD(ApiStruct):
    """A Ceph RADOS block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class HostPath(ApiStruct):
    """A path of the node's own file system."""

    path: str = ""


class CSIVolume(ApiStruct):
    """A CSI volume: inline in a pod, or, with a handle, behind a persistent volume."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    volume_attributes: dict[str, str] = msgspec.field(default_factory=dict)


class VolumeResourceRequirements(ApiStruct):
    """The storage a claim asks for."""

    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)


class PersistentVolumeClaimSpec(ApiStruct):
    """The volume a claim requests, and the one it is bound to."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(ApiStruct):
    """The claim created for a pod's ephemeral volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolume(ApiStruct):
    """A volume whose claim exists as long as the pod."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class PersistentVolumeClaimVolume(ApiStruct):
    """A claim in the pod's namespace."""

    claim_name: str = ""
    read_only: bool = False


class VolumeSources(ApiStruct):
    """The sources that both pods and persistent volumes may name; at most one is set."""

    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    vsphere_volume: VsphereVolume | None = None
    portworx_volume: PortworxVolume | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    host_path: HostPath | None = None
    csi: CSIVolume | None = None


class ImageVolume(ApiStruct):
    """An image mounted as a volume."""

    reference: str = ""


class Volume(VolumeSources):
    """A volume of a pod."""

    name: str = ""
    image: ImageVolume | None = None
    persistent_volume_claim: PersistentVolumeClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
