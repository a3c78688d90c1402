"""Which claim a pod waits for; events about other claims cannot help it."""

from typing import Final

from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.framework.events import Keyed

ClaimKey = tuple[str, str]
"""Namespace and name."""


def only_claim(pod: Pod) -> ClaimKey | None:
    """The only claim of a pod; None if it has several, none, or one of an ephemeral volume."""
    names = set()
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.add(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            return None
    return (pod.namespace, names.pop()) if len(names) == 1 else None


def changed_claim(
    old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
) -> set[ClaimKey]:
    return {(claim.namespace, claim.name) for claim in (old, new) if claim is not None}


BY_CLAIM: Final = Keyed(only_claim, changed_claim)
