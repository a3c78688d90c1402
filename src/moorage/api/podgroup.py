"""PodGroups, which are scheduled together, and ElasticQuotas, which lend what is idle.

`PodGroup` reads both dialects: `scheduling.x-k8s.io` (minMember) and `scheduling.k8s.io`
(schedulingPolicy.gang.minCount). `CompositePodGroup` is a group of groups, Kubernetes' own only.
"""

import datetime
from typing import Final

import msgspec

from moorage.api.meta import ApiStruct, KubeObject, ResourceList
from moorage.api.pod import Pod, PodResourceClaim

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
OLDER_POD_GROUP_LABEL: Final = "pod-group.scheduling.sigs.k8s.io"
INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
"""The condition in the status of Kubernetes' own groups."""


def group_names(pod: Pod, *, by_label: bool = True) -> tuple[str, ...]:
    """The distinct groups that a pod names: none for most pods, more than one only by mistake.

    Labels name groups of scheduler-plugins; `by_label` tells whether there can be any.
    """
    group, labels = pod.spec.scheduling_group, pod.metadata.labels
    field = None if group is None else group.pod_group_name
    if not by_label:
        return (field,) if field else ()
    label, older = labels.get(POD_GROUP_LABEL), labels.get(OLDER_POD_GROUP_LABEL)
    if not older and not (field and label):
        found = field or label
        return (found,) if found else ()
    return tuple(dict.fromkeys(name for name in (field, label, older) if name))


def group_key(pod: Pod, *, by_label: bool = True) -> str | None:
    """The group of a pod, as `namespace/name`; None if it names none, or several."""
    found = group_names(pod, by_label=by_label)
    return f"{pod.namespace}/{found[0]}" if len(found) == 1 else None


def member_key(pod: Pod) -> str:
    """The group of a pod that is known to belong to one."""
    group = pod.spec.scheduling_group
    field = None if group is None else group.pod_group_name
    return f"{pod.namespace}/{field}" if field else group_key(pod) or ""


class GangSchedulingPolicy(ApiStruct):
    """At least `min_count` pods, or `min_group_count` groups, together, or none."""

    min_count: int = 0
    min_group_count: int = 0


class BasicSchedulingPolicy(ApiStruct):
    """Each pod by itself, as if there were no group."""


class PodGroupSchedulingPolicy(ApiStruct):
    """Exactly one of the policies."""

    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(ApiStruct):
    """A node label whose value all pods of the group must share."""

    key: str = ""


class PodGroupSchedulingConstraints(ApiStruct):
    """Constraints on the group as a whole."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionAll(ApiStruct):
    """The group is disrupted as a whole."""


class DisruptionSingle(ApiStruct):
    """Pods of the group may be disrupted one by one."""


class DisruptionMode(ApiStruct):
    """Exactly one of the modes."""

    single: DisruptionSingle | None = None
    all: DisruptionAll | None = None


class WorkloadReference(ApiStruct):
    """The workload and template that a group was created from."""

    workload_name: str = ""
    template_name: str = ""


class PodGroupSpec(ApiStruct):
    """What the group needs before any of its pods may run."""

    min_member: int = 0
    min_resources: ResourceList = msgspec.field(default_factory=dict)
    schedule_timeout_seconds: int | None = None
    scheduling_policy: PodGroupSchedulingPolicy | None = None
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    workload_ref: WorkloadReference | None = None
    parent_composite_pod_group_name: str | None = None
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()


class PodGroupCondition(ApiStruct):
    """One condition of a group, such as PodGroupInitiallyScheduled."""

    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class PodGroupStatus(ApiStruct):
    """The progress of the group."""

    conditions: tuple[PodGroupCondition, ...] = ()
    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: datetime.datetime | None = None


class PodGroup(KubeObject):
    """Pods that are of use only together."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def is_own(self) -> bool:
        """Whether the group is in Kubernetes' own dialect."""
        return self.spec.scheduling_policy is not None

    @property
    def is_basic(self) -> bool:
        """Whether the group asks for its pods to be scheduled one by one."""
        policy = self.spec.scheduling_policy
        return policy is not None and policy.gang is None

    def asks_the_same(self, before: "PodGroup") -> bool:
        """Whether nothing but the status differs from `before`."""
        own = self.uid, self.spec, self.annotations, self.labels
        return own == (before.uid, before.spec, before.annotations, before.labels)

    @property
    def topology_key(self) -> str:
        """The node label by which Kubernetes' own groups are packed; empty without one."""
        constraints = self.spec.scheduling_constraints
        return constraints.topology[0].key if constraints and constraints.topology else ""

    @property
    def was_scheduled(self) -> bool:
        """Whether the status says that it was scheduled once, which is never revoked."""
        return any(
            condition.type == INITIALLY_SCHEDULED and condition.status == "True"
            for condition in self.status.conditions
        )

    @property
    def min_count(self) -> int:
        """How many pods must fit at once, in either dialect; 0 without a gang.

        A packed basic group counts as a gang of at least 1: all its pods follow the first one.
        """
        policy = self.spec.scheduling_policy
        if policy is not None and policy.gang is not None:
            return policy.gang.min_count
        if self.is_basic:
            return 1 if self.topology_key else 0
        return self.spec.min_member


class CompositePodGroup(PodGroup):
    """Groups that are of use only together: PodGroups and CompositePodGroups that name it as their
    parent. It has no pods of its own. It has the fields of a PodGroup."""

    @property
    def is_basic(self) -> bool:
        """False: it has no pods of its own that could be scheduled one by one."""
        return False

    @property
    def min_count(self) -> int:
        """How many of its children must fit at once; 1 if they are independent."""
        policy = self.spec.scheduling_policy
        gang = None if policy is None else policy.gang
        return 1 if gang is None else gang.min_group_count


class ElasticQuotaSpec(ApiStruct):
    """What a namespace is guaranteed, and the most it may use."""

    min: ResourceList = msgspec.field(default_factory=dict)
    max: ResourceList = msgspec.field(default_factory=dict)


class ElasticQuotaStatus(ApiStruct):
    """What the namespace uses."""

    used: ResourceList = msgspec.field(default_factory=dict)


class ElasticQuota(KubeObject):
    """A quota that may be exceeded while others leave theirs idle."""

    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()
