"""How much of a shared device's capacity a request consumes, whatever its policy says."""

import pytest

from moorage.api import quantity
from moorage.api.resource_slices import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    DeviceCapacity,
)
from moorage.devices.capacity import consumed


@pytest.mark.parametrize(
    ("step", "want"),
    [("2", "6"), ("0", "5"), ("-0m", "5"), (None, "5")],
    ids=["rounded up to a step", "no step of nothing", "nor of less", "no step at all"],
)
def test_an_amount_is_rounded_up_to_the_next_step(step: str | None, want: str) -> None:
    valid = CapacityRequestPolicyRange(min="2", max="8", step=step)
    capacity = DeviceCapacity(value="8", request_policy=CapacityRequestPolicy(valid_range=valid))

    assert consumed(capacity, "5") == quantity.parse(want)
