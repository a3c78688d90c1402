"""Which events may help a pod that VolumeBinding refused."""

from moorage.api import quantity
from moorage.api.pod import Pod
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.plugins.volume_claims import names_claim
from moorage.plugins.volume_migration import MIGRATED_PLUGINS


def events() -> tuple[EventHint, ...]:
    changed = Action.ADD | Action.UPDATE
    claim, pool = Resource.PERSISTENT_VOLUME_CLAIM, Resource.CSI_STORAGE_CAPACITY
    return (
        EventHint(ClusterEvent(Resource.STORAGE_CLASS, changed), after_class_change),
        EventHint(ClusterEvent(claim, changed), after_claim_change),
        EventHint(ClusterEvent(Resource.PERSISTENT_VOLUME, changed)),
        EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
        EventHint(ClusterEvent(Resource.CSI_NODE, changed), after_csi_node_change),
        EventHint(
            ClusterEvent(Resource.CSI_DRIVER, Action.UPDATE | Action.DELETE), after_driver_change
        ),
        EventHint(ClusterEvent(pool, changed), after_capacity_change),
    )


def after_class_change(pod: Pod, old: StorageClass | None, new: StorageClass) -> Hint:
    unchanged = old is not None and old.allowed_topologies == new.allowed_topologies
    return Hint.SKIP if unchanged else Hint.QUEUE


def after_claim_change(
    pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> Hint:
    return Hint.QUEUE if names_claim(pod, new) else Hint.SKIP


def after_csi_node_change(pod: Pod, old: CSINode | None, new: CSINode) -> Hint:
    if old is None:
        return Hint.QUEUE
    before = old.annotations.get(MIGRATED_PLUGINS, "")
    return Hint.QUEUE if before != new.annotations.get(MIGRATED_PLUGINS, "") else Hint.SKIP


def after_driver_change(pod: Pod, old: CSIDriver, new: CSIDriver | None) -> Hint:
    """Only where the driver stops keeping account of space.

    Whether it is the pod's driver is not asked: that its claims' storage classes would tell.
    """
    stopped = old.spec.storage_capacity and (new is None or not new.spec.storage_capacity)
    return Hint.QUEUE if stopped else Hint.SKIP


def after_capacity_change(
    pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity
) -> Hint:
    if old is None:
        return Hint.QUEUE
    before, after = _limit(old), _limit(new)
    grew = after is not None and (before is None or after > before)
    return Hint.QUEUE if grew else Hint.SKIP


def _limit(capacity: CSIStorageCapacity) -> int | None:
    limit = capacity.maximum_volume_size or capacity.capacity
    return None if limit is None else quantity.value(limit)
