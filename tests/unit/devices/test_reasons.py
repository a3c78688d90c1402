"""Why a claim is not met, said of every cluster and at a bounded cost."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_slices import DeviceClass, ResourceSlice
from moorage.devices.device_cache import DeviceCache, device_cache
from moorage.devices.reasons import unmet_claim
from moorage.devices.work_budget import WorkBudget
from moorage.testing import Cluster, node

DRIVER = "gpu.example.com"
DEAR = "lists.range(100).all(x, lists.range(100).all(y, x + y >= 0))"


def devices(count: int) -> DeviceCache:
    cluster = Cluster(node("a"))
    cluster.add(decode_as({"metadata": {"name": "gpu"}, "spec": {}}, DeviceClass))
    spec = {
        "driver": DRIVER,
        "nodeName": "a",
        "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{number}"} for number in range(count)],
    }
    cluster.add(decode_as({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice))
    return device_cache(cluster.cache)


def claim(count: int, selector: str = "") -> ResourceClaim:
    exactly: dict[str, Any] = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
    exactly["count"] = count
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    metadata = {"name": "c", "namespace": "default", "uid": "u"}
    return decode_as({"metadata": metadata, "spec": spec}, ResourceClaim)


@pytest.mark.parametrize(
    ("count", "selector", "want"),
    [
        pytest.param(
            2, "", "of 1 in the cluster 1 would do", id="too few devices, all of them free"
        ),
        pytest.param(
            1,
            "device.driver == 'other'",
            "of 1 in the cluster 1 fail selector #0 (device.driver == 'other'); "
            f"nearest is {DRIVER}/a/gpu-0",
            id="none that is selected",
        ),
    ],
)
def test_an_unmet_request_says_how_many_devices_fail_what(
    count: int, selector: str, want: str
) -> None:
    asks = f"asks {count} device(s) for request r of claim c; "

    assert list(unmet_claim(devices(1), claim(count, selector), WorkBudget())) == [asks + want]


def test_selectors_that_are_too_dear_to_explain_are_not_run_to_the_end() -> None:
    budget = WorkBudget(0.01)

    assert list(unmet_claim(devices(100), claim(101, DEAR), budget)) == [
        "has selectors that take too long to say more (claim c)"
    ]
    assert budget.is_spent
