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
"""The condition of Kubernetes' own groups."""


def group_names(pod: Pod, *, by_label: bool = True) -> tuple[str, ...]:
    """The groups that a pod names, each once: none for most pods, and more than one by mistake.

    Labels name groups of scheduler-plugins: `by_label` is whether there can be any.
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
    """The group that a pod belongs to, as `namespace/name`; None without one, or with several."""
    found = group_names(pod, by_label=by_label)
    return f"{pod.namespace}/{found[0]}" if len(found) == 1 else None


def member_key(pod: Pod) -> str:
    """The group that a pod belongs to which is known to belong to one."""
    group = pod.spec.scheduling_group
    field = None if group is None else group.pod_group_name
    return f"{pod.namespace}/{field}" if field else group_key(pod) or ""


class GangSchedulingPolicy(ApiStruct):
    """All of at least `min_count` pods, or `min_group_count` groups, or none."""

    min_count: int = 0
    min_group_count: int = 0


class BasicSchedulingPolicy(ApiStruct):
    """Pod by pod, as if there were no group."""


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
    """The workload and template a group was made from."""

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
    """How far the group has come."""

    conditions: tuple[PodGroupCondition, ...] = ()
    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: datetime.datetime | None = None


class PodGroup(KubeObject):
    """Pods that make sense only together."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def is_own(self) -> bool:
        """Whether it is in Kubernetes' own dialect."""
        return self.spec.scheduling_policy is not None

    @property
    def is_basic(self) -> bool:
        """Whether its pods are scheduled one by one, and the group says so."""
        policy = self.spec.scheduling_policy
        return policy is not None and policy.gang is None

    def asks_the_same(self, before: "PodGroup") -> bool:
        """Whether nothing but the status is another than before."""
        own = self.uid, self.spec, self.annotations, self.labels
        return own == (before.uid, before.spec, before.annotations, before.labels)

    @property
    def topology_key(self) -> str:
        """The node label that Kubernetes' own field packs it by; empty without one."""
        constraints = self.spec.scheduling_constraints
        return constraints.topology[0].key if constraints and constraints.topology else ""

    @property
    def was_scheduled(self) -> bool:
        """Whether its status says that it has been scheduled once, which stays so."""
        return any(
            condition.type == INITIALLY_SCHEDULED and condition.status == "True"
            for condition in self.status.conditions
        )

    @property
    def min_count(self) -> int:
        """How many pods must fit at once, whichever dialect says so; 0 without a gang.

        A basic group that is packed is one of at least 1: where its first pod goes, all go.
        """
        policy = self.spec.scheduling_policy
        if policy is not None and policy.gang is not None:
            return policy.gang.min_count
        if self.is_basic:
            return 1 if self.topology_key else 0
        return self.spec.min_member


class CompositePodGroup(PodGroup):
    """Groups that make sense only together: PodGroups and CompositePodGroups that name it as their
    parent. It has no pods of its own, and fields as a PodGroup's."""

    @property
    def is_basic(self) -> bool:
        """Nothing is said of it when one of its pods is scheduled: it has none."""
        return False

    @property
    def min_count(self) -> int:
        """How many of its children must fit at once: 1 where each goes by itself."""
        policy = self.spec.scheduling_policy
        gang = None if policy is None else policy.gang
        return 1 if gang is None else gang.min_group_count


class ElasticQuotaSpec(ApiStruct):
    """What a namespace is sure to get, and the most it may borrow."""

    min: ResourceList = msgspec.field(default_factory=dict)
    max: ResourceList = msgspec.field(default_factory=dict)


class ElasticQuotaStatus(ApiStruct):
    """What the namespace uses."""

    used: ResourceList = msgspec.field(default_factory=dict)


class ElasticQuota(KubeObject):
    """A quota that may be exceeded while others leave theirs idle."""

    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()
