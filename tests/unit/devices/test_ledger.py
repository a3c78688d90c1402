"""What allocations hold together, share by share."""

from typing import Any

import msgspec
import pytest

from moorage.api.resource_claims import AllocationResult
from moorage.devices.inventory import DeviceID, PoolID
from moorage.devices.ledger import Ledger

DEVICE = DeviceID("gpu.example.com", "p", "a")


def allocation(share: str = "", **more: Any) -> AllocationResult:
    result = {"request": "r", "driver": DEVICE.driver, "pool": DEVICE.pool, "device": DEVICE.device}
    if share:
        more |= {"shareID": share, "consumedCapacity": {"memory": "1Gi"}}
    return msgspec.convert({"devices": {"results": [result | more]}}, AllocationResult)


@pytest.mark.parametrize(
    ("held", "is_shared_out"),
    [
        pytest.param(allocation(), False, id="as a whole"),
        pytest.param(allocation("s1"), True, id="as a share"),
    ],
)
def test_a_device_is_allocated_until_it_is_released(
    held: AllocationResult, is_shared_out: bool
) -> None:
    ledger = Ledger()

    assert ledger.take(held) == {PoolID(DEVICE.driver, DEVICE.pool)}
    assert ledger.is_allocated(DEVICE)
    assert ledger.is_shared_out(DEVICE) == is_shared_out

    ledger.release(held)
    assert not ledger.is_allocated(DEVICE)
    assert not ledger.is_shared_out(DEVICE)


def test_shares_of_one_device_come_and_go_one_by_one() -> None:
    ledger = Ledger()
    ledger.take(allocation("s1"))
    ledger.take(allocation("s2"))
    assert ledger.capacity == {DEVICE: {"memory": 2 * 2**30 * 10**9}}

    ledger.release(allocation("s1"))

    assert ledger.is_shared_out(DEVICE)
    assert ledger.capacity == {DEVICE: {"memory": 2**30 * 10**9}}


def test_two_allocations_of_one_device_are_released_one_by_one() -> None:
    ledger = Ledger()
    ledger.take(allocation())
    ledger.take(allocation())

    ledger.release(allocation())
    assert ledger.is_allocated(DEVICE)

    ledger.release(allocation())
    assert not ledger.is_allocated(DEVICE)


def test_admin_access_holds_nothing() -> None:
    ledger = Ledger()

    assert ledger.take(allocation()) != set()
    ledger.release(allocation())
    assert ledger.take(allocation(adminAccess=True)) == set()
    assert not ledger.is_allocated(DEVICE)


def test_a_device_beside_one_with_admin_access_is_counted() -> None:
    ledger = Ledger()
    admin, plain = allocation(adminAccess=True).devices, allocation().devices
    both = msgspec.structs.replace(admin, results=(*admin.results, *plain.results))

    assert ledger.take(AllocationResult(devices=both)) == {PoolID(DEVICE.driver, DEVICE.pool)}
    assert ledger.is_allocated(DEVICE)
