"""PersistentVolumes and claims as the volume plugins read them: names, classes, owners, binding."""

from typing import Final

from moorage.api.pod import Pod
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.api.volumes import Volume

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"

CLAIM: Final = "persistentvolumeclaim"
VOLUME: Final = "persistentvolume"
STORAGE_CLASS: Final = "storageclass.storage.k8s.io"


def not_found(resource: str, name: str) -> str:
    return f'{resource} "{name}" not found'


def claim_name(pod: Pod, volume: Volume) -> str | None:
    """The name of the claim behind a pod's volume; None if it has no claim."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return ephemeral_name(pod, volume) if volume.ephemeral is not None else None


def ephemeral_name(pod: Pod, volume: Volume) -> str:
    return f"{pod.name}-{volume.name}"


def is_ephemeral(volume: Volume) -> bool:
    """Whether the claim behind the volume lives and dies with the pod."""
    return volume.ephemeral is not None and volume.persistent_volume_claim is None


def names_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether one of the pod's volumes is this claim's, an ephemeral one included."""
    return claim.namespace == pod.namespace and any(
        claim_name(pod, volume) == claim.name for volume in pod.spec.volumes
    )


def not_created_for(pod: Pod, claim: PersistentVolumeClaim) -> str | None:
    """Why a claim cannot serve the pod's ephemeral volume: it was not created for the pod."""
    owner = next((ref for ref in claim.metadata.owner_references if ref.controller), None)
    if owner is not None and owner.uid == pod.uid and claim.namespace == pod.namespace:
        return None
    names = _namespaced_name(claim), _namespaced_name(pod)
    return "PVC {} was not created for pod {} (pod is not owner)".format(*names)


def _namespaced_name(obj: Pod | PersistentVolumeClaim) -> str:
    return f"{obj.namespace}/{obj.name}"


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The claim's storage class; empty if it names none."""
    annotated = claim.annotations.get(CLASS_ANNOTATION)
    return annotated if annotated is not None else claim.spec.storage_class_name or ""


def volume_class(volume: PersistentVolume) -> str:
    annotated = volume.annotations.get(CLASS_ANNOTATION)
    return annotated if annotated is not None else volume.spec.storage_class_name


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim's binding to its volume is complete."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.annotations


def is_kept_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume's claimRef names this claim, set by a user or by a controller."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.name, ref.namespace) != (claim.name, claim.namespace):
        return False
    return not ref.uid or ref.uid == claim.uid
