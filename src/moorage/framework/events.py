"""Cluster events, and hints: which of them may let a refused pod through."""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.api.pod import Pod


class Resource(enum.Enum):
    """What an event is about, in kube-scheduler's names."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    POD_GROUP = "PodGroup"
    WILDCARD = "*"


class Action(enum.Flag):
    """What happened to it."""

    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_OTHER = enum.auto()
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_OTHER
    )
    ALL = ADD | DELETE | UPDATE


class ClusterEvent(NamedTuple):
    """Something happened to something."""

    resource: Resource
    action: Action
    label: str = ""

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Whether an event that came in is one of those this one stands for."""
        same = self.resource is Resource.WILDCARD or covers(self.resource, incoming.resource)
        return same and bool(self.action & incoming.action)


_PODS = frozenset({Resource.ASSIGNED_POD, Resource.UNSCHEDULED_POD, Resource.TARGET_POD})


def covers(registered: Resource, incoming: Resource) -> bool:
    if registered is Resource.POD:
        return incoming is Resource.POD or incoming in _PODS
    return registered is incoming


ANY_EVENT = ClusterEvent(Resource.WILDCARD, Action.ALL)


class Hint(enum.Enum):
    """Whether an event is worth another attempt."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"


HintFunction = Callable[[Pod, Any, Any], Hint]
"""(the refused pod, the object before, the object after) -> whether to try again."""


class EventHint(NamedTuple):
    """An event that may undo a plugin's refusal; without a function it always may."""

    event: ClusterEvent
    hint: HintFunction | None = None
