"""Nodes: their resources, labels, conditions and taints."""

import msgspec

from moorage.api.meta import ApiStruct, KubeObject, ResourceList
from moorage.api.taints import Taint

HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"
REGION_LABEL = "topology.kubernetes.io/region"
BETA_ZONE_LABEL = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION_LABEL = "failure-domain.beta.kubernetes.io/region"


class NodeSpec(ApiStruct):
    """What operators decide about a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(default="", name="providerID")


class ContainerImage(ApiStruct):
    """An image present on a node, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeCondition(ApiStruct):
    """One condition of a node, such as Ready or MemoryPressure."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class NodeAddress(ApiStruct):
    """An address of a node: a name or an IP."""

    type: str = ""
    address: str = ""


class NodeStatus(ApiStruct):
    """What the kubelet reports."""

    allocatable: ResourceList = msgspec.field(default_factory=dict)
    capacity: ResourceList = msgspec.field(default_factory=dict)
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(KubeObject):
    """A machine that pods run on."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def zone(self) -> str:
        """The zone, from the topology label or its beta predecessor; empty without a label."""
        labels = self.metadata.labels
        return labels.get(ZONE_LABEL) or labels.get(BETA_ZONE_LABEL, "")

    @property
    def region(self) -> str:
        """The region, from the topology label or its beta predecessor; empty without a label."""
        labels = self.metadata.labels
        return labels.get(REGION_LABEL) or labels.get(BETA_REGION_LABEL, "")

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints, in their order in the spec."""
        return self.spec.taints
