"""Devices that have to be made ready, and API servers that serve betas alone."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Running, eventually, play, running
from tests.integration.making import Raw, node
from tests.integration.test_claims import (
    CLAIMS,
    DRIVER,
    claim,
    claims,
    device_class,
    devices_of,
    releasing,
    resource_slice,
    using,
)

pytestmark = pytest.mark.kube

READY, FAILED = "example.com/ready", "example.com/failed"


def to_be_prepared(where: str, count: int) -> Raw:
    """A slice whose devices are bound to their node and prepared before the pod is."""
    made = resource_slice(where, *["new"] * count)
    for device in made["spec"]["devices"]:
        device |= {
            "bindsToNode": True,
            "bindingConditions": [READY],
            "bindingFailureConditions": [FAILED],
        }
    return made


async def allocated(under_test: Running, name: str) -> Raw:
    async def look() -> Raw | None:
        found = (await claims(under_test))[name]
        return found if devices_of(found) else None

    return await eventually(look, lambda: f"{under_test.seen.failures}")


async def report(under_test: Running, found: Raw, condition: str) -> None:
    """What the driver says of the claim's device."""
    (held,) = found["status"]["allocation"]["devices"]["results"]
    told = {"type": condition, "status": "True", "reason": "Told", "message": "by the driver"}
    told["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    device = {key: held[key] for key in ("driver", "pool", "device")}
    status = {"devices": [{**device, "conditions": [told]}]}
    path = f"{CLAIMS}/{found['metadata']['name']}/status"
    await under_test.request("PATCH", path, {"status": status})


def test_a_pod_is_bound_once_its_device_is_ready(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), device_class(), to_be_prepared("n1", 1))
        async with releasing(under_test):
            await under_test.create(claim("c"), using("a", "c"))
            found = await allocated(under_test, "c")
            await asyncio.sleep(0.5)
            assert not (await under_test.pods())["a"]["spec"].get("nodeName")
            assert found["status"]["allocation"]["allocationTimestamp"]

            await report(under_test, found, READY)

            assert await under_test.placed("a") == {"a": "n1"}

    play(plane, scenario)


def test_a_device_that_fails_is_given_up_for_another(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), device_class(), to_be_prepared("n1", 1))
        async with releasing(under_test):
            await under_test.create(claim("c"), using("a", "c"))
            found = await allocated(under_test, "c")
            await under_test.create(node("n2"), resource_slice("n2", "new"))
            await under_test.request("DELETE", "/apis/resource.k8s.io/v1/resourceslices/n1-gpus")

            await report(under_test, found, FAILED)

            assert await under_test.placed("a") == {"a": "n2"}
            assert devices_of((await claims(under_test))["c"]) == ["n2/gpu-0"]

    play(plane, scenario)


def test_a_device_that_does_not_become_ready_in_time_is_given_up(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), device_class(), to_be_prepared("n1", 1))
        async with releasing(under_test):
            await under_test.create(claim("c"), using("a", "c"))
            await allocated(under_test, "c")
            await under_test.create(node("n2"), resource_slice("n2", "new"))
            await under_test.request("DELETE", "/apis/resource.k8s.io/v1/resourceslices/n1-gpus")

            assert await under_test.placed("a") == {"a": "n2"}

    impatient = {"name": "DynamicResources", "args": {"bindingTimeout": "2s"}}
    play(plane, scenario, profiles=[{"schedulerName": "moorage", "pluginConfig": [impatient]}])


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_beta_is_enough(programs: Path, tmp_path: Path, version: str) -> None:
    """Where v1 is not served, what is written is written as the beta has it."""
    others = {"v1", "v1beta1", "v1beta2"} - {version}
    served = [f"resource.k8s.io/{version}=true", *(f"resource.k8s.io/{v}=false" for v in others)]
    flag = f"--runtime-config={','.join(sorted(served))}"

    async def main(plane: ControlPlane) -> None:
        path = CLAIMS.replace("/v1/", f"/{version}/")
        async with running(plane, agree=False) as under_test:
            made = (node("n1"), device_class(), resource_slice("n1", "new"), claim("c"))
            await under_test.create(*(_as(each, version) for each in made), using("a", "c"))

            assert await under_test.placed("a") == {"a": "n1"}

            found = await under_test.request("GET", f"{path}/c")
            assert devices_of(found) == ["n1/gpu-0"]
            assert found["status"]["allocation"]["devices"]["results"][0]["driver"] == DRIVER

    with ControlPlane(programs, tmp_path / "control-plane", flag) as plane:
        asyncio.run(main(plane))


def _as(raw: Raw, version: str) -> Raw:
    """An object of v1 as a beta has it: the first one nests less, and has `basic` devices."""
    if not raw["apiVersion"].startswith("resource.k8s.io"):
        return raw
    made = {**raw, "apiVersion": f"resource.k8s.io/{version}"}
    spec = dict(raw["spec"])
    if version == "v1beta1" and raw["kind"] == "ResourceSlice":
        spec["devices"] = [
            {"name": each["name"], "basic": {k: v for k, v in each.items() if k != "name"}}
            for each in spec["devices"]
        ]
    if version == "v1beta1" and raw["kind"] == "ResourceClaim":
        requests = [{"name": r["name"], **r["exactly"]} for r in spec["devices"]["requests"]]
        spec = {"devices": {"requests": requests}}
    return {**made, "spec": spec}
