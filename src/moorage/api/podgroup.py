"""Groups of pods that are scheduled together, and quotas that lend what is idle.

`PodGroup` reads both dialects: `scheduling.x-k8s.io` (minMember) and `scheduling.k8s.io`
(schedulingPolicy.gang.minCount).
"""

import datetime

import msgspec

from moorage.api.meta import ApiStruct, KubeObject, ResourceList


class GangSchedulingPolicy(ApiStruct):
    """All of at least `min_count` pods, or none."""

    min_count: int = 0


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


class PodGroupStatus(ApiStruct):
    """How far the group has come."""

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
    def min_count(self) -> int:
        """How many pods must fit at once, whichever dialect says so; 0 without a gang."""
        policy = self.spec.scheduling_policy
        if policy is not None and policy.gang is not None:
            return policy.gang.min_count
        return self.spec.min_member


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
