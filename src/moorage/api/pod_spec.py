"""The spec of a pod, with its requests, and its status, as the kubelet reports it."""

import datetime

import msgspec

from moorage.api.affinity import Affinity, TopologySpreadConstraint
from moorage.api.meta import ApiStruct, ResourceList
from moorage.api.taints import Toleration
from moorage.api.volumes import Volume


class ResourceRequirements(ApiStruct):
    """Requests, which scheduling counts, and limits."""

    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)


class ContainerPort(ApiStruct):
    """A port of a container and, where set, of its node."""

    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class ContainerRestartRule(ApiStruct):
    """What happens when a container ends in a certain way."""

    action: str = ""


class VolumeMount(ApiStruct):
    """The path of a volume in a container."""

    name: str = ""
    bind_mount_options: tuple[str, ...] = ()


class Container(ApiStruct):
    """A container; an init container that restarts always is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class ContainerStatus(ApiStruct):
    """What the kubelet allocated to a container, and what is in force."""

    name: str = ""
    restart_count: int = 0
    allocated_resources: ResourceList = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None


class PodSchedulingGate(ApiStruct):
    """A reason, by name, for which the pod must not be scheduled yet."""

    name: str = ""


class PodOS(ApiStruct):
    """The operating system of the pod's containers."""

    name: str = ""


class PodResourceClaim(ApiStruct):
    """A claim for devices, by name or created from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(ApiStruct):
    """The group the pod is scheduled with."""

    pod_group_name: str | None = None


class PodSpec(ApiStruct):
    """What a pod requires and requests."""

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
    active_deadline_seconds: int | None = None


class PodCondition(ApiStruct):
    """One condition of a pod, such as PodScheduled or PodResizePending."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None


class PodResourceClaimStatus(ApiStruct):
    """The claim created for an entry of `spec.resource_claims`."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(ApiStruct):
    """The status of a pod."""

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
