"""Nodes are shared with other schedulers, and with kubelets that know better."""

import pytest

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Running, eventually, play, scheduled_condition
from tests.integration.making import OURS, node, pod, priority_class

pytestmark = pytest.mark.kube

PODS = "/api/v1/namespaces/default/pods"


def test_a_node_promised_to_a_pod_of_another_scheduler_is_kept_for_it(plane: ControlPlane) -> None:
    """Their preemptor waits for its victims to leave; room it was promised is not ours to take."""

    async def scenario(under_test: Running) -> None:
        high = priority_class("high", 1000)
        theirs = pod("theirs", scheduler="another", cpu="3", priorityClassName="high")
        await under_test.create(high, node("n1", cpu="4"), theirs)
        promise = {"status": {"nominatedNodeName": "n1"}}
        await under_test.request("PATCH", f"{PODS}/theirs/status", promise)

        async def known() -> bool:
            return len(under_test.scheduler.cache.nominations) == 1

        await eventually(known, lambda: "the promise is not known")
        await under_test.create(pod("large", cpu="2"), pod("small", cpu="1"))
        await under_test.placed("small")
        await under_test.condition("large", "Unschedulable")
        found = (await under_test.pods())["theirs"]
        assert found["status"]["nominatedNodeName"] == "n1"
        assert scheduled_condition(found) == {}
        await under_test.request("DELETE", f"{PODS}/theirs")

        assert await under_test.placed("large") == {"large": "n1"}

    play(plane, scenario)


def test_one_process_schedules_under_several_names(plane: ControlPlane) -> None:
    """Each profile takes the pods of its name, and says so in its name; all see the same nodes."""

    async def scenario(under_test: Running) -> None:
        pods = [pod(f"p{i}", scheduler=("day", "night")[i % 2], cpu="1") for i in range(4)]
        await under_test.create(node("n1", cpu="4"), pod("theirs", scheduler="another"), *pods)
        await under_test.placed(*(f"p{i}" for i in range(4)))
        for i in range(4):
            (event,) = await under_test.events(f"p{i}", "Scheduled")
            assert event["reportingController"] == ("day", "night")[i % 2]
        await under_test.create(pod("late", scheduler="night", cpu="1"))
        await under_test.condition("late", "Unschedulable")
        assert "nodeName" not in (await under_test.pods())["theirs"]["spec"]

    play(plane, scenario, profiles=[{"schedulerName": "day"}, {"schedulerName": "night"}])


def test_what_another_scheduler_binds_is_counted_at_once(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="4"), pod("theirs", scheduler="another", cpu="3"))
        uid = (await under_test.pods())["theirs"]["metadata"]["uid"]
        await under_test.server.bind("default", "theirs", uid, "n1")

        async def counted() -> bool:
            return under_test.scheduler.cache.node_of(uid) == "n1"

        await eventually(counted, lambda: "it is not counted")
        await under_test.create(pod("ours", cpu="2"))
        await under_test.condition("ours", "Unschedulable")

    play(plane, scenario)


@pytest.mark.parametrize("reason", ["OutOfcpu", "OutOfpods", "UnexpectedAdmissionError"])
def test_a_node_whose_kubelet_rejects_our_pod_is_left_alone_for_a_while(
    plane: ControlPlane, reason: str
) -> None:
    async def scenario(under_test: Running) -> None:
        scheduler = under_test.scheduler
        await under_test.create(node("better", cpu="32"), node("worse", cpu="4"))
        await under_test.create(pod("first", cpu="1"))
        assert await under_test.placed("first") == {"first": "better"}
        refusal = {"status": {"phase": "Failed", "reason": reason, "message": "no"}}
        await under_test.request("PATCH", f"{PODS}/first/status", refusal)
        (event,) = await under_test.events("first", "NodeRejected")
        assert "better" in event["note"]
        assert (event["type"], event["reportingController"]) == ("Warning", OURS)

        await under_test.create(pod("second", cpu="1"), pod("large", cpu="8"))
        assert await under_test.placed("second") == {"second": "worse"}
        await under_test.condition("large", "Unschedulable")

        scheduler.cache.resting["better"] = scheduler.clock.now() + 0.5
        scheduler.wake()
        assert await under_test.placed("large") == {"large": "better"}

    play(plane, scenario)


def test_the_node_is_read_again_when_its_kubelet_rejects_a_pod(plane: ControlPlane) -> None:
    """What the kubelet knew may be in the node's status by now."""

    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="4"), pod("first", cpu="1"))
        await under_test.placed("first")
        asked: list[str] = []
        get = under_test.server.get

        async def noting(resource: object, namespace: str, name: str) -> object:
            asked.append(name)
            return await get(resource, namespace, name)  # type: ignore[arg-type]

        under_test.server.get = noting  # type: ignore[method-assign, assignment]
        refusal = {"status": {"phase": "Failed", "reason": "OutOfcpu"}}
        await under_test.request("PATCH", f"{PODS}/first/status", refusal)
        await under_test.events("first", "NodeRejected")

        async def read() -> bool:
            return "n1" in asked

        await eventually(read, lambda: f"the node was not read again: {asked}")

    play(plane, scenario)


def test_the_rejected_pod_of_another_scheduler_is_none_of_our_business(
    plane: ControlPlane,
) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"), pod("theirs", scheduler="another", nodeName="n1"))
        refusal = {"status": {"phase": "Failed", "reason": "OutOfcpu"}}
        await under_test.request("PATCH", f"{PODS}/theirs/status", refusal)
        await under_test.create(pod("ours"))

        assert await under_test.placed("ours") == {"ours": "n1"}
        assert under_test.scheduler.cache.resting == {}

    play(plane, scenario)
