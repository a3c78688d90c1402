"""Cluster events, and queueing hints: which events may let a refused pod be scheduled."""

import enum
from collections.abc import Callable, Collection, Hashable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from moorage.api.pod import Pod


class Resource(enum.Enum):
    """What an event is about, in kube-scheduler's names.

    `POD` stands for all three of `ASSIGNED_POD` (a pod on a node), `UNSCHEDULED_POD` (a pod that
    waits) and `TARGET_POD` (the refused pod itself). `NAMESPACE` is our own. `MEASUREMENT` is no
    object: it stands for what feeds measure, which comes without one.
    """

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"
    NODE = "Node"
    NAMESPACE = "Namespace"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    ELASTIC_QUOTA = "scheduling.x-k8s.io/ElasticQuota"
    MEASUREMENT = "Measurement"
    WILDCARD = "*"

    __hash__ = object.__hash__


class Action(enum.Flag):
    """What happened. `UPDATE`: in a hint, any update; incoming, an update of no special kind."""

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
    UPDATE_POD_SCALE_UP = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = enum.auto()
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_SCALE_UP
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
    )
    ALL = ADD | DELETE | UPDATE


class ClusterEvent(NamedTuple):
    """An action on a kind of object; `label` replaces the name in logs and metrics."""

    resource: Resource
    action: Action
    label: str = ""

    @property
    def name(self) -> str:
        """The event in logs and metrics: `NodeAdd`, `AssignedPodUpdatePodLabel`, or its label."""
        return self.label or _name(self.resource, self.action)

    @property
    def is_wildcard(self) -> bool:
        """Whether this stands for any event; an incoming wildcard concerns plugins of any hint."""
        return self.resource is Resource.WILDCARD and self.action is Action.ALL

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Whether an incoming event is one of those that this one stands for.

        The incoming event must be the same or more specific: an update of no special kind is not a
        change of labels, though `UPDATE` stands for both.
        """
        if self.is_wildcard:
            return True
        same = self.resource is Resource.WILDCARD or covers(self.resource, incoming.resource)
        return same and incoming.action in self.action


@lru_cache(maxsize=1024)
def _name(resource: Resource, action: Action) -> str:
    camel = (action.name or "").title().replace("_", "")
    return resource.value + camel


_PODS = frozenset({Resource.ASSIGNED_POD, Resource.UNSCHEDULED_POD, Resource.TARGET_POD})


def covers(registered: Resource, incoming: Resource) -> bool:
    if registered is Resource.POD:
        return incoming is Resource.POD or incoming in _PODS
    return registered is incoming


ANY_EVENT: Final = ClusterEvent(Resource.WILDCARD, Action.ALL)

ASSIGNED_POD_ADD: Final = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
UNSCHEDULED_POD_ADD: Final = ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD)
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(Resource.WILDCARD, Action.ALL, "UnschedulableTimeout")
MEASURED: Final = ClusterEvent(Resource.MEASUREMENT, Action.UPDATE, "Measured")
FORCE_ACTIVATE: Final = ClusterEvent(Resource.WILDCARD, Action.ALL, "ForceActivate")
CONFIGURATION_CHANGED: Final = ClusterEvent(Resource.WILDCARD, Action.ALL, "ConfigurationChanged")


class Hint(enum.Enum):
    """Whether an event is worth another attempt."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"


HintFunction = Callable[[Pod, Any, Any], Hint]
"""(the refused pod, the object before, the object after) -> whether to try again.

The object before is None when one was added, the object after is None when one was deleted.
"""


class Keyed(NamedTuple):
    """Keys that tell which changes may help which pods.

    A change may help a pod if the key that the pod waits for (`awaited`) is among the keys that the
    change brings (`brought`, given the old and the new object). If `awaited` returns None, any
    change may help the pod; if `brought` does, the change may help any pod. `awaited` must read
    only the pod's spec and namespace.
    """

    awaited: Callable[[Pod], Hashable | None]
    brought: Callable[[Any, Any], Collection[Hashable] | None]


class EventHint(NamedTuple):
    """An event that may undo a plugin's refusal; without a function it always may.

    The function may declare what it reads of the refused pod, so that pods share one answer:

    - `per_class`: only spec, labels and namespace. Equal pods share the answer.
    - `per_spec`: only spec and namespace. Pods that differ only in labels share the answer. If that
      depends on the spec, `per_spec` is a function that says for which pods it holds; the other
      pods share the answer by class.
    - `per_event`: nothing. All pods share the answer.

    A `class_hint` is called first, once for the pods that share its answer. If it skips, the
    function must skip all of them; otherwise the function is called for each. With a `class_hint`
    the declarations above are about the `class_hint`, not about the function.

    `keyed`: no function is called for pods that wait for a key which the event does not bring;
    every function must skip those. All keyed hints of a plugin must have the same `awaited`.
    """

    event: ClusterEvent
    hint: HintFunction | None = None
    per_class: bool = False
    class_hint: HintFunction | None = None
    per_spec: bool | Callable[[Pod], bool] = False
    per_event: bool = False
    keyed: Keyed | None = None
