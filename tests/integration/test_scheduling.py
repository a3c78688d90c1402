"""The scheduler on a real API server: what is bound, where, and what is said about it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Running, eventually, play, scheduled_condition
from tests.integration.making import node, pod, priority_class

pytestmark = pytest.mark.kube

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def test_a_pod_of_ours_is_bound_and_told_so(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), pod("web"))

        assert await under_test.placed("web") == {"web": "n1"}
        condition = scheduled_condition((await under_test.pods())["web"])
        assert condition["status"] == "True"
        (event,) = await under_test.events("web", "Scheduled")
        assert event["note"] == "Successfully assigned default/web to n1"
        assert (event["type"], event["action"]) == ("Normal", "Binding")
        assert event["reportingController"] == "moorage"

    play(plane, scenario)


def test_pods_of_others_are_left_alone_and_counted(plane: ControlPlane) -> None:
    """A pod of another scheduler stays as it is, and what it uses is used."""

    async def scenario(under_test: Running) -> None:
        await under_test.create(
            node("n1", cpu="4"),
            pod("theirs", scheduler="somebody-else"),
            pod("there", scheduler="somebody-else", cpu="3", nodeName="n1"),
            pod("large", cpu="2"),
            pod("small", cpu="1"),
        )
        await under_test.placed("small")
        await under_test.condition("large", "Unschedulable")

        pods = await under_test.pods()
        assert "nodeName" not in pods["theirs"]["spec"]
        assert scheduled_condition(pods["theirs"]) == {}

    play(plane, scenario)


def test_what_was_there_before_is_taken_up(plane: ControlPlane) -> None:
    plane.create(node("n1"), pod("early"), pod("earlier", nodeName="n1"))

    async def scenario(under_test: Running) -> None:
        assert await under_test.placed("early") == {"early": "n1"}

    play(plane, scenario)


def test_an_unschedulable_pod_says_why_and_is_scheduled_when_a_node_comes(
    plane: ControlPlane,
) -> None:
    message = (
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable. preemption: 0/3 nodes are available: "
        "3 Preemption is not helpful for scheduling."
    )

    async def scenario(under_test: Running) -> None:
        cordoned = node("cordoned")
        cordoned["spec"]["unschedulable"] = True
        taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
        await under_test.create(node("small", cpu="1"), node("tainted", taints=[taint]), cordoned)
        await eventually(_rows(under_test, 3), lambda: "three nodes are not in the cache")
        await under_test.create(pod("big", cpu="2"))

        condition = await under_test.condition("big", "Unschedulable")
        assert (condition["status"], condition["message"]) == ("False", message)
        (event,) = await under_test.events("big", "FailedScheduling")
        assert (event["note"], event["type"]) == (message, "Warning")

        await under_test.create(node("large"))
        assert await under_test.placed("big") == {"big": "large"}
        condition = scheduled_condition((await under_test.pods())["big"])
        assert condition["status"] == "True"

    play(plane, scenario)


def test_a_taint_repels_and_a_toleration_lets_in(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
        toleration = {"key": "team", "operator": "Exists"}
        selector = {"pool": "x"}
        await under_test.create(
            node("tainted", taints=[taint], labels=selector),
            node("free"),
            pod("any"),
            pod("tolerant", tolerations=[toleration], nodeSelector=selector),
        )

        placed = await under_test.placed("any", "tolerant")
        assert placed == {"any": "free", "tolerant": "tainted"}

    play(plane, scenario)


def test_a_node_that_is_asked_for_is_chosen_and_one_that_is_preferred_if_it_has_room(
    plane: ControlPlane,
) -> None:
    async def scenario(under_test: Running) -> None:
        def matching(*pools: str) -> dict[str, Any]:
            return {"matchExpressions": [{"key": "pool", "operator": "In", "values": list(pools)}]}

        terms = {"nodeSelectorTerms": [matching("b")]}
        must = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        rather = [{"weight": 100, "preference": matching("a")}]
        prefer = {"preferredDuringSchedulingIgnoredDuringExecution": rather}
        await under_test.create(
            node("a", labels={"pool": "a"}, cpu="2"), node("b", labels={"pool": "b"}, cpu="32")
        )
        await under_test.create(pod("must", affinity={"nodeAffinity": must}))
        await under_test.create(pod("first", cpu="1500m", affinity={"nodeAffinity": prefer}))
        assert await under_test.placed("must", "first") == {"must": "b", "first": "a"}
        await under_test.create(pod("second", cpu="1500m", affinity={"nodeAffinity": prefer}))

        assert await under_test.placed("second") == {"second": "b"}

    play(plane, scenario)


def test_a_pod_goes_where_the_one_is_that_it_wants_to_be_near(plane: ControlPlane) -> None:
    """It waits until there is one."""

    async def scenario(under_test: Running) -> None:
        nodes = [node(f"n{i}", labels={ZONE: f"z{i % 2}"}) for i in range(4)]
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}}
        near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        await under_test.create(*nodes, pod("web", affinity=near))
        condition = await under_test.condition("web", "Unschedulable")
        while "4 node(s)" not in condition["message"]:  # nodes are heard of after the pod
            await asyncio.sleep(0.1)
            condition = await under_test.condition("web", "Unschedulable")
        assert "4 node(s) didn't match pod affinity rules" in condition["message"]
        await under_test.create(pod("db", labels={"app": "db"}, nodeSelector={HOSTNAME: "n3"}))

        placed = await under_test.placed("web", "db")
        assert placed["db"] == "n3"
        assert placed["web"] in {"n1", "n3"}

    play(plane, scenario)


def test_pods_that_avoid_each_other_share_no_zone(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        nodes = [node(f"n{i}", labels={ZONE: f"z{i % 3}"}) for i in range(6)]
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}}
        avoid = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        pods = [pod(f"db{i}", labels={"app": "db"}, affinity=avoid) for i in range(4)]
        await under_test.create(*nodes, *pods)

        async def three() -> list[str] | None:
            found = [p["spec"].get("nodeName", "") for p in (await under_test.pods()).values()]
            bound = [name for name in found if name]
            return bound if len(bound) == 3 else None

        bound = await eventually(three, lambda: "not three of four are bound")
        assert {int(name[1:]) % 3 for name in bound} == {0, 1, 2}
        pending = [
            name for name, p in (await under_test.pods()).items() if not p["spec"].get("nodeName")
        ]
        condition = await under_test.condition(pending[0], "Unschedulable")
        assert "6 node(s) didn't match pod anti-affinity rules" in condition["message"]

    play(plane, scenario)


def test_spread_is_even_over_zones(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        nodes = [node(f"n{i}", labels={ZONE: f"z{i % 3}"}) for i in range(6)]
        constraint = {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        pods = [
            pod(f"web{i}", labels={"app": "web"}, topologySpreadConstraints=[constraint])
            for i in range(9)
        ]
        await under_test.create(*nodes, *pods)

        placed = await under_test.placed(*(f"web{i}" for i in range(9)))
        zones = [int(name[1:]) % 3 for name in placed.values()]
        assert sorted(zones.count(zone) for zone in range(3)) == [3, 3, 3]

    play(plane, scenario)


def test_the_more_important_pod_goes_first(plane: ControlPlane) -> None:
    """Both wait for a node that only one of them fits on."""

    async def scenario(under_test: Running) -> None:
        await under_test.create(priority_class("high", 1000))
        await under_test.create(
            pod("low", cpu="3"),
            pod("high", cpu="3", priorityClassName="high"),
        )
        for name in ("low", "high"):
            await under_test.condition(name, "Unschedulable")
        await under_test.create(node("n1", cpu="4"))

        assert await under_test.placed("high") == {"high": "n1"}
        assert "nodeName" not in (await under_test.pods())["low"]["spec"]

    plane.create(node("full", cpu="1"))
    play(plane, scenario)


def test_a_gated_pod_waits_for_its_gate(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), pod("gated", schedulingGates=[{"name": "wait"}]))
        await under_test.condition("gated", "SchedulingGated")
        await under_test.request(
            "PATCH", "/api/v1/namespaces/default/pods/gated", {"spec": {"schedulingGates": None}}
        )

        assert await under_test.placed("gated") == {"gated": "n1"}

    play(plane, scenario)


def test_preemption_makes_room_end_to_end(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(priority_class("high", 1000), node("n1", cpu="4"))
        await under_test.create(pod("victim", cpu="3"))
        await under_test.placed("victim")
        await under_test.create(pod("vip", cpu="3", priorityClassName="high"))

        (event,) = await under_test.events("victim", "Preempted")
        vip = (await under_test.pods())["vip"]
        assert event["note"] == f"Preempted by pod {vip['metadata']['uid']} on node n1"
        assert event["related"]["name"] == "vip"
        assert await under_test.placed("vip") == {"vip": "n1"}
        assert "victim" not in await under_test.pods()

    play(plane, scenario)


def test_a_deleted_pod_leaves_room(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="4"), pod("first", cpu="3"))
        await under_test.placed("first")
        await under_test.create(pod("second", cpu="3"))
        await under_test.condition("second", "Unschedulable")
        await under_test.request("DELETE", "/api/v1/namespaces/default/pods/first")

        assert await under_test.placed("second") == {"second": "n1"}

    play(plane, scenario)


def test_a_finished_pod_leaves_room(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="4"), pod("job", cpu="3"))
        await under_test.placed("job")
        await under_test.create(pod("next", cpu="3"))
        await under_test.condition("next", "Unschedulable")
        await under_test.request(
            "PATCH",
            "/api/v1/namespaces/default/pods/job/status",
            {"status": {"phase": "Succeeded"}},
        )

        assert await under_test.placed("next") == {"next": "n1"}

    play(plane, scenario)


def _rows(under_test: Running, count: int) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return len(under_test.scheduler.cache.table.row_of) == count

    return check
