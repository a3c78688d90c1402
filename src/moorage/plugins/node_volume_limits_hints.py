"""Which events may give room to a pod that NodeVolumeLimits refused."""

from moorage.api.pod import Pod
from moorage.api.storage import CSINode, PersistentVolumeClaim, VolumeAttachment
from moorage.framework.events import Hint
from moorage.plugins.node_volume_limits_resolving import is_attachable, may_be_wrong
from moorage.plugins.volume_claims import names_claim
from moorage.plugins.volume_migration import plugin_of


def after_csi_node_update(pod: Pod, old: CSINode, new: CSINode) -> Hint:
    before = _limits(old)
    raised = any(limit > before.get(driver, 0) for driver, limit in _limits(new).items())
    return Hint.QUEUE if raised else Hint.SKIP


def _limits(node: CSINode) -> dict[str, int]:
    return {
        driver.name: (driver.allocatable.count or 0) if driver.allocatable is not None else 0
        for driver in node.spec.drivers
    }


def after_pod_deleted(pod: Pod, deleted: Pod, _: None) -> Hint:
    was_placed = deleted.spec.node_name or deleted.status.nominated_node_name
    frees = any(map(is_attachable, deleted.spec.volumes))
    return Hint.QUEUE if was_placed and frees else Hint.SKIP


def after_claim_added(pod: Pod, _: None, claim: PersistentVolumeClaim) -> Hint:
    return Hint.QUEUE if names_claim(pod, claim) else Hint.SKIP


def after_detach(pod: Pod, detached: VolumeAttachment, _: None) -> Hint:
    """A pod with claims may gain by any; one with in-tree volumes, by those of their drivers."""
    for volume in pod.spec.volumes:
        plugin = plugin_of(volume)
        if volume.persistent_volume_claim is not None:
            return Hint.QUEUE
        if plugin is None:
            continue
        if plugin.driver == detached.spec.attacher or may_be_wrong(volume):
            return Hint.QUEUE
    return Hint.SKIP
