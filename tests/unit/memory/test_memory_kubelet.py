import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from moorage.clock import VirtualClock, run_virtual
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

AddPod = Callable[..., Raw]


@pytest.fixture
def kubelet(cluster: MemoryCluster) -> Kubelet:
    return Kubelet(cluster)


def status(cluster: MemoryCluster) -> Raw:
    found: Raw = cluster.read(PODS, "default", "web")["status"]
    return found


def test_a_pod_that_runs_is_ready(
    cluster: MemoryCluster, kubelet: Kubelet, add_pod: AddPod
) -> None:
    add_pod()
    asyncio.run(cluster.bind("default", "web", "", "n"))

    kubelet.run("default", "web")

    assert status(cluster)["phase"] == "Running"
    assert status(cluster)["startTime"] == "2023-11-14T22:13:20Z"
    assert {each["type"]: each["status"] for each in status(cluster)["conditions"]} == {
        "PodScheduled": "True",
        "Initialized": "True",
        "ContainersReady": "True",
        "Ready": "True",
    }


@pytest.mark.parametrize(
    ("succeeded", "phase"),
    [
        pytest.param(True, "Succeeded", id="well"),
        pytest.param(False, "Failed", id="badly"),
    ],
)
def test_a_pod_ends(
    cluster: MemoryCluster, kubelet: Kubelet, add_pod: AddPod, succeeded: bool, phase: str
) -> None:
    add_pod(nodeName="n")
    kubelet.run("default", "web")

    kubelet.finish("default", "web", succeeded=succeeded)

    assert status(cluster)["phase"] == phase
    ready = next(each for each in status(cluster)["conditions"] if each["type"] == "Ready")
    assert ready["status"] == "False"


def test_a_pod_without_room_is_rejected(
    cluster: MemoryCluster, kubelet: Kubelet, add_pod: AddPod
) -> None:
    add_pod(nodeName="n")

    kubelet.reject("default", "web", resource="cpu", requested=2000, used=3500, capacity=4000)

    assert (status(cluster)["phase"], status(cluster)["reason"]) == ("Failed", "OutOfcpu")
    assert status(cluster)["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 3500, "
        "capacity: 4000"
    )


def test_a_pod_on_no_node_cannot_run(kubelet: Kubelet, add_pod: AddPod) -> None:
    add_pod()

    with pytest.raises(ValueError, match="pod default/web is on no node"):
        kubelet.run("default", "web")


def test_a_terminating_pod_is_let_go_of(
    cluster: MemoryCluster, kubelet: Kubelet, add_pod: AddPod
) -> None:
    add_pod(nodeName="n")
    asyncio.run(cluster.delete(PODS, "default", "web"))

    asyncio.run(kubelet.finish_termination("default", "web"))

    assert cluster.objects(PODS) == []


@pytest.mark.parametrize(
    ("stop_seconds", "gone_after"),
    [
        pytest.param(0.0, 0.0, id="at once"),
        pytest.param(12.0, 12.0, id="when it has stopped"),
        pytest.param(90.0, 30.0, id="at the latest when its grace period is over"),
    ],
)
def test_a_kubelet_that_serves_lets_go_of_deleted_pods(
    cluster: MemoryCluster,
    clock: VirtualClock,
    kubelet: Kubelet,
    add_pod: AddPod,
    stop_seconds: float,
    gone_after: float,
) -> None:
    async def main() -> float:
        add_pod(nodeName="n")
        add_pod("stays", nodeName="n")
        serving = asyncio.create_task(kubelet.serve(stop_seconds))
        await clock.sleep(100.0)
        start = clock.now()
        await cluster.delete(PODS, "default", "web")
        async for event in cluster.watch(PODS, resource_version=str(cluster.resource_version)):
            if event.type == "DELETED":
                break
        taken = clock.now() - start
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
        return taken

    assert run_virtual(main(), clock) == gone_after
    assert [pod.name for pod in cluster.objects(PODS)] == ["stays"]


def test_a_serving_kubelet_leaves_a_pod_alone_that_was_replaced_meanwhile(
    cluster: MemoryCluster, clock: VirtualClock, kubelet: Kubelet, add_pod: AddPod
) -> None:
    async def main() -> None:
        add_pod(nodeName="n")
        serving = asyncio.create_task(kubelet.serve(10.0))
        await clock.sleep(1.0)
        await cluster.delete(PODS, "default", "web")
        await clock.sleep(1.0)
        await cluster.delete(PODS, "default", "web", grace_period_seconds=0)
        add_pod(nodeName="n")
        await clock.sleep(100.0)
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving

    run_virtual(main(), clock)

    assert [pod.name for pod in cluster.objects(PODS)] == ["web"]
