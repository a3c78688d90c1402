"""The pod's claims: bound, waiting for the pod's node, or a reason why the pod cannot use them."""

from typing import Final, NamedTuple

from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolumeClaim, StorageClass
from moorage.api.volumes import Volume
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import PluginError, Rejection, unresolvable
from moorage.plugins.volume_binding.volume_cache import volume_cache_of
from moorage.plugins.volumes.persistent_volumes import (
    CLAIM,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claim_name,
    is_bound,
    is_ephemeral,
    not_created_for,
    not_found,
)

UNBOUND_IMMEDIATE: Final = "pod has unbound immediate PersistentVolumeClaims"
EPHEMERAL_CLAIM_MISSING: Final = (
    'waiting for ephemeral volume controller to create the persistentvolumeclaim "{}"'
)
LOST: Final = 'persistentvolumeclaim "{}" bound to non-existent persistentvolume "{}"'
DELETED: Final = 'persistentvolumeclaim "{}" is being deleted'
MODE_NOT_SET: Final = 'VolumeBindingMode not set for StorageClass "{}"'


class PodClaims(NamedTuple):
    """A pod's claims in the order of its volumes; a claim used twice is listed twice."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    """Unbound claims, to be bound to a volume that the pod's node reaches."""


def find_pod_claims(cycle: Cycle) -> PodClaims | Rejection | None:
    """The pod's claims, or the reason why it cannot use one; None if it has none."""
    pod = cycle.pod
    volumes = [volume for volume in pod.spec.volumes if claim_name(pod, volume) is not None]
    if not volumes:
        return None
    for volume in volumes:
        obstacle = _obstacle(cycle, pod, volume)
        if obstacle is not None:
            return unresolvable(obstacle)
    return _bound_and_delayed(
        [claim for volume in volumes if (claim := _claim(cycle, pod, volume))], cycle
    )


def _obstacle(cycle: Cycle, pod: Pod, volume: Volume) -> str | None:
    """Why the claim behind a volume cannot be used by the pod."""
    name = claim_name(pod, volume) or ""
    claim = cycle.get(PersistentVolumeClaim, name, pod.namespace)
    if claim is None:
        return (
            EPHEMERAL_CLAIM_MISSING.format(name) if is_ephemeral(volume) else not_found(CLAIM, name)
        )
    if claim.status.phase == "Lost":
        return LOST.format(claim.name, claim.spec.volume_name)
    if claim.metadata.deletion_timestamp is not None:
        return DELETED.format(claim.name)
    return not_created_for(pod, claim) if is_ephemeral(volume) else None


def _claim(cycle: Cycle, pod: Pod, volume: Volume) -> PersistentVolumeClaim | None:
    name = claim_name(pod, volume) or ""
    return volume_cache_of(cycle).claims.get(cycle.cache.objects, name, pod.namespace)


def _bound_and_delayed(claims: list[PersistentVolumeClaim], cycle: Cycle) -> PodClaims | Rejection:
    unbound = [claim for claim in claims if not is_bound(claim)]
    delayed = [
        claim
        for claim in unbound
        if _waits_for_consumer(cycle, claim) and not claim.spec.volume_name
    ]
    if len(delayed) < len(unbound):
        return unresolvable(UNBOUND_IMMEDIATE)
    return PodClaims(tuple(claim for claim in claims if is_bound(claim)), tuple(delayed))


def _waits_for_consumer(cycle: Cycle, claim: PersistentVolumeClaim) -> bool:
    """Whether the claim's class leaves binding to the scheduler."""
    name = claim_class(claim)
    storage_class = cycle.get(StorageClass, name) if name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        raise PluginError("VolumeBinding", "PreFilter", MODE_NOT_SET.format(name))
    return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
