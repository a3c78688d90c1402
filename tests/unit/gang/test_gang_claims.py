"""Groups whose pods have claims: what is in the way of a group is given up."""

from typing import Any

import pytest

from moorage.devices import work_budget
from moorage.devices.work_budget import ATTEMPT_SECONDS, WorkBudget
from moorage.observe.records import Result
from moorage.testing import PodBuilder, node, pod
from moorage.watch.api_resources import RESOURCES
from tests.unit.gang.gang_world import GangWorld, Raw, group, members, settle, vips
from tests.unit.preemption.preemption_world import low

DRIVER = "gpu.example.com"
DEVICE_API = "resource.k8s.io/v1"
GPU_CLASS: Raw = {
    "apiVersion": DEVICE_API,
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {},
}


def offered(where: str, gpus: int = 1) -> Raw:
    """A node's GPUs."""
    return {
        "apiVersion": DEVICE_API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{where}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": where,
            "pool": {"name": where, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{number}"} for number in range(gpus)],
        },
    }


def allocated(name: str, where: str, **status: Any) -> Raw:
    """A claim that has the GPU of a node."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    field = {"key": "metadata.name", "operator": "In", "values": [where]}
    result = {"request": "r", "driver": DRIVER, "pool": where, "device": "gpu-0"}
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    return {
        "apiVersion": DEVICE_API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        "status": {"allocation": allocation, **status},
    }


def with_claim(wanted: PodBuilder, claim: str) -> PodBuilder:
    return wanted.with_spec(resourceClaims=[{"name": "c", "resourceClaimName": claim}])


def small_and_large(*objects: Raw, **spec: Any) -> GangWorld:
    """A group of two, one of which has a claim whose device is where there is no room for it."""
    first, second = members("web", 2)
    nodes = node("small").offering(cpu="500m"), node("large").offering(cpu="4")
    slices = offered("small"), offered("large")
    return GangWorld(
        *nodes,
        *slices,
        GPU_CLASS,
        *objects,
        group("web", 2, **spec),
        first,
        with_claim(second, "c"),
    )


def test_an_idle_claim_in_the_way_of_a_group_is_deallocated_and_the_group_runs() -> None:
    world = small_and_large(allocated("c", "small"))

    world.run()

    assert world.bound() == {"web-0": "large", "web-1": "large"}


def test_a_claim_that_somebody_uses_stays_where_it_is() -> None:
    user = {"resource": "pods", "name": "other", "uid": "uid-other"}
    world = small_and_large(allocated("c", "small", reservedFor=[user]))

    world.run()

    assert not world.bound()
    claim = world.cluster.read(RESOURCES["resourceclaims"], "default", "c")
    assert claim["status"]["allocation"]["devices"]["results"][0]["pool"] == "small"


def dear(number: int) -> Raw:
    """A claim whose selector costs 90,000 units on each device; others have to pay for theirs."""
    selector = f"lists.range(100).all(x, lists.range(100).all(y, x + y >= -{number}))"
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    exactly |= {"selectors": [{"cel": {"expression": selector}}]}
    return {
        "apiVersion": DEVICE_API,
        "kind": "ResourceClaim",
        "metadata": {"name": f"dear-{number}", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }


def test_the_pods_of_a_group_share_the_budget_of_one_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are refused as by a time-out, others go on, and in the end they run."""
    monkeypatch.setattr(work_budget, "UNITS_PER_SECOND", 50_000)
    spent: list[float] = []
    renew = WorkBudget.renew

    def noted(self: WorkBudget) -> None:
        spent.append(ATTEMPT_SECONDS * 50_000 - getattr(self, "_left", ATTEMPT_SECONDS * 50_000))
        renew(self)

    monkeypatch.setattr(WorkBudget, "renew", noted)
    pods = [with_claim(each, f"dear-{i}") for i, each in enumerate(members("web", 4))]
    world = GangWorld(
        node("a").offering(cpu="64"),
        offered("a", gpus=4),
        GPU_CLASS,
        *(dear(number) for number in range(4)),
        group("web", 4),
        *pods,
        pod("other").requesting(cpu="1"),
    )

    world.run()

    whole = ATTEMPT_SECONDS * 50_000
    assert 0.9 * whole < max(spent) <= 1.01 * whole
    assert sum(spent) > 3 * whole
    assert (
        "running Filter plugin 'DynamicResources': node a: timed out trying to allocate devices"
        in {each.message for each in world.attempts if each.result is Result.ERROR}
    )
    assert set(world.bound()) == {"other", *(f"web-{number}" for number in range(4))}
    first = next(each.pod for each in world.attempts if each.result is Result.SCHEDULED)
    assert first == "default/other"


def claim(name: str) -> Raw:
    made = allocated(name, "")
    del made["status"]
    return made


def two_for(*claims: str) -> list[PodBuilder]:
    return [with_claim(made, name) for made, name in zip(vips(2), claims, strict=True)]


def test_nobody_is_evicted_for_a_group_whose_claims_want_the_same_device() -> None:
    world = GangWorld(
        node("a").offering(cpu="4"),
        offered("a"),
        GPU_CLASS,
        claim("c1"),
        claim("c2"),
        low("low", "a", cpu="4"),
        group("vip", 2),
        *two_for("c1", "c2"),
    )

    async def story(world: GangWorld) -> None:
        await settle(world, 400)
        assert world.bound() == {"low": "a"}
        assert world.evictions == []
        second = offered("a")
        second["spec"]["devices"].append({"name": "gpu-1"})
        world.apply(second)
        await settle(world, 400)

    world.run(story)

    assert world.bound() == {"vip-0": "a", "vip-1": "a"}


def test_room_is_made_for_a_group_whose_pods_share_a_claim() -> None:
    world = GangWorld(
        node("a").offering(cpu="4"),
        offered("a"),
        GPU_CLASS,
        claim("c"),
        low("low", "a", cpu="4"),
        group("vip", 2),
        *two_for("c", "c"),
    )

    world.run()

    assert world.bound() == {"vip-0": "a", "vip-1": "a"}


def test_room_is_not_held_for_good_for_a_group_that_lacks_something_else() -> None:
    """All the room that it needs is there and held, and still it does not start."""
    world = GangWorld(
        node("a").offering(cpu="2"),
        offered("a"),
        GPU_CLASS,
        claim("c1"),
        claim("c2"),
        low("first", "a", cpu="2"),
        group("vip", 2),
        *two_for("c1", "c2"),
    )

    async def story(world: GangWorld) -> None:
        await settle(world, 400)
        await world.finish("first")
        world.apply(pod("next").requesting(cpu="2"))
        await settle(world, 10)
        assert (
            "room that is held for PodGroup(s) [default/vip]" in world.condition("next")["message"]
        )
        await settle(world, 180)

    world.run(story)

    assert world.bound() == {"next": "a"}
