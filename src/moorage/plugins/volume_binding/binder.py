"""Assumes the volumes of a pod's node, writes them to the API server, and checks they are bound."""

from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from moorage.api.annotations import read_int
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.storage import CSINode, ObjectReference, PersistentVolume, PersistentVolumeClaim
from moorage.cache.object_store import ObjectStore
from moorage.framework.cycle import Client, Cycle
from moorage.plugins.volume_binding.volume_cache import VolumeCache, volume_cache_of
from moorage.plugins.volume_binding.volume_matches import CandidateVolumes
from moorage.plugins.volume_binding.volume_search import SearchResult
from moorage.plugins.volumes.csi_migration import MIGRATED_PLUGINS, migrated_reach, plugin_of
from moorage.plugins.volumes.persistent_volumes import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    is_bound,
    is_kept_for,
    not_found,
)
from moorage.plugins.volumes.volume_affinity import NO_CHOICE, reach_of, reaches

PV_RESOURCE: Final = "persistentvolumes"
PVC_RESOURCE: Final = "persistentvolumeclaims"

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class BindingInfo(NamedTuple):
    """A volume and the claim to bind it to."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


class PodVolumes:
    """The plan for a pod on its node; written parts have the version of the server's answer."""

    def __init__(self, pairs: list[BindingInfo], provisions: list[PersistentVolumeClaim]) -> None:
        self.pairs = pairs
        self.provisions = provisions


def pod_volumes(found: SearchResult, candidates: CandidateVolumes) -> PodVolumes:
    """The plan that results from a search over a single node."""
    pairs = [
        BindingInfo(candidates.shelved[int(things[0])].volume, claim)
        for claim, things in found.taken
        if things[0] != NO_CHOICE
    ]
    return PodVolumes(pairs, [how.claim for how, needed, _ in found.made if needed[0]])


def assume_pod_volumes(
    objects: ObjectStore, shelf: VolumeCache, wanted: PodVolumes, node: str
) -> PodVolumes:
    """Assume all volumes and claims of the plan; if one fails, none stays assumed."""
    done = PodVolumes([], [])
    try:
        for volume, claim in wanted.pairs:
            bound = bound_to_claim(volume, claim)
            if bound != volume:
                shelf.volumes.assume(objects, bound)
            done.pairs.append(BindingInfo(bound, claim))
        for claim in wanted.provisions:
            given = _annotated(claim, SELECTED_NODE, node)
            shelf.claims.assume(objects, given)
            done.provisions.append(given)
    except Exception:
        revert_pod_volumes(shelf, done)
        raise
    return done


def revert_pod_volumes(shelf: VolumeCache, assumed: PodVolumes) -> None:
    """Undo assumptions that have not been written."""
    for volume, _ in assumed.pairs:
        shelf.volumes.restore(volume)
    for claim in assumed.provisions:
        shelf.claims.restore(claim)


def bound_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume with a claimRef to the claim, as it is to be written."""
    ref = volume.spec.claim_ref
    bound = volume
    if ref is None or (ref.name, ref.namespace, ref.uid) != (
        claim.name,
        claim.namespace,
        claim.uid,
    ):
        spec = msgspec.structs.replace(volume.spec, claim_ref=claim_reference(claim))
        bound = msgspec.structs.replace(volume, spec=spec)
    if not is_kept_for(volume, claim) and BOUND_BY_CONTROLLER not in volume.annotations:
        bound = _annotated(bound, BOUND_BY_CONTROLLER, "yes")
    return bound


def claim_reference(claim: PersistentVolumeClaim) -> ObjectReference:
    return ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.uid,
        resource_version=claim.metadata.resource_version,
    )


def _annotated(obj: T, key: str, value: str) -> T:
    annotations = {**obj.metadata.annotations, key: value}
    metadata = msgspec.structs.replace(obj.metadata, annotations=annotations)
    return msgspec.structs.replace(obj, metadata=metadata)


async def write_pod_volumes(cycle: Cycle, client: Client, assumed: PodVolumes) -> None:
    """Write the plan. Parts that could not be written are no longer assumed."""
    written = PodVolumes([], [])
    try:
        for volume, claim in assumed.pairs:
            answer = await client.patch(PV_RESOURCE, "", volume.name, _volume_patch(volume))
            written.pairs.append(BindingInfo(_at_version(volume, answer), claim))
        for claim in assumed.provisions:
            patch = _claim_patch(claim)
            answer = await client.patch(PVC_RESOURCE, claim.namespace, claim.name, patch)
            written.provisions.append(_at_version(claim, answer))
    finally:
        pairs, provisions = len(written.pairs), len(written.provisions)
        revert_pod_volumes(
            volume_cache_of(cycle),
            PodVolumes(assumed.pairs[pairs:], assumed.provisions[provisions:]),
        )
        assumed.pairs[:pairs] = written.pairs
        assumed.provisions[:provisions] = written.provisions


def _volume_patch(volume: PersistentVolume) -> dict[str, Any]:
    patch = _precondition(volume, BOUND_BY_CONTROLLER)
    return {**patch, "spec": {"claimRef": msgspec.to_builtins(volume.spec.claim_ref)}}


def _claim_patch(claim: PersistentVolumeClaim) -> dict[str, Any]:
    return _precondition(claim, SELECTED_NODE)


def _precondition(obj: PersistentVolume | PersistentVolumeClaim, key: str) -> dict[str, Any]:
    """A patch of one annotation that fails for any other version than the one decided upon."""
    metadata: dict[str, Any] = {}
    if obj.metadata.resource_version:
        metadata["resourceVersion"] = obj.metadata.resource_version
    if key in obj.annotations:
        metadata["annotations"] = {key: obj.annotations[key]}
    return {"metadata": metadata}


def _at_version(obj: T, answer: dict[str, Any]) -> T:
    version = str(answer.get("metadata", {}).get("resourceVersion", ""))
    metadata = msgspec.structs.replace(obj.metadata, resource_version=version)
    return msgspec.structs.replace(obj, metadata=metadata)


class BindingFailedError(Exception):
    """The volumes cannot be bound to the pod's claims on this node: it must be scheduled again."""


def check_bindings(cycle: Cycle, pod: Pod, node: str, written: PodVolumes) -> bool:
    """Whether everything in the plan is bound; BindingFailedError if it never will be.

    Reads only objects as the API server reported them, never assumptions.
    """
    if node not in cycle.table.row_of:
        raise BindingFailedError(f'failed to get node "{node}": {not_found("node", node)}')
    if cycle.cache.pod(pod.uid) is None:
        raise BindingFailedError(f"pod does not exist any more: {not_found('pod', pod.name)}")
    here = cycle.table.node(cycle.table.row_of[node])
    return all(_pair_is_bound(cycle, here, pair) for pair in written.pairs) and all(
        _is_provisioned(cycle, here, claim) for claim in written.provisions
    )


def _pair_is_bound(cycle: Cycle, node: Node, pair: BindingInfo) -> bool:
    volume = _known_volume(cycle, pair.volume.name)
    claim = _known_claim(cycle, pair.claim, "failed to check binding")
    if volume is None:
        raise BindingFailedError(
            f"failed to check binding: {not_found('persistentvolumes', pair.volume.name)}"
        )
    if _is_behind(volume, pair.volume):
        return False
    _check_node_affinity(cycle, volume, node)
    if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
        raise BindingFailedError(f'ClaimRef got reset for pv "{volume.name}"')
    return is_bound(claim)


def _is_provisioned(cycle: Cycle, node: Node, written: PersistentVolumeClaim) -> bool:
    claim = _known_claim(cycle, written, "failed to check provisioning pvc")
    if _is_behind(claim, written):
        return False
    if not claim.annotations:
        raise BindingFailedError(f'selectedNode annotation reset for PVC "{claim.name}"')
    if claim.annotations.get(SELECTED_NODE, "") != node.name:
        raise BindingFailedError(f'provisioning failed for PVC "{claim.name}"')
    if claim.spec.volume_name:
        volume = _known_volume(cycle, claim.spec.volume_name)
        if volume is None:
            return False
        _check_node_affinity(cycle, volume, node)
    return is_bound(claim)


def _known_volume(cycle: Cycle, name: str) -> PersistentVolume | None:
    return cycle.get(PersistentVolume, name)


def _known_claim(cycle: Cycle, wanted: PersistentVolumeClaim, doing: str) -> PersistentVolumeClaim:
    found = cycle.get(PersistentVolumeClaim, wanted.name, wanted.namespace)
    if found is None:
        key = f"{wanted.namespace}/{wanted.name}"
        raise BindingFailedError(f"{doing}: {not_found('persistentvolumeclaims', key)}")
    return found


def _is_behind(
    known: PersistentVolume | PersistentVolumeClaim,
    written: PersistentVolume | PersistentVolumeClaim,
) -> bool:
    """Whether the known version is older than the one that was written."""
    ours = read_int(written.metadata.resource_version)
    theirs = read_int(known.metadata.resource_version)
    return ours is not None and theirs is not None and theirs < ours


def _check_node_affinity(cycle: Cycle, volume: PersistentVolume, node: Node) -> None:
    plugin = plugin_of(volume.spec)
    reach = reach_of(volume)
    if plugin is not None and plugin.handle is not None and _has_migrated(cycle, node, plugin.name):
        reach = migrated_reach(volume, plugin)
    if not reaches(reach, node.labels):
        raise BindingFailedError(
            f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": '
            "no matching NodeSelectorTerms"
        )


def _has_migrated(cycle: Cycle, node: Node, plugin: str) -> bool:
    found = cycle.get(CSINode, node.name)
    return found is not None and plugin in found.annotations.get(MIGRATED_PLUGINS, "").split(",")
