"""The CSI driver and volume handle behind each of a pod's volumes, in-tree volumes included.

The driver of a claim is found through its volume, or through its StorageClass if it has no volume
yet. In-tree volumes count as volumes of the CSI driver that they migrate to.
"""

from collections.abc import Iterator
from typing import NamedTuple

from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.api.volumes import Volume
from moorage.cache.object_store import ObjectStore
from moorage.plugins.volumes.csi_migration import (
    BY_NAME,
    InTreePlugin,
    MigrationError,
    inline_handle,
    plugin_of,
    volume_handle,
)
from moorage.plugins.volumes.persistent_volumes import (
    CLAIM,
    claim_class,
    claim_name,
    is_ephemeral,
    not_created_for,
    not_found,
)

NAMELESS_CLAIM = "PersistentVolumeClaim had no name"
LOOKING_UP = "looking up PVC {}/{}: {}"

_UNPROVISIONED = "unprovisioned-{}/{}"
"""The handle of a volume that is not provisioned yet."""


VolumeId = tuple[str, str]
"""(driver, handle): a volume that two pods use counts once."""


class Attachable(NamedTuple):
    """A volume to attach. A migrated one counts only on nodes with a CSINode."""

    driver: str
    handle: str
    migrated: bool = False

    @property
    def name(self) -> VolumeId:
        return self.driver, self.handle


class MissingClaim(NamedTuple):
    """A claim that does not exist."""

    message: str


class Problem(NamedTuple):
    """An invalid volume; if `migrated`, it is an error only on nodes with a CSINode."""

    message: str
    migrated: bool = False


def is_attachable(volume: Volume) -> bool:
    """Whether a volume may count against a node's limits."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or plugin_of(volume) is not None
    )


def may_be_uncountable(volume: Volume) -> bool:
    """Whether a volume of a pod on a node may turn out to be a `Problem`."""
    claim = volume.persistent_volume_claim
    if claim is not None:
        return not claim.claim_name
    return volume.ephemeral is not None or isinstance(_inline(volume), Problem)


def attachable_volumes(
    objects: ObjectStore, pod: Pod
) -> Iterator[Attachable | MissingClaim | Problem]:
    """The attachable volumes of a pod in order, with missing claims and invalid volumes."""
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        found = _inline(volume) if name is None else _of_claim(objects, pod, volume, name)
        if found is not None:
            yield found


def _inline(volume: Volume) -> Attachable | Problem | None:
    plugin = plugin_of(volume)
    if plugin is None or plugin.handle is None:
        return None
    try:
        return Attachable(plugin.driver, inline_handle(volume, plugin), migrated=True)
    except MigrationError as error:
        message = f"converting volume({volume.name}) from inline to csi: {error}"
        return Problem(message, migrated=True)


def _of_claim(
    objects: ObjectStore, pod: Pod, volume: Volume, name: str
) -> Attachable | MissingClaim | Problem | None:
    if not name:
        return Problem(NAMELESS_CLAIM)
    claim = objects.get(PersistentVolumeClaim, name, pod.namespace)
    if claim is None:
        return MissingClaim(LOOKING_UP.format(pod.namespace, name, not_found(CLAIM, name)))
    problem = not_created_for(pod, claim) if is_ephemeral(volume) else None
    if problem is not None:
        return Problem(problem)
    found = _of_bound_claim(objects, claim)
    return found if found is not None and found.driver and found.handle else None


def _of_bound_claim(objects: ObjectStore, claim: PersistentVolumeClaim) -> Attachable | None:
    volume = objects.get(PersistentVolume, claim.spec.volume_name)
    if not claim.spec.volume_name or volume is None:
        return _of_class(objects, claim)
    if volume.spec.csi is not None:
        return Attachable(volume.spec.csi.driver, volume.spec.csi.volume_handle)
    plugin = plugin_of(volume.spec)
    if plugin is None or plugin.handle is None:
        return None
    return _migrated(volume, plugin)


def _migrated(volume: PersistentVolume, plugin: InTreePlugin) -> Attachable | None:
    try:
        return Attachable(plugin.driver, volume_handle(volume, plugin), migrated=True)
    except MigrationError:
        return None


def _of_class(objects: ObjectStore, claim: PersistentVolumeClaim) -> Attachable | None:
    storage_class = objects.get(StorageClass, claim_class(claim))
    if storage_class is None:
        return None
    handle = _UNPROVISIONED.format(claim.namespace, claim.name)
    plugin = BY_NAME.get(storage_class.provisioner)
    if plugin is None:
        return Attachable(storage_class.provisioner, handle)
    return Attachable(plugin.driver, handle, migrated=True) if plugin.handle is not None else None
