"""Devices that must be made ready before the pod is bound."""

from collections.abc import Iterable
from typing import Final

from moorage.api.resource_claims import (
    AllocatedDeviceStatus,
    DeviceCondition,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from moorage.devices.claim_tracker import ClaimTracker

BINDING_FAILED: Final = "device binding failed"
BINDING_TIMEOUT: Final = "device binding timeout"


class DeviceBindingError(Exception):
    """A device failed to become ready, or its claim is gone or took too long."""


def will_not_be_ready(claim: ResourceClaim, now: float, timeout: float) -> bool:
    """Whether an allocated claim's devices failed to become ready, or took too long."""
    try:
        return not is_ready(claim) and is_timed_out(claim, now, timeout)
    except DeviceBindingError:
        return True


def are_ready(
    tracker: ClaimTracker, claims: Iterable[ResourceClaim], now: float, timeout: float
) -> bool:
    """Whether the devices of all claims are ready; DeviceBindingError if they never will be."""
    for claim in claims:
        known = tracker.get(claim.key)
        if known is None:
            raise DeviceBindingError(f'could not find ResourceClaim "{claim.key}"')
        if not is_ready(known):
            if is_timed_out(known, now, timeout):
                raise DeviceBindingError(f"{BINDING_TIMEOUT}: claim={claim.name}")
            return False
    return True


def has_conditions(claim: ResourceClaim) -> bool:
    """Whether any device of a claim must be made ready before binding."""
    allocation = claim.status.allocation
    return allocation is not None and any(
        result.binding_conditions for result in allocation.devices.results
    )


def is_ready(claim: ResourceClaim) -> bool:
    """Whether all devices are ready; DeviceBindingError if one has failed."""
    allocation = claim.status.allocation
    if allocation is None:
        return False
    return all(
        _is_ready(claim, result)
        for result in allocation.devices.results
        if result.binding_conditions
    )


def is_timed_out(claim: ResourceClaim, now: float, timeout: float) -> bool:
    """Whether the claim was allocated more than `timeout` seconds ago and has conditions."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None or not has_conditions(claim):
        return False
    return allocation.allocation_timestamp.timestamp() + timeout < now


def _is_ready(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> bool:
    status = _status_of(claim, result)
    if status is None:
        return False
    for name in result.binding_failure_conditions:
        failed = _condition(status, name)
        if failed is not None and failed.status == "True":
            raise DeviceBindingError(
                f"{BINDING_FAILED}: claim={claim.name}, reason={failed.reason}, "
                f'message="{failed.message}"'
            )
    found = (_condition(status, name) for name in result.binding_conditions)
    return all(each is not None and each.status == "True" for each in found)


def _status_of(
    claim: ResourceClaim, result: DeviceRequestAllocationResult
) -> AllocatedDeviceStatus | None:
    wanted = (result.driver, result.pool, result.device)
    known = claim.status.devices
    return next((each for each in known if (each.driver, each.pool, each.device) == wanted), None)


def _condition(status: AllocatedDeviceStatus, name: str) -> DeviceCondition | None:
    return next((each for each in status.conditions if each.type == name), None)
