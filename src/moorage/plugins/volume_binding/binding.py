"""Reserving the volumes of a node, writing them to the API server, and waiting for them."""

from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from moorage.api.storage import ObjectReference, PersistentVolume, PersistentVolumeClaim
from moorage.cache.objects import Objects
from moorage.framework.cycle import Client, Cycle
from moorage.plugins.volume_binding.matching import Candidates
from moorage.plugins.volume_binding.searching import Found
from moorage.plugins.volume_binding.shelving import Shelves, shelves
from moorage.plugins.volume_claims import BOUND_BY_CONTROLLER, SELECTED_NODE, is_kept_for
from moorage.plugins.volume_offers import NOTHING

VOLUMES: Final = "persistentvolumes"
CLAIMS: Final = "persistentvolumeclaims"

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class Pair(NamedTuple):
    """A volume and the claim it is to be bound to."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


class Plan:
    """What is to be done for a pod on the node it was given; done parts carry a new version."""

    def __init__(self, pairs: list[Pair], provisions: list[PersistentVolumeClaim]) -> None:
        self.pairs = pairs
        self.provisions = provisions


def plan(found: Found, candidates: Candidates) -> Plan:
    """What a search over a single node comes to."""
    pairs = [
        Pair(candidates.shelved[int(things[0])].volume, claim)
        for claim, things in found.taken
        if things[0] != NOTHING
    ]
    return Plan(pairs, [how.claim for how, needed, _ in found.made if needed[0]])


def assume(objects: Objects, shelf: Shelves, wanted: Plan, node: str) -> Plan:
    """Assume that volumes and claims are as the plan makes them; all of them, or none."""
    done = Plan([], [])
    try:
        for volume, claim in wanted.pairs:
            bound = bind_to(volume, claim)
            if bound != volume:
                shelf.volumes.assume(objects, bound)
            done.pairs.append(Pair(bound, claim))
        for claim in wanted.provisions:
            given = _annotated(claim, SELECTED_NODE, node)
            shelf.claims.assume(objects, given)
            done.provisions.append(given)
    except Exception:
        restore(shelf, done)
        raise
    return done


def restore(shelf: Shelves, assumed: Plan) -> None:
    """Take back what was assumed and not yet written."""
    for volume, _ in assumed.pairs:
        shelf.volumes.restore(volume)
    for claim in assumed.provisions:
        shelf.claims.restore(claim)


def bind_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume, bound to the claim from its side."""
    ref = volume.spec.claim_ref
    bound = volume
    if ref is None or (ref.name, ref.namespace, ref.uid) != (
        claim.name,
        claim.namespace,
        claim.uid,
    ):
        spec = msgspec.structs.replace(volume.spec, claim_ref=reference(claim))
        bound = msgspec.structs.replace(volume, spec=spec)
    if not is_kept_for(volume, claim) and BOUND_BY_CONTROLLER not in volume.annotations:
        bound = _annotated(bound, BOUND_BY_CONTROLLER, "yes")
    return bound


def reference(claim: PersistentVolumeClaim) -> ObjectReference:
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


async def write(cycle: Cycle, client: Client, assumed: Plan) -> None:
    """Write the plan. What could not be written is no longer assumed."""
    written = Plan([], [])
    try:
        for volume, claim in assumed.pairs:
            answer = await client.patch(VOLUMES, "", volume.name, _volume_patch(volume))
            written.pairs.append(Pair(_at_version(volume, answer), claim))
        for claim in assumed.provisions:
            patch = _claim_patch(claim)
            answer = await client.patch(CLAIMS, claim.namespace, claim.name, patch)
            written.provisions.append(_at_version(claim, answer))
    finally:
        pairs, provisions = len(written.pairs), len(written.provisions)
        restore(shelves(cycle), Plan(assumed.pairs[pairs:], assumed.provisions[provisions:]))
        assumed.pairs[:pairs] = written.pairs
        assumed.provisions[:provisions] = written.provisions


def _volume_patch(volume: PersistentVolume) -> dict[str, Any]:
    patch = _precondition(volume, BOUND_BY_CONTROLLER)
    return {**patch, "spec": {"claimRef": msgspec.to_builtins(volume.spec.claim_ref)}}


def _claim_patch(claim: PersistentVolumeClaim) -> dict[str, Any]:
    return _precondition(claim, SELECTED_NODE)


def _precondition(obj: PersistentVolume | PersistentVolumeClaim, key: str) -> dict[str, Any]:
    """A patch of one annotation, good for the version that was decided upon and no other."""
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
