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
    """What happened to it. `UPDATE` is every update; as what came in, one of no special kind."""

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
    """Something happened to something."""

    resource: Resource
    action: Action
    label: str = ""

    @property
    def name(self) -> str:
        """The event in logs and metrics: `NodeAdd`, `AssignedPodUpdatePodLabel`, or its label."""
        return self.label or _name(self.resource, self.action)

    @property
    def is_wildcard(self) -> bool:
        """Whether this is any event at all; as what came in, one that concerns every pod."""
        return self.resource is Resource.WILDCARD and self.action is Action.ALL

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Whether an event that came in is one of those this one stands for.

        What came in must be the same or more special: an update of no special kind is not a
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
    """By which key a change helps a pod: the one that the pod waits for has to be among those that
    the change brings. None: anything may help the pod, or the change may help anybody.

    `awaited` reads of a pod nothing but its spec and namespace.
    """

    awaited: Callable[[Pod], Hashable | None]
    brought: Callable[[Any, Any], Collection[Hashable] | None]


class EventHint(NamedTuple):
    """An event that may undo a plugin's refusal; without a function it always may.

    `per_class` promises that the function reads of the refused pod nothing but its spec, labels
    and namespace: equal pods then share one answer, however many of them wait. `per_spec` promises
    that it does not read labels either, so that pods which differ in those alone share the answer;
    where that depends on the spec, a function says of which pods it is true, and the others share
    it by class. `per_event` promises that nothing of the pod is read at all.

    A `class_hint` reads no more than that, and is asked first: where it skips, the function would
    skip all of them; where it does not, the function is asked for each. Of the two the promises
    are then about the `class_hint`.

    Pods that wait for a key which the event does not bring (`keyed`) are not asked about: both
    would skip them. All hints of a plugin that are keyed have one `awaited` in common.
    """

    event: ClusterEvent
    hint: HintFunction | None = None
    per_class: bool = False
    class_hint: HintFunction | None = None
    per_spec: bool | Callable[[Pod], bool] = False
    per_event: bool = False
    keyed: Keyed | None = None
