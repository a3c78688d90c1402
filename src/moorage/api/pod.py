"""Pods: what they ask for, where they run, what the kubelet says of them."""

import datetime

import msgspec

from moorage.api import resource_amounts
from moorage.api.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from moorage.api.containers import Container, ContainerPort, ContainerStatus, ResourceRequirements
from moorage.api.meta import ApiStruct, KubeObject, OwnerReference, ResourceList
from moorage.api.taints import Toleration
from moorage.api.volumes import Volume

__all__ = [
    "Affinity",
    "Container",
    "ContainerPort",
    "ContainerStatus",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodAntiAffinity",
    "PodCondition",
    "PodOS",
    "PodResourceClaim",
    "PodSchedulingGate",
    "PodSchedulingGroup",
    "PodSpec",
    "PodStatus",
    "PreferredSchedulingTerm",
    "ResourceRequirements",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "WeightedPodAffinityTerm",
]


class PodSchedulingGate(ApiStruct):
    """A reason, by name, for which the pod must not be scheduled yet."""

    name: str = ""


class PodOS(ApiStruct):
    """The operating system of the pod's containers."""

    name: str = ""


class PodResourceClaim(ApiStruct):
    """A claim for devices, given by name or made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(ApiStruct):
    """The group the pod is scheduled with."""

    pod_group_name: str | None = None


class PodSpec(ApiStruct):
    """What a pod asks for."""

    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    overhead: ResourceList = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    termination_grace_period_seconds: int | None = None
    os: PodOS | None = None


class PodCondition(ApiStruct):
    """One condition of a pod, such as PodScheduled or PodResizePending."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None


class PodResourceClaimStatus(ApiStruct):
    """The claim made for an entry of `spec.resource_claims`."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(ApiStruct):
    """What is known of a pod."""

    phase: str = ""
    reason: str = ""
    conditions: tuple[PodCondition, ...] = ()
    nominated_node_name: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")
    pod_ip: str = msgspec.field(default="", name="podIP")
    start_time: datetime.datetime | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    allocated_resources: ResourceList = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None


class Pod(KubeObject):
    """Containers that run together on one node."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def priority(self) -> int:
        """The priority; 0 when none is set."""
        return self.spec.priority or 0

    @property
    def requests(self) -> dict[str, int]:
        """Millicores of cpu and units of everything else; computed at each call."""
        return resource_amounts.pod_requests(self)

    @property
    def is_terminating(self) -> bool:
        """Whether deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_terminal(self) -> bool:
        """Whether the pod has ended, well or badly, and holds its node no longer."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def owner(self) -> OwnerReference | None:
        """The controller that made the pod."""
        return next((ref for ref in self.metadata.owner_references if ref.controller), None)
