"""Claims of a pod group: made for the group, and reserved for it as a whole."""

from typing import Final

from moorage.api.pod import Pod, PodResourceClaim
from moorage.api.podgroup import PodGroup
from moorage.api.resource_claims import ResourceClaim, ResourceClaimConsumerReference
from moorage.cache.cache import Cache

API_GROUP: Final = "scheduling.k8s.io"
RESOURCE: Final = "podgroups"


def group_name(pod: Pod) -> str | None:
    """The group that a pod's spec names."""
    group = pod.spec.scheduling_group
    return None if group is None else group.pod_group_name


def group_of(cache: Cache, pod: Pod) -> PodGroup | None:
    """The group that a pod's spec names; None if it names none, or none that is known."""
    name = group_name(pod)
    return None if name is None else cache.objects.get(PodGroup, name, pod.namespace)


def is_controlled_by_group(claim: ResourceClaim, group: str) -> bool:
    """Whether the claim was made for the group of this name."""
    controller = next((ref for ref in claim.metadata.owner_references if ref.controller), None)
    return (
        controller is not None
        and controller.name == group
        and controller.kind == "PodGroup"
        and controller.api_version.startswith(f"{API_GROUP}/")
    )


def is_group(consumer: ResourceClaimConsumerReference, group: str) -> bool:
    return (consumer.api_group, consumer.resource, consumer.name) == (API_GROUP, RESOURCE, group)


def consumer_of(
    pod: Pod, group: PodGroup | None, entry: PodResourceClaim
) -> ResourceClaimConsumerReference:
    """The consumer to reserve a claim for: the group if it has the same entry, else the pod."""
    if group is not None and entry in group.spec.resource_claims:
        return ResourceClaimConsumerReference(
            api_group=API_GROUP, resource=RESOURCE, name=group.name, uid=group.uid
        )
    return ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)


def is_placed(cache: Cache, pod: Pod) -> bool:
    """Whether any pod of the pod's group is assumed on a node, or bound to one."""
    name = group_name(pod)
    return any(
        info.pod.namespace == pod.namespace and group_name(info.pod) == name
        for _, info in cache.pods()
    )
