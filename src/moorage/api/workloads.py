"""The objects that own or select pods: namespaces, services and controllers."""

import msgspec

from moorage.api.meta import ApiStruct, KubeObject, LabelSelector


class NamespaceStatus(ApiStruct):
    """Whether a namespace is active or terminating."""

    phase: str = ""


class Namespace(KubeObject):
    """A scope of names, whose labels affinity terms may select."""

    status: NamespaceStatus = NamespaceStatus()


class ServiceSpec(ApiStruct):
    """The pods a service stands for; an empty selector stands for none."""

    selector: dict[str, str] = msgspec.field(default_factory=dict)
    cluster_ip: str = msgspec.field(default="", name="clusterIP")


class Service(KubeObject):
    """A name for a set of pods."""

    spec: ServiceSpec = ServiceSpec()


class WorkloadSpec(ApiStruct):
    """The pods a controller keeps, and how many."""

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
