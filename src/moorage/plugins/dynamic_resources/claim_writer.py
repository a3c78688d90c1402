"""Writes claims: allocation, reservation, and undoing both.

PreBind writes and waits. PostFilter and Unreserve cannot wait: their writes become errands
(`moorage.devices.errands`), which the scheduler carries out.
"""

import datetime
from typing import Any, Final

import msgspec

from moorage.api.decode import decode_as
from moorage.api.meta import json_data
from moorage.api.pod import Pod
from moorage.api.resource_claims import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from moorage.devices.allocation import as_status
from moorage.devices.claim_tracker import SHARED_IN_GROUP
from moorage.devices.device_cache import device_cache
from moorage.devices.errands import Errand, ErrandKind
from moorage.framework.cycle import Client, Cycle
from moorage.framework.draws import Random
from moorage.framework.verdicts import PluginError
from moorage.plugins.dynamic_resources.claim_state import ClaimState
from moorage.plugins.dynamic_resources.extended_resources import IN_MEMORY_NAME, RequestMapping
from moorage.plugins.dynamic_resources.pod_claims import is_reserved_for

CLAIMS: Final = "resourceclaims"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
MOST_TRIES: Final = 5

Raw = dict[str, Any]


class ClaimWriteError(Exception):
    """A claim has changed in the meantime: the pod must be tried again."""


def new_uid(random: Random) -> str:
    """A version 4 UUID."""
    bits = random.getrandbits(128)
    bits = bits & ~(0xF000 << 64) & ~(0xC000 << 48) | 0x4000 << 64 | 0x8000 << 48
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def deallocate_later(cycle: Cycle, claim: ResourceClaim) -> None:
    """Leave an errand to deallocate a claim, so that other devices can be found for it."""
    device_cache(cycle.cache).errands.append(Errand(ErrandKind.DEALLOCATE, claim))


def delete_later(cycle: Cycle, claim: ResourceClaim) -> None:
    """Leave an errand to delete a claim made for extended resources in an earlier attempt."""
    device_cache(cycle.cache).errands.append(Errand(ErrandKind.DELETE, claim))


def take_back(cycle: Cycle, pod: Pod, state: ClaimState) -> None:
    """Free what Reserve has booked, and leave errands to undo what PreBind has written.

    If it is unknown whether an allocation was written, an errand settles that before it is freed.
    """
    devices = device_cache(cycle.cache)
    for position, claim in enumerate(state.claims):
        if position in state.allocations:
            if position in state.unsure:
                devices.errands.append(Errand(ErrandKind.SETTLE, claim, pod.uid))
            else:
                booked = state.booked[position]
                devices.claims.leave_allocation(booked.uid, booked.key)
                if devices.claims.pending_allocation(booked.uid) is None:
                    cycle.state.get(SHARED_IN_GROUP, set()).discard(booked.uid)
        if claim is state.extended:
            if claim.name != IN_MEMORY_NAME:
                devices.errands.append(Errand(ErrandKind.DELETE, claim))
        elif claim.status.allocation is not None and is_reserved_for(claim, pod):
            devices.errands.append(Errand(ErrandKind.UNRESERVE, claim, pod.uid))
    state.allocations.clear()


async def write_claims(
    cycle: Cycle, pod: Pod, state: ClaimState, now: float, by_group: bool
) -> None:
    """Allocate and reserve every claim that is not yet reserved for the pod or its group."""
    if cycle.client is None:
        raise LookupError("there is no API server to write claims to")
    for position in range(len(state.claims)):
        if not is_reserved_for(state.claims[position], pod, by_group):
            await _bind_claim(cycle, cycle.client, pod, state, position, now)
    tracker = device_cache(cycle.cache).claims
    for position in state.allocations:
        booked = state.booked[position]
        tracker.end_allocation(booked.uid, booked.key)
    state.allocations.clear()


async def _bind_claim(
    cycle: Cycle, client: Client, pod: Pod, state: ClaimState, position: int, now: float
) -> None:
    tracker = device_cache(cycle.cache).claims
    claim, allocation = state.claims[position], state.allocations.get(position)
    is_extended = claim is state.extended
    if is_extended and allocation is None:
        return
    if is_extended and claim.name == IN_MEMORY_NAME:
        claim = await _create(client, state.booked[position])
        state.replace(position, claim)
    state.unsure.add(position)
    try:
        consumer = _consumer(pod, state, position)
        tries = MOST_TRIES + tracker.sharers(claim.uid)
        written = await _write(client, claim, allocation, consumer, now, tries)
    except Exception as error:
        if _was_refused(error):
            state.unsure.discard(position)
        raise
    state.unsure.discard(position)
    state.replace(position, written)
    tracker.assume(written, is_new=is_extended)
    if is_extended:
        await _tell_pod(client, pod, written, state.mappings)


def _consumer(pod: Pod, state: ClaimState, position: int) -> ResourceClaimConsumerReference:
    if position < len(state.consumers):
        return state.consumers[position]
    return ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)


def _has_consumer(claim: ResourceClaim, consumer: ResourceClaimConsumerReference) -> bool:
    """Whether the reservation is written already, as by another pod of the same group."""
    reserved = claim.status.allocation is not None and claim.metadata.deletion_timestamp is None
    return reserved and any(each.uid == consumer.uid for each in claim.status.reserved_for)


def _has_devices(claim: ResourceClaim, allocation: AllocationResult) -> bool:
    """Whether a claim is allocated with exactly these devices."""
    given = claim.status.allocation
    return given is not None and _devices(given) == _devices(allocation)


def _devices(allocation: AllocationResult) -> list[tuple[str, str, str, str, str | None]]:
    return [
        (each.request, each.driver, each.pool, each.device, each.share_id)
        for each in allocation.devices.results
    ]


def _was_refused(error: Exception) -> bool:
    """Whether the API server refused; after any other error the write may have succeeded."""
    return isinstance(error, ClaimWriteError) or 400 <= getattr(error, "status", 0) < 500


async def _create(client: Client, claim: ResourceClaim) -> ResourceClaim:
    metadata = msgspec.structs.replace(claim.metadata, name="", uid="")
    raw = json_data(msgspec.structs.replace(claim, metadata=metadata))
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **raw}
    return decode_as(await client.create(CLAIMS, made), ResourceClaim)


async def _write(
    client: Client,
    claim: ResourceClaim,
    allocation: AllocationResult | None,
    consumer: ResourceClaimConsumerReference,
    now: float,
    tries: int,
) -> ResourceClaim:
    """Write finalizer, allocation and reservation.

    After a conflict, read the latest version and try again: a pod of the same group may have
    written the allocation meanwhile."""
    for left in range(tries - 1, -1, -1):
        try:
            if allocation is not None:
                claim = await _add_finalizer(client, claim, allocation)
            return await _patch_status(client, claim, allocation, consumer, now)
        except Exception as error:
            if getattr(error, "reason", "") != "Conflict" or not left:
                raise
        raw = await client.get(CLAIMS, claim.namespace, claim.name)
        claim = decode_as(raw, ResourceClaim)
        if allocation is not None and _has_devices(claim, allocation):
            allocation = None
        if allocation is None and _has_consumer(claim, consumer):
            return claim
    raise AssertionError("the last try raises")


async def _add_finalizer(
    client: Client, claim: ResourceClaim, allocation: AllocationResult
) -> ResourceClaim:
    _check_alive(claim)
    if claim.status.allocation is not None:
        raise ClaimWriteError(f"claim {claim.key} got allocated elsewhere in the meantime")
    if FINALIZER in claim.metadata.finalizers:
        return claim
    metadata = {**_precondition(claim), "finalizers": [*claim.metadata.finalizers, FINALIZER]}
    patch = {"metadata": metadata}
    return decode_as(await client.patch(CLAIMS, claim.namespace, claim.name, patch), ResourceClaim)


async def _patch_status(
    client: Client,
    claim: ResourceClaim,
    allocation: AllocationResult | None,
    consumer: ResourceClaimConsumerReference,
    now: float,
) -> ResourceClaim:
    _check_alive(claim)
    given = allocation or claim.status.allocation
    if given is None:
        raise ClaimWriteError(f"claim {claim.key} got deallocated elsewhere in the meantime")
    users = json_data((*claim.status.reserved_for, consumer))
    status: Raw = {"reservedFor": users}
    if allocation is not None:
        status["allocation"] = {**as_status(allocation), "allocationTimestamp": _time(now)}
    patch = {"metadata": _precondition(claim), "status": status}
    answer = await client.patch(CLAIMS, claim.namespace, claim.name, patch, subresource="status")
    return decode_as(answer, ResourceClaim)


def _check_alive(claim: ResourceClaim) -> None:
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimWriteError(f"claim {claim.key} got deleted in the meantime")


def _precondition(claim: ResourceClaim) -> Raw:
    """Metadata that makes a patch fail for any other version of this claim."""
    meta = claim.metadata
    return {"uid": meta.uid, "resourceVersion": meta.resource_version}


def _time(now: float) -> str:
    return datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def _tell_pod(
    client: Client, pod: Pod, claim: ResourceClaim, mappings: tuple[RequestMapping, ...]
) -> None:
    """Write to the pod's status which request of the claim serves which container."""
    if not mappings:
        detail = f"nil or empty request mappings, no update of pod {pod.key}"
        raise PluginError("DynamicResources", "PreBind", f"{detail} ExtendedResourceClaimStatus")
    status = {
        "resourceClaimName": claim.name,
        "requestMappings": json_data(mappings),
    }
    patch = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": status}}
    await client.patch("pods", pod.namespace, pod.name, patch, subresource="status")
