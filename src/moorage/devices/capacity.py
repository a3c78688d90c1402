"""How much of a device's capacities a request consumes, and whether that much is left.

Amounts are in billionths. If a policy has steps, the arithmetic is in whole units, as in
kube-scheduler unless fractional ranges are enabled.
"""

from collections.abc import Mapping
from typing import Final

from moorage.api import int64, quantity
from moorage.api.quantity import Quantity
from moorage.api.resource_slices import CapacityRequestPolicyRange, DeviceCapacity
from moorage.devices.inventory import PoolDevice, nano

Amounts = Mapping[str, int]

NOTHING: Final[Amounts] = {}
NOT_REPRESENTABLE: Final = "capacity request cannot be represented in the device's range arithmetic"
NEGATIVE: Final = "capacity value is negative"


class CapacityError(Exception):
    """A request that is invalid for a device: no other device is tried."""


def fits(
    device: PoolDevice, requests: Mapping[str, str], taken: Amounts, allocating: Amounts
) -> bool:
    """Whether a request fits in what is left of a device."""
    if not requests and device.plain_capacity and not device.is_shared:
        return (not taken and not allocating) or _left(device, taken, allocating)
    if any(name not in device.capacity for name in requests):
        return False
    wanted = {
        name: _checked(name, consumed(capacity, requests.get(name)))
        for name, capacity in device.capacity.items()
    }
    return all(
        not _violates_policy(wanted[name], capacity)
        and nano_of(wanted[name]) + taken.get(name, 0) + allocating.get(name, 0)
        <= nano(capacity.value)
        for name, capacity in device.capacity.items()
    )


def _left(device: PoolDevice, taken: Amounts, allocating: Amounts) -> bool:
    return all(taken.get(name, 0) + allocating.get(name, 0) <= 0 for name in device.capacity)


def consumed_capacity(device: PoolDevice, requests: Mapping[str, str]) -> dict[str, Quantity]:
    """What a request takes of each capacity of a device."""
    return {
        name: consumed(capacity, requests.get(name)) for name, capacity in device.capacity.items()
    }


def consumed(capacity: DeviceCapacity, requested: str | None) -> Quantity:
    """What a request consumes: its amount, rounded by the policy; without one, the default."""
    policy = capacity.request_policy
    if requested is None:
        default = policy.default if policy is not None else None
        return quantity.parse(default if default is not None else capacity.value)
    asked = quantity.parse(requested)
    if policy is None:
        return asked
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(asked, policy.valid_range)
    values = (quantity.parse(each) for each in policy.valid_values)
    return next((value for value in values if asked <= value), asked)


def nano_of(amount: Quantity) -> int:
    return amount.amount * 10 ** (amount.scale + 9) if amount.amount else 0


def _checked(name: str, amount: Quantity) -> Quantity:
    if amount.amount < 0:
        raise CapacityError(f'capacity "{name}": {NEGATIVE}')
    return amount


def _rounded_up(asked: Quantity, valid: CapacityRequestPolicyRange) -> Quantity:
    least = quantity.parse(valid.min or "0")
    if asked < least:
        return least
    step = quantity.parse(valid.step or "0")
    if not step.value:
        return asked
    if asked > Quantity(int64.MAX):
        raise CapacityError(f"{NOT_REPRESENTABLE}: request {asked} exceeds MaxInt64")
    steps = -(-(asked.value - least.value) // step.value)
    total = least.value + step.value * steps
    if not int64.fits(total):
        detail = f"rounding request {asked} up to the next step passes MaxInt64"
        raise CapacityError(f"{NOT_REPRESENTABLE}: {detail}")
    return Quantity(total, 0, step.form)


def _violates_policy(amount: Quantity, capacity: DeviceCapacity) -> bool:
    policy = capacity.request_policy
    if policy is None or (policy.default is not None and amount == quantity.parse(policy.default)):
        return False
    if policy.valid_range is not None:
        return _violates_range(amount, policy.valid_range)
    values = [quantity.parse(each) for each in policy.valid_values]
    return bool(values) and amount not in values


def _violates_range(amount: Quantity, valid: CapacityRequestPolicyRange) -> bool:
    if valid.max is not None and amount > quantity.parse(valid.max):
        return True
    step = quantity.parse(valid.step or "0").value
    least = quantity.parse(valid.min).value if valid.min is not None else 0
    return step != 0 and (amount.value - least) % step != 0
