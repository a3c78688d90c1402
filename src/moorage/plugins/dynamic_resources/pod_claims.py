"""The claims of a pod: which they are, and whether they can be used."""

from collections.abc import Iterator

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod, PodResourceClaim
from moorage.api.resource_claims import ResourceClaim
from moorage.devices.claim_tracker import ClaimTracker
from moorage.plugins.dynamic_resources import group_claims


class ClaimsError(Exception):
    """A claim is missing, being deleted, or not this pod's: the pod must wait."""


def pod_claims(pod: Pod, claims: ClaimTracker, by_group: bool = False) -> list[ResourceClaim]:
    """The claims that a pod refers to, in its order; ClaimsError if one cannot be used."""
    return [claim for _, claim in named_claims(pod, claims, by_group)]


def named_claims(
    pod: Pod, claims: ClaimTracker, by_group: bool = False
) -> Iterator[tuple[PodResourceClaim, ResourceClaim]]:
    """Each claim with the entry that refers to it; `by_group`: the pod's group may own it."""
    for entry in pod.spec.resource_claims:
        name, is_generated = claim_name(pod, entry)
        if name is None:
            continue
        key = f"{pod.namespace}/{name}"
        claim = claims.get(key)
        if claim is None:
            raise ClaimsError(f'could not find ResourceClaim "{key}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimsError(f'resourceclaim "{name}" is being deleted')
        if is_generated and not is_controlled_by(claim, pod):
            _check_group(pod, claim, by_group)
        yield entry, claim


def _check_group(pod: Pod, claim: ResourceClaim, by_group: bool) -> None:
    """Raise ClaimsError unless a claim was made for the pod's group."""
    group = group_claims.group_name(pod) if by_group else None
    if group is not None and group_claims.is_controlled_by_group(claim, group):
        return
    missing = (
        "Pod is not owner" if group is None else f"neither Pod nor PodGroup {group} is the owner"
    )
    raise ClaimsError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} ({missing})")


def claim_name(pod: Pod, entry: PodResourceClaim) -> tuple[str | None, bool]:
    """The name of a claim (None if none was needed), and whether it was made for the pod."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name, False
    if entry.resource_claim_template_name is None:
        raise ClaimsError(
            f'pod "{pod.key}", spec.resourceClaim "{entry.name}": '
            "none of the supported fields are set"
        )
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name, True
    raise ClaimsError(f'pod "{pod.key}": ResourceClaim not created yet')


def is_controlled_by(claim: ResourceClaim, owner: KubeObject) -> bool:
    """Whether an object is the claim's controller."""
    controller = next((ref for ref in claim.metadata.owner_references if ref.controller), None)
    return controller is not None and controller.uid == owner.uid


def is_reserved_for(claim: ResourceClaim, pod: Pod, by_group: bool = False) -> bool:
    """Whether a claim is reserved for a pod or, with `by_group`, for its group."""
    users = claim.status.reserved_for
    if any(consumer.uid == pod.uid for consumer in users):
        return True
    group = group_claims.group_name(pod) if by_group and users else None
    return group is not None and any(group_claims.is_group(each, group) for each in users)
