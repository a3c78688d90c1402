"""Pods, and all names used in their specs."""

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
from moorage.api.meta import KubeObject, OwnerReference
from moorage.api.pod_spec import (
    Container,
    ContainerPort,
    ContainerStatus,
    PodCondition,
    PodOS,
    PodResourceClaim,
    PodSchedulingGate,
    PodSchedulingGroup,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
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


class Pod(KubeObject):
    """Containers that run together on one node."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def priority(self) -> int:
        """The priority; 0 if none is set."""
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
        """Whether the pod has succeeded or failed, and holds its node's resources no longer."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def owner(self) -> OwnerReference | None:
        """The controller that owns the pod."""
        return next((ref for ref in self.metadata.owner_references if ref.controller), None)
