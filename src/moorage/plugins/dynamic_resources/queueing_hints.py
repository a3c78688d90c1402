"""Which changes may let a pod be scheduled that DynamicResources refused."""

from collections.abc import Callable

from moorage.api.pod import Pod
from moorage.api.resource_claims import ResourceClaim
from moorage.devices.claim_tracker import ClaimTracker
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.plugins.dynamic_resources.pod_claims import ClaimsError, pod_claims


def event_hints(
    claims: Callable[[], ClaimTracker], by_group: bool = False
) -> tuple[EventHint, ...]:
    """The events, with hints for those that do not always help."""
    changed = Action.ADD | Action.UPDATE
    node = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
    generated = Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM

    def after_claim(pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None) -> Hint:
        return after_claim_change(claims(), pod, old, new, by_group)

    def after_own_update(pod: Pod, old: Pod, new: Pod) -> Hint:
        return Hint.QUEUE if _uses(claims(), new, by_group) is not None else Hint.SKIP

    return (
        EventHint(ClusterEvent(Resource.NODE, node)),
        EventHint(ClusterEvent(Resource.RESOURCE_CLAIM, changed | Action.DELETE), after_claim),
        EventHint(ClusterEvent(Resource.TARGET_POD, generated), after_own_update),
        EventHint(ClusterEvent(Resource.DEVICE_CLASS, changed)),
        EventHint(ClusterEvent(Resource.RESOURCE_SLICE, changed)),
    )


def after_claim_change(
    claims: ClaimTracker,
    pod: Pod,
    old: ResourceClaim | None,
    new: ResourceClaim | None,
    by_group: bool = False,
) -> Hint:
    """Worth a try if devices came free, or if the pod's own claim came or changed its status."""
    freed = old is not None and old.status.allocation is not None
    if new is None:
        return Hint.QUEUE if freed else Hint.SKIP
    used = _uses(claims, pod, by_group)
    if used is None:
        return Hint.SKIP
    if freed and new.status.allocation is None:
        return Hint.QUEUE
    if new.uid not in used:
        return Hint.SKIP
    return Hint.SKIP if old is not None and old.status == new.status else Hint.QUEUE


def _uses(claims: ClaimTracker, pod: Pod, by_group: bool) -> set[str] | None:
    """The uids of a pod's claims; None if one is missing."""
    try:
        return {claim.uid for claim in pod_claims(pod, claims, by_group)}
    except ClaimsError:
        return None
