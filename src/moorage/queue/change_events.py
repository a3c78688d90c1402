"""Cluster events made from the change of an object, as in kube-scheduler.

`events_of_change` gives the events for other pods: pass them to `SchedulingQueue.move`.
`events_of_pod_update` gives the events for a waiting pod's own update; `SchedulingQueue.update`
calls it itself. The update or deletion of a waiting pod is no event for other pods, unless the pod
gives up the node it was nominated to: see `gives_up_nomination`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from moorage.api import quantity
from moorage.api.cluster_objects import Namespace
from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import CompositePodGroup, ElasticQuota, PodGroup
from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_requests import is_resize_infeasible, total_requests
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
from moorage.framework.events import ASSIGNED_POD_ADD, Action, ClusterEvent, Resource

Events = tuple[ClusterEvent, ...]

RESOURCES: Final[Mapping[type, Resource]] = {
    Node: Resource.NODE,
    Namespace: Resource.NAMESPACE,
    PersistentVolume: Resource.PERSISTENT_VOLUME,
    PersistentVolumeClaim: Resource.PERSISTENT_VOLUME_CLAIM,
    StorageClass: Resource.STORAGE_CLASS,
    CSINode: Resource.CSI_NODE,
    CSIDriver: Resource.CSI_DRIVER,
    CSIStorageCapacity: Resource.CSI_STORAGE_CAPACITY,
    VolumeAttachment: Resource.VOLUME_ATTACHMENT,
    ResourceClaim: Resource.RESOURCE_CLAIM,
    ResourceSlice: Resource.RESOURCE_SLICE,
    DeviceTaintRule: Resource.RESOURCE_SLICE,
    DeviceClass: Resource.DEVICE_CLASS,
    PodGroup: Resource.POD_GROUP,
    CompositePodGroup: Resource.POD_GROUP,
    ElasticQuota: Resource.ELASTIC_QUOTA,
}
"""The kinds, other than pods, whose changes are events. Changes of other kinds make none."""


def events_of_change(old: KubeObject | None, new: KubeObject | None) -> Events:
    """The events that a change makes for other pods; `old` is None if added, `new` if deleted."""
    either = new if new is not None else old
    if isinstance(either, Pod):
        return _pod(_as_pod(old), _as_pod(new))
    resource = RESOURCES.get(type(either))
    if resource is None:
        return ()
    if isinstance(old, Node) and isinstance(new, Node):
        return _node(old, new)
    action = Action.UPDATE if isinstance(either, DeviceTaintRule) else _action(old, new)
    return (ClusterEvent(resource, action),)


def events_of_pod_update(old: Pod, new: Pod) -> Events:
    """The events that a waiting pod's own update makes for that pod."""
    return _pod_update(Resource.TARGET_POD, old, new)


def gives_up_nomination(old: Pod, new: Pod | None) -> bool:
    """Whether a waiting pod leaves the node it was nominated to.

    Pods of the same or lower priority counted it as if it ran there. For them, and only for them,
    the caller must report an ASSIGNED_POD_DELETE (`only=has_priority_at_most(old.priority)`).
    """
    nominated = old.status.nominated_node_name
    return bool(nominated) and (new is None or nominated != new.status.nominated_node_name)


def has_priority_at_most(priority: int) -> Callable[[Pod], bool]:
    """A filter for pods of this priority or lower."""
    return lambda pod: pod.priority <= priority


def _as_pod(obj: KubeObject | None) -> Pod | None:
    return obj if isinstance(obj, Pod) else None


def _action(old: KubeObject | None, new: KubeObject | None) -> Action:
    if old is None:
        return Action.ADD
    return Action.DELETE if new is None else Action.UPDATE


def _pod(old: Pod | None, new: Pod | None) -> Events:
    if old is None and new is not None:
        assigned = bool(new.spec.node_name)
        resource = Resource.ASSIGNED_POD if assigned else Resource.UNSCHEDULED_POD
        return (ClusterEvent(resource, Action.ADD),)
    if old is not None and new is None and old.spec.node_name:
        return (ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE),)
    if old is None or new is None or not new.spec.node_name:
        return ()
    if not old.spec.node_name:
        return (ASSIGNED_POD_ADD,)
    return _pod_update(Resource.ASSIGNED_POD, old, new)


def _pod_update(resource: Resource, old: Pod, new: Pod) -> Events:
    shrunk, grown = _scaling(old, new)
    claims = old.status.resource_claim_statuses != new.status.resource_claim_statuses
    ungated = bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates
    actions = (
        (old.labels != new.labels, Action.UPDATE_POD_LABEL),
        (shrunk, Action.UPDATE_POD_SCALE_DOWN),
        (grown, Action.UPDATE_POD_SCALE_UP),
        (ungated, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
        (len(old.spec.tolerations) != len(new.spec.tolerations), Action.UPDATE_POD_TOLERATION),
        (claims, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM),
    )
    found = tuple(ClusterEvent(resource, action) for happened, action in actions if happened)
    return found or (ClusterEvent(resource, Action.UPDATE),)


def _node(old: Node, new: Node) -> Events:
    opened = old.spec.unschedulable and not new.spec.unschedulable
    features = old.status.declared_features != new.status.declared_features
    actions = (
        (opened or old.taints != new.taints, Action.UPDATE_NODE_TAINT),
        (_offers_differ(old, new), Action.UPDATE_NODE_ALLOCATABLE),
        (old.labels != new.labels, Action.UPDATE_NODE_LABEL),
        (_conditions(old) != _conditions(new), Action.UPDATE_NODE_CONDITION),
        (old.annotations != new.annotations, Action.UPDATE_NODE_ANNOTATION),
        (features, Action.UPDATE_NODE_DECLARED_FEATURE),
    )
    return tuple(ClusterEvent(Resource.NODE, action) for happened, action in actions if happened)


def _offers_differ(old: Node, new: Node) -> bool:
    same_text = old.status.allocatable == new.status.allocatable
    return not same_text and _allocatable(old) != _allocatable(new)


def _allocatable(node: Node) -> dict[str, quantity.Quantity]:
    return {name: quantity.parse(text) for name, text in node.status.allocatable.items()}


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def _scaling(old: Pod, new: Pod) -> tuple[bool, bool]:
    """Whether any request went down, and whether any went up."""
    if _sizes(old) == _sizes(new):
        return False, False
    before, after = _requests(old), _requests(new)
    shrunk = any(name not in after or after[name] < milli for name, milli in before.items())
    grown = any(name not in before or before[name] < milli for name, milli in after.items())
    return shrunk, grown


def _sizes(pod: Pod) -> tuple[object, ...]:
    """Everything that the sum of a pod's requests depends on."""
    spec, status = pod.spec, pod.status
    asked = (spec.containers, spec.init_containers, spec.overhead, spec.resources)
    granted = (status.container_statuses, status.init_container_statuses)
    allocated = (status.allocated_resources, status.resources, is_resize_infeasible(pod))
    return *asked, *granted, *allocated


def _requests(pod: Pod) -> dict[str, int]:
    total = total_requests(pod, quantity.parse, {}, use_status=True)
    return {name: amount.milli_value for name, amount in total.items()}
