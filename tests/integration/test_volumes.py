"""Volumes on a real API server: claims are bound together with the pods that wait for them."""

from typing import Any

import pytest

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Running, eventually, play
from tests.integration.making import Raw, node, pod
from tests.integration.storage import (
    CLAIMS,
    NO_PROVISIONER,
    PROVISIONER,
    SELECTED_NODE,
    VOLUMES,
    ZONE,
    Controllers,
    capacity,
    claim,
    driver,
    mounting,
    storage_class,
    volume,
)

pytestmark = pytest.mark.kube

LOCAL = storage_class("local", NO_PROVISIONER)
MADE = storage_class("made", PROVISIONER)
NODES = (node("n1", labels={ZONE: "a"}, cpu="32"), node("n2", labels={ZONE: "b"}))
"""The first is the one to prefer, but for volumes."""


async def bound_claim(under_test: Running, name: str) -> Raw:
    """A claim, which must be bound, and before its pod was."""
    found: Raw = await under_test.request("GET", f"{CLAIMS}/{name}")
    assert found["status"]["phase"] == "Bound"
    volumes = await under_test.request("GET", f"{VOLUMES}/{found['spec']['volumeName']}")
    assert volumes["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]
    return found


def version(raw: Raw) -> int:
    return int(raw["metadata"]["resourceVersion"])


def test_a_claim_is_bound_to_a_volume_that_is_there_and_its_pod_goes_to_it(
    plane: ControlPlane,
) -> None:
    """The volume is in one zone only; nobody else waits while it is being bound."""

    async def scenario(under_test: Running) -> None:
        await under_test.create(*NODES, LOCAL, volume("disk", "local", "b"), claim("data", "local"))
        available = {"status": {"phase": "Available"}}
        await under_test.request("PATCH", f"{VOLUMES}/disk/status", available)
        await under_test.create(pod("db", volumes=mounting("data")))

        async def named() -> bool:
            found = await under_test.request("GET", f"{VOLUMES}/disk")
            return bool(found["spec"].get("claimRef", {}).get("name") == "data")

        await eventually(named, lambda: f"no claimRef; {under_test.seen.attempts}")
        await under_test.create(pod("other"))
        await under_test.placed("other")
        assert "nodeName" not in (await under_test.pods())["db"]["spec"]
        async with Controllers(under_test).working():
            assert await under_test.placed("db") == {"db": "n2"}

        found = await bound_claim(under_test, "data")
        assert found["spec"]["volumeName"] == "disk"
        assert version(found) < version((await under_test.pods())["db"])

    play(plane, scenario)


def test_a_volume_is_made_where_the_pod_will_run(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(*NODES, MADE, claim("data", "made"))
        async with Controllers(under_test).working() as controllers:
            await under_test.create(pod("db", volumes=mounting("data")))
            placed = await under_test.placed("db")

            assert controllers.provisioned == {"data": placed["db"]}
        found = await bound_claim(under_test, "data")
        assert found["metadata"]["annotations"][SELECTED_NODE] == placed["db"]
        assert version(found) < version((await under_test.pods())["db"])

    play(plane, scenario)


def test_a_pod_with_a_volume_that_is_there_and_one_to_be_made(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(*NODES, LOCAL, MADE, volume("disk", "local", "b"))
        await under_test.create(claim("kept", "local"), claim("scratch", "made"))
        async with Controllers(under_test).working() as controllers:
            await under_test.create(pod("db", volumes=mounting("kept", "scratch")))

            assert await under_test.placed("db") == {"db": "n2"}
            assert controllers.provisioned == {"scratch": "n2"}
        for name in ("kept", "scratch"):
            await bound_claim(under_test, name)

    play(plane, scenario)


def test_where_a_volume_cannot_be_made_the_pod_goes_elsewhere(plane: ControlPlane) -> None:
    """The zone that was chosen has no room, as its provisioner finds out only then."""

    async def scenario(under_test: Running) -> None:
        await under_test.create(*NODES, MADE, driver())
        await under_test.create(*(capacity(zone, "made", "10Gi") for zone in "ab"))
        await under_test.create(claim("data", "made"))
        async with Controllers(under_test, full={"a"}).working() as controllers:
            await under_test.create(pod("db", cpu="2", volumes=mounting("data")))

            assert await under_test.placed("db") == {"db": "n2"}
            assert controllers.given_back == ["data"]
        await bound_claim(under_test, "data")

    play(plane, scenario)


@pytest.mark.parametrize("spare", [0, 1], ids=["is told so", "has one when another comes"])
def test_a_pod_that_finds_no_volume(plane: ControlPlane, spare: int) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(*NODES, LOCAL, volume("disk", "local", "b"))
        await under_test.create(claim("one", "local"), claim("two", "local"))
        async with Controllers(under_test).working():
            await under_test.create(pod("first", volumes=mounting("one")))
            assert await under_test.placed("first") == {"first": "n2"}
            await under_test.create(pod("second", volumes=mounting("two")))

            condition = await under_test.condition("second", "Unschedulable")
            assert "didn't find available persistent volumes to bind" in condition["message"]
            if spare:
                await under_test.create(volume("disk2", "local", "a"))
                assert await under_test.placed("second") == {"second": "n1"}
                await bound_claim(under_test, "two")

    play(plane, scenario)


def test_a_claim_that_waits_for_nobody_is_waited_for(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        at_once = storage_class("at-once", NO_PROVISIONER, "Immediate")
        await under_test.create(*NODES, at_once, claim("data", "at-once"))
        await under_test.create(pod("db", volumes=mounting("data")))
        condition = await under_test.condition("db", "Unschedulable")
        assert "pod has unbound immediate PersistentVolumeClaims" in condition["message"]

        uid = (await under_test.request("GET", f"{CLAIMS}/data"))["metadata"]["uid"]
        ref: dict[str, Any] = {"namespace": "default", "name": "data", "uid": uid}
        async with Controllers(under_test).working():
            await under_test.create(volume("disk", "at-once", "b", claimRef=ref))

            assert await under_test.placed("db") == {"db": "n2"}

    play(plane, scenario)
