"""Which events may give room to a pod that NodeVolumeLimits refused."""

import math

from moorage.api.pod import Pod
from moorage.api.storage import CSIDriver, CSINode, PersistentVolumeClaim, VolumeAttachment
from moorage.framework.events import Hint
from moorage.plugins.node_volume_limits_resolving import is_attachable, may_be_wrong
from moorage.plugins.volume_claims import names_claim
from moorage.plugins.volume_migration import plugin_of


def after_csi_node_update(pod: Pod, old: CSINode, new: CSINode) -> Hint:
    """A driver came, or allows more than before; one that names no limit has none."""
    before, after = _limits(old), _limits(new)
    came = after.keys() - before.keys()
    raised = any(after.get(driver, math.inf) > limit for driver, limit in before.items())
    return Hint.QUEUE if came or raised else Hint.SKIP


def _limits(node: CSINode) -> dict[str, float]:
    limits: dict[str, float] = {}
    for driver in node.spec.drivers:
        count = None if driver.allocatable is None else driver.allocatable.count
        limits[driver.name] = math.inf if count is None else count
    return limits


def after_driver_change(pod: Pod, old: CSIDriver, new: CSIDriver | None) -> Hint:
    """Only where nodes without the driver are no longer out of the question."""
    asks = new is not None and new.spec.prevent_pod_scheduling_if_missing
    return Hint.QUEUE if old.spec.prevent_pod_scheduling_if_missing and not asks else Hint.SKIP


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
