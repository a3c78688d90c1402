"""Namespaces, services, controllers, ConfigMaps, disruption budgets and priority classes."""

import msgspec

from moorage.api.meta import ApiStruct, KubeObject, LabelSelector


class ConfigMap(KubeObject):
    """Named texts."""

    data: dict[str, str] = msgspec.field(default_factory=dict)


class PodDisruptionBudgetSpec(ApiStruct):
    """The pods to protect, and how many may be missing."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudgetStatus(ApiStruct):
    """How many more pods may be disrupted now, and which are about to be."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = msgspec.field(default_factory=dict)


class PodDisruptionBudget(KubeObject):
    """A limit to voluntary disruption, which preemption tries to respect."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(KubeObject):
    """A name for a priority."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class NamespaceStatus(ApiStruct):
    """Whether a namespace is active or terminating."""

    phase: str = ""


class Namespace(KubeObject):
    """A scope of names, whose labels affinity terms may select."""

    status: NamespaceStatus = NamespaceStatus()


class ServiceSpec(ApiStruct):
    """The pods a service selects; an empty selector selects none."""

    selector: dict[str, str] = msgspec.field(default_factory=dict)
    cluster_ip: str = msgspec.field(default="", name="clusterIP")


class Service(KubeObject):
    """A name for a set of pods."""

    spec: ServiceSpec = ServiceSpec()


class WorkloadSpec(ApiStruct):
    """The pods a controller keeps, and their number."""

    selector: LabelSelector | None = None
    replicas: int | None = None


class ReplicaSet(KubeObject):
    """A number of equal pods."""

    spec: WorkloadSpec = WorkloadSpec()


class StatefulSet(KubeObject):
    """A number of pods with stable names."""

    spec: WorkloadSpec = WorkloadSpec()


class ReplicationControllerSpec(ApiStruct):
    """The pods a replication controller keeps, by equality of labels."""

    selector: dict[str, str] = msgspec.field(default_factory=dict)
    replicas: int | None = None


class ReplicationController(KubeObject):
    """The predecessor of the replica set."""

    spec: ReplicationControllerSpec = ReplicationControllerSpec()
