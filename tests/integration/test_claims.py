"""Claims on a real API server: devices are allocated, reserved and shared, none of them twice."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from moorage.watch.api_errors import Unreachable
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Running, eventually, play, running
from tests.integration.making import Raw, node, pod

pytestmark = pytest.mark.kube

DRIVER = "gpu.example.com"
GROUP = "resource.k8s.io/v1"
CLAIMS = f"/apis/{GROUP}/namespaces/default/resourceclaims"
FINALIZER = "resource.kubernetes.io/delete-protection"
RESOURCE = "example.com/gpu"


def device_class() -> Raw:
    chosen = [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]
    spec = {"selectors": chosen, "extendedResourceName": RESOURCE}
    return {
        "apiVersion": GROUP,
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": spec,
    }


def resource_slice(where: str, *models: str) -> Raw:
    devices = [
        {"name": f"gpu-{index}", "attributes": {"model": {"string": model}}}
        for index, model in enumerate(models)
    ]
    pool = {"name": where, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": where, "pool": pool, "devices": devices}
    return {
        "apiVersion": GROUP,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{where}-gpus"},
        "spec": spec,
    }


def claim(name: str, model: str = "") -> Raw:
    exactly: Raw = {"deviceClassName": "gpu"}
    if model:
        chosen = f"device.attributes['{DRIVER}'].model == '{model}'"
        exactly["selectors"] = [{"cel": {"expression": chosen}}]
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


def using(name: str, of: str) -> Raw:
    return pod(name, resourceClaims=[{"name": "devices", "resourceClaimName": of}])


async def claims(under_test: Running) -> dict[str, Raw]:
    listed = await under_test.request("GET", CLAIMS)
    return {each["metadata"]["name"]: each for each in listed["items"]}


def devices_of(found: Raw) -> list[str]:
    allocation = found.get("status", {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return [f"{each['pool']}/{each['device']}" for each in results]


@contextlib.asynccontextmanager
async def releasing(under_test: Running) -> AsyncIterator[None]:
    """Let claims be deleted at the end: nobody is here to do so for pods that are gone."""
    try:
        yield
    finally:
        for name in await claims(under_test):
            patch: dict[str, Any] = {"metadata": {"finalizers": None}}
            await under_test.request("PATCH", f"{CLAIMS}/{name}", patch)


def test_a_claim_is_allocated_and_reserved_before_its_pod_is_bound(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        offered = resource_slice("n1", "old"), resource_slice("n2", "old", "new")
        await under_test.create(node("n1"), node("n2"), device_class(), *offered)
        async with releasing(under_test):
            await under_test.create(claim("c", "new"), using("a", "c"), using("b", "c"))

            assert await under_test.placed("a", "b") == {"a": "n2", "b": "n2"}

            found = (await claims(under_test))["c"]
            assert devices_of(found) == ["n2/gpu-1"]
            assert FINALIZER in found["metadata"]["finalizers"]
            assert {each["name"] for each in found["status"]["reservedFor"]} == {"a", "b"}

    play(plane, scenario)


def test_no_device_is_in_two_claims_and_pods_wait_for_those_that_are_taken(
    plane: ControlPlane,
) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), node("n2"), device_class())
        await under_test.create(resource_slice("n1", *"abc"), resource_slice("n2", *"ab"))
        async with releasing(under_test):
            wanted = [f"p{number}" for number in range(7)]
            for name in wanted:
                await under_test.create(claim(name), using(name, name))

            async def five_are_bound() -> bool:
                pods = await under_test.pods()
                return sum(bool(pods[name]["spec"].get("nodeName")) for name in wanted) == 5

            await eventually(five_are_bound, lambda: f"{under_test.seen.failures}")

            held = Counter(
                d for each in (await claims(under_test)).values() for d in devices_of(each)
            )
            assert len(held) == 5
            assert set(held.values()) == {1}

    play(plane, scenario)


def test_a_pod_that_waits_for_a_device_gets_it_when_it_is_published(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), device_class(), claim("c"), using("a", "c"))
        async with releasing(under_test):
            waits = await under_test.condition("a", "Unschedulable")
            assert "cannot allocate all claims" in waits["message"]

            await under_test.create(resource_slice("n1", "new"))

            assert await under_test.placed("a") == {"a": "n1"}

    play(plane, scenario)


def test_an_extended_resource_is_met_by_devices_through_a_claim_of_its_own(
    plane: ControlPlane,
) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"))
        async with releasing(under_test):
            asking = pod("a")
            asked = {RESOURCE: "1"}
            container = asking["spec"]["containers"][0]
            container["resources"]["requests"] |= asked
            container["resources"]["limits"] = asked
            await under_test.create(asking)
            await under_test.condition("a", "Unschedulable")
            await under_test.create(device_class(), resource_slice("n1", "new"))

            await under_test.placed("a")

            status = (await under_test.pods())["a"]["status"]["extendedResourceClaimStatus"]
            made = (await claims(under_test))[status["resourceClaimName"]]
            assert devices_of(made) == ["n1/gpu-0"]
            assert status["requestMappings"][0]["resourceName"] == RESOURCE

    play(plane, scenario)


def test_what_was_allocated_before_a_restart_is_taken_up_and_nothing_is_taken_twice(
    plane: ControlPlane,
) -> None:
    """The first scheduler allocates and cannot bind; a second one goes on from what it finds."""
    names = [f"p{number}" for number in range(3)]

    async def unreachable(*_: object, **__: object) -> None:
        raise Unreachable("the reply was lost")

    async def first() -> None:
        async with running(plane, agree=False) as under_test:
            under_test.server.bind = unreachable  # type: ignore[method-assign]
            await under_test.create(node("n1"), device_class(), resource_slice("n1", *"abc"))
            for name in names:
                await under_test.create(claim(name), using(name, name))

            async def all_allocated() -> bool:
                found = await claims(under_test)
                return all(devices_of(found[name]) for name in names)

            await eventually(all_allocated, lambda: f"{under_test.seen.failures}")

    async def second() -> None:
        async with running(plane) as under_test, releasing(under_test):
            await under_test.placed(*names)
            found = await claims(under_test)
            held = Counter(device for each in found.values() for device in devices_of(each))
            assert set(held.values()) == {1}
            for name in names:
                users = [each["name"] for each in found[name]["status"]["reservedFor"]]
                assert users == [name]

    asyncio.run(first())
    asyncio.run(second())
