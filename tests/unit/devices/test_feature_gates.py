"""Features of devices that are off unless their gates are opened, as the search sees them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_slices import DeviceClass, ResourceSlice
from moorage.devices.allocator import Allocator
from moorage.devices.claim_tracker import ClaimTracker
from moorage.devices.feature_gates import DEFAULT, Features, features_of
from moorage.devices.inventory import Inventory
from moorage.devices.node_pools import PoolIndex
from moorage.devices.work_budget import UNLIMITED
from moorage.testing import node

DRIVER = "gpu.example.com"
CLASS = decode_as({"metadata": {"name": "gpu"}, "spec": {}}, DeviceClass)
GROUPS = features_of({"DRADeviceCompatibilityGroups": True})
LISTS = features_of({"DRAListTypeAttributes": True})
MODEL = f"{DRIVER}/model"


def claim(
    count: int = 1, constraint: Mapping[str, str] | None = None, held: Sequence[str] = ()
) -> ResourceClaim:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    devices: dict[str, Any] = {"requests": [{"name": "r", "exactly": exactly}]}
    if constraint is not None:
        devices["constraints"] = [dict(constraint)]
    results = [{"request": "r", "driver": DRIVER, "pool": "p", "device": device} for device in held]
    status = {"allocation": {"devices": {"results": results}}} if held else {}
    metadata = {"name": f"c{'-'.join(held)}", "namespace": "default", "uid": f"u{held}"}
    raw = {"metadata": metadata, "spec": {"devices": devices}, "status": status}
    return decode_as(raw, ResourceClaim)


def slices(devices: Sequence[Mapping[str, Any]], counters: int = 0) -> list[ResourceSlice]:
    """The slices of one pool, with a slice of counters where devices draw on some."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2 if counters else 1}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": "a"}
    made: list[dict[str, Any]] = [{**spec, "devices": list(devices)}]
    if counters:
        shared = {"name": "set", "counters": {"memory": {"value": str(counters)}}}
        made.append({**spec, "sharedCounters": [shared]})
    return [
        decode_as({"metadata": {"name": f"s{number}"}, "spec": each}, ResourceSlice)
        for number, each in enumerate(made)
    ]


def partition(name: str, *groups: str) -> dict[str, Any]:
    taken: dict[str, Any] = {"counterSet": "set", "counters": {"memory": {"value": "1"}}}
    if groups:
        taken["compatibilityGroups"] = list(groups)
    return {"name": name, "consumesCounters": [taken]}


def listed(name: str, **value: Any) -> dict[str, Any]:
    return {"name": name, "attributes": {"model": value}}


def found(
    offered: Sequence[ResourceSlice],
    wanted: ResourceClaim,
    features: Features,
    *others: ResourceClaim,
) -> list[str] | None:
    """The devices that a claim gets on the only node; None where it gets none."""
    inventory = Inventory()
    tracker = ClaimTracker(inventory)
    for each in offered:
        inventory.put_slice(each)
    for other in others:
        tracker.put(other)
    where = node("a").build()
    pools = PoolIndex(inventory).of(where, features)
    allocator = Allocator(where, pools, tracker.ledger, lambda name: CLASS, UNLIMITED, features)
    result = allocator.allocate([wanted])
    return None if result is None else [pick.device.id.device for pick in result[0].picks]


def test_gates_of_other_features_open_nothing() -> None:
    assert features_of({"GenericWorkload": True, "DRAListTypeAttributes": False}) == DEFAULT


@pytest.mark.parametrize(
    ("devices", "want"),
    [
        pytest.param(
            [partition("a", "mig"), partition("b", "mig")], ["a", "b"], id="a group in common"
        ),
        pytest.param(
            [partition("a", "mig"), partition("b", "vfio")], None, id="no group in common"
        ),
        pytest.param([partition("a"), partition("b")], ["a", "b"], id="no groups at all"),
        pytest.param([partition("a", "mig"), partition("b")], None, id="one without groups"),
        pytest.param(
            [partition("a", "mig"), partition("b", "vfio"), partition("c", "vfio", "x")],
            ["b", "c"],
            id="the search goes back where the first device has no partner",
        ),
    ],
)
def test_devices_on_one_counter_set_go_together_by_their_groups(
    devices: list[dict[str, Any]], want: list[str] | None
) -> None:
    assert found(slices(devices, counters=8), claim(2), GROUPS) == want


def test_three_devices_need_one_group_that_all_of_them_have() -> None:
    pairwise = [partition("a", "x", "y"), partition("b", "y", "z"), partition("c", "z", "x")]

    assert found(slices(pairwise, counters=8), claim(2), GROUPS) == ["a", "b"]
    assert found(slices(pairwise, counters=8), claim(3), GROUPS) is None


def test_groups_of_devices_that_were_given_out_before_count() -> None:
    offered = slices(
        [partition("a", "mig"), partition("b", "vfio"), partition("c", "mig")], counters=8
    )

    assert found(offered, claim(), GROUPS, claim(held=["a"])) == ["c"]


def test_without_the_gate_a_pool_with_groups_is_incomplete() -> None:
    offered = slices([partition("a", "mig")], counters=8)

    assert found(offered, claim(), DEFAULT) is None
    assert found(offered, claim(), GROUPS) == ["a"]


@pytest.mark.parametrize(
    ("devices", "want"),
    [
        pytest.param(
            [listed("a", strings=["x"]), listed("b", strings=["y", "z"]), listed("c", string="z")],
            ["b", "c"],
            id="a list and a single value",
        ),
        pytest.param(
            [listed("a", ints=[1, 2]), listed("b", strings=["1"]), listed("c", ints=[2, 3])],
            ["a", "c"],
            id="a number is not a text",
        ),
        pytest.param([listed("a", bools=[True]), listed("b", bools=[False])], None, id="bools"),
        pytest.param(
            [listed("a", versions=["1.0.0"]), listed("b", version="1.0.0")],
            ["a", "b"],
            id="versions",
        ),
        pytest.param([listed("a", strings=[]), listed("b", strings=["x"])], None, id="empty"),
    ],
)
def test_with_the_gate_devices_match_by_a_value_that_all_have(
    devices: list[dict[str, Any]], want: list[str] | None
) -> None:
    assert found(slices(devices), claim(2, {"matchAttribute": MODEL}), LISTS) == want


def test_three_devices_match_by_one_value_that_all_of_them_have() -> None:
    pairwise = [
        listed("a", strings=["x", "y"]),
        listed("b", strings=["y", "z"]),
        listed("c", strings=["z", "x"]),
    ]

    assert found(slices(pairwise), claim(3, {"matchAttribute": MODEL}), LISTS) is None


def test_with_the_gate_devices_are_distinct_that_have_no_value_in_common() -> None:
    devices = [
        listed("a", strings=["x", "y"]),
        listed("b", strings=["y"]),
        listed("c", string="z"),
    ]

    assert found(slices(devices), claim(2, {"distinctAttribute": MODEL}), LISTS) == ["a", "c"]


def test_without_the_gate_lists_match_nothing() -> None:
    devices = [listed("a", strings=["x"]), listed("b", strings=["x"])]

    assert found(slices(devices), claim(2, {"matchAttribute": MODEL}), DEFAULT) is None
