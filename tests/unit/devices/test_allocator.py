"""What the search knows of a device from before changes what it costs, not what it finds."""

import contextlib
from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_slices import DeviceClass, ResourceSlice
from moorage.devices.allocator import Allocator
from moorage.devices.claim_tracker import ClaimTracker
from moorage.devices.inventory import Inventory
from moorage.devices.node_pools import PoolIndex
from moorage.devices.requests import AllocationError
from moorage.devices.selection import MOST_KEPT
from moorage.devices.work_budget import (
    STEP_UNITS,
    UNITS_PER_SECOND,
    UNLIMITED,
    OverBudgetError,
    WorkBudget,
)
from moorage.testing import node

DRIVER = "gpu.example.com"
CLASS = decode_as({"metadata": {"name": "gpu"}, "spec": {}}, DeviceClass)
NEW = f"device.attributes['{DRIVER}'].model == 'new'"


class Search:
    """Searches on one node, one after the other."""

    def __init__(self, *devices: dict[str, Any]) -> None:
        pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "pool": pool, "nodeName": "a", "devices": list(devices)}
        inventory = Inventory()
        inventory.put_slice(decode_as({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice))
        self.tracker = ClaimTracker(inventory)
        self.inventory = inventory
        self._pools = PoolIndex(inventory)
        self._node = node("a").build()

    def known(self) -> dict[Any, bytearray]:
        return self._pools.of(self._node)._looked_at

    def find(self, claim: ResourceClaim, budget: WorkBudget = UNLIMITED) -> list[str] | None:
        pools = self._pools.of(self._node)
        allocator = Allocator(self._node, pools, self.tracker.ledger, lambda name: CLASS, budget)
        found = allocator.allocate([claim])
        return None if found is None else [pick.device.id.device for pick in found[0].picks]


def device(name: str, model: str = "", numa: int | None = None, **more: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {"model": {"string": model}} if model else {}
    if numa is not None:
        attributes["numa"] = {"int": numa}
    return {"name": name, "attributes": attributes, **more}


def claim(*selectors: str, same: str = "", held: str = "", capacity: str = "") -> ResourceClaim:
    """One request for each selector; an empty one selects every device."""
    requests = []
    for number, selector in enumerate(selectors):
        exactly: dict[str, Any] = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
        exactly |= {"count": 1}
        if selector:
            exactly["selectors"] = [{"cel": {"expression": selector}}]
        if capacity:
            exactly["capacity"] = {"requests": {"memory": capacity}}
        requests.append({"name": f"r{number}", "exactly": exactly})
    devices: dict[str, Any] = {"requests": requests}
    if same:
        devices["constraints"] = [{"matchAttribute": f"{DRIVER}/{same}"}]
    result = {"request": "r0", "driver": DRIVER, "pool": "p", "device": held}
    status = {"allocation": {"devices": {"results": [result]}}} if held else {}
    metadata = {"name": f"c{held}", "namespace": "default", "uid": f"u{held}"}
    raw = {"metadata": metadata, "spec": {"devices": devices}, "status": status}
    return decode_as(raw, ResourceClaim)


def test_a_selector_is_not_asked_of_a_device_that_is_in_use() -> None:
    search = Search(device("odd"), device("b", "new"))
    search.tracker.put(claim("", held="odd"))

    assert search.find(claim(NEW)) == ["b"]


def test_a_selector_that_fails_ends_the_search_though_a_constraint_refuses_the_device() -> None:
    search = Search(device("a", "new", 0), device("odd", numa=1), device("c", "new", 0))

    with pytest.raises(AllocationError, match="odd"):
        search.find(claim(NEW, NEW, same="numa"))


def test_a_device_that_came_free_is_found_again() -> None:
    search, held = Search(device("a", "new"), device("b", "old")), claim("", held="a")
    search.tracker.put(held)
    before = search.find(claim(NEW))
    search.tracker.remove(held)

    assert before is None
    assert search.find(claim(NEW)) == ["a"]


def test_other_selectors_are_asked_anew() -> None:
    search = Search(device("a", "new"), device("b", "old"))

    assert search.find(claim(NEW)) == ["a"]
    assert search.find(claim(NEW.replace("new", "old"))) == ["b"]
    assert search.find(claim("")) == ["a"]


def test_capacity_that_is_asked_for_counts_though_it_was_not_before() -> None:
    small = {"capacity": {"memory": {"value": "1Gi"}}}
    search = Search(device("a", "new", 0, **small), device("b", "new", 0, **small))

    assert search.find(claim(NEW, NEW, same="numa")) == ["a", "b"]
    assert search.find(claim(NEW, NEW, same="numa", capacity="2Gi")) is None


def test_every_device_that_is_looked_at_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten of 24 GPUs and then one of 200 network cards, none of which will do."""
    tainted: dict[str, Any] = {"taints": [{"key": "maintenance", "effect": "NoSchedule"}]}
    gpus = [device(f"g{number}", "new") for number in range(24)]
    search = Search(*gpus, *(device(f"n{number}", "nic", **tainted) for number in range(200)))
    looked = 0
    real = Allocator._is_taken

    def counted(self: Allocator, *args: Any) -> bool:
        nonlocal looked
        looked += 1
        return real(self, *args)

    monkeypatch.setattr(Allocator, "_is_taken", counted)
    budget = WorkBudget(0.05)

    with budget.part(10.0), pytest.raises(OverBudgetError):
        search.find(claim(*[NEW] * 10, NEW.replace("new", "nic")), budget)

    assert 500 < looked <= 2 * 0.05 * UNITS_PER_SECOND / STEP_UNITS


def test_selectors_that_were_paid_for_need_not_be_paid_for_again() -> None:
    """So a search whose attempt was out of budget comes to an end in one of the next."""
    dear = "lists.range(100).all(x, lists.range(100).all(y, x + y >= 0))"
    search = Search(*(device(f"d{number}") for number in range(6)))
    budget, attempts = WorkBudget(0.08), 0
    found: list[str] | None = None
    while found is None and attempts < 10:
        attempts += 1
        budget.renew()
        with contextlib.suppress(OverBudgetError), budget.part(10.0):
            found = search.find(claim(*[dear] * 6), budget)

    assert found == [f"d{number}" for number in range(6)]
    assert attempts == 3


def test_selectors_of_claims_that_come_and_go_are_forgotten() -> None:
    """What an author of claims makes up is kept for a while: results, and the texts of errors."""
    search = Search(device("d", "new"))
    (entry,) = search.inventory.slices()
    kept: list[int] = []
    for number in range(2 * MOST_KEPT):
        assert search.find(claim(f"{number} >= 0")) == ["d"]
        with pytest.raises(AllocationError):
            search.find(claim(f"1 / 0 == {number}"))
        kept.append(max(len(entry.verdicts), len(entry.errors), len(search.known())))

    assert max(kept) == MOST_KEPT
