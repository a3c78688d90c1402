"""Where a device plugin must find out whose GPUs it gives, pods start one after the other."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import Rejection
from moorage.policies.gpu import gpu_packing
from moorage.policies.gpu.devices.node_lock import LOCK, is_locked
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.testing import Cluster, NodeBuilder, PodBuilder, pod
from moorage.testing import node as plain
from tests.unit.policies.asking import plugin_of, world

NOW = 1_800_000_000.0
LONG_AGO = "2027-01-15T07:50:00Z"
JUST_NOW = "2027-01-15T07:59:55Z"
REGISTERS = {
    "hami.io/": ("hami.io/node-nvidia-register", "GPU-a,10,32768,100,V100,0,true:" * 2),
    "volcano.sh/": ("volcano.sh/node-vgpu-register", "GPU-a,10,32768,V100,true:" * 2),
}


def box(prefix: str, **more: str) -> NodeBuilder:
    name, register = REGISTERS[prefix]
    return plain("a").offering({"nvidia.com/gpu": "20"}).annotated({name: register, **more})


def vgpu(name: str) -> PodBuilder:
    return pod(name).requesting({"nvidia.com/gpu": "1", "nvidia.com/gpucores": "50"}, cpu="1")


class Server:
    """An API server with one node; those who wait are told how it ends at once."""

    def __init__(self, lock: str = "") -> None:
        self.annotations = {LOCK: lock} if lock else {}
        self.patches: list[tuple[str, dict[str, Any]]] = []

    async def get(self, resource: str, namespace: str, name: str) -> dict[str, Any]:
        return {"metadata": {"resourceVersion": "7", "annotations": dict(self.annotations)}}

    async def patch(
        self, resource: str, namespace: str, name: str, patch: dict[str, Any]
    ) -> dict[str, Any]:
        self.patches.append((resource, patch["metadata"]))
        return {}

    async def wait_until(self, check: Callable[[], bool], seconds: float) -> bool:
        return check()


def started(cluster: Cluster, server: Server, asked: PodBuilder, now: float = NOW) -> Any:
    """What PreBind says of a pod that is assumed on the node."""
    info = cluster.cache.info(asked.build())
    client: Any = server
    cycle = Cycle(cluster.cache, info, client=client, now=now)
    plugin, there = plugin_of(cluster), cluster.cache.table.node(0)
    plugin.pre_filter(cycle, info.pod)
    cluster.cache.assume(info, "a")
    assert plugin.reserve(cycle, info.pod, there) is None
    answer = asyncio.run(plugin.pre_bind(cycle, info.pod, there))
    if isinstance(answer, Rejection):
        cluster.cache.forget(info)
    return answer


def bound(cluster: Cluster, name: str, prefix: str, phase: str, begun: float | str = NOW) -> None:
    when = begun if isinstance(begun, str) else str(int(begun))
    said = {f"{prefix}bind-phase": phase, f"{prefix}bind-time": when}
    there = vgpu(name).annotated(said).on("a").build()
    status = msgspec.structs.replace(there.status, phase="Pending")
    cluster.cache.put_pod(msgspec.structs.replace(there, status=status))


def test_a_node_of_hamis_is_locked_for_the_pod_and_nothing_else_is_patched() -> None:
    cluster, server = world(GPUPacking(), box("hami.io/")), Server()

    assert started(cluster, server, vgpu("p")) is None
    [(kind, lock)] = server.patches
    assert kind == "nodes"
    assert lock["resourceVersion"] == "7"
    assert lock["annotations"] == {LOCK: "2027-01-15T08:00:00Z,default,p"}


@pytest.mark.parametrize("prefix", ["hami.io/", "volcano.sh/"])
def test_a_second_pod_waits_until_the_first_has_its_devices(prefix: str) -> None:
    cluster, server = world(GPUPacking(), box(prefix)), Server()
    assert started(cluster, server, vgpu("first")) is None
    assert started(cluster, server, vgpu("second")).message == gpu_packing.LOCKED

    bound(cluster, "first", prefix, "allocating")
    assert started(cluster, server, vgpu("second")).message == gpu_packing.LOCKED
    bound(cluster, "first", prefix, "success")
    assert started(cluster, server, vgpu("second")) is None


@pytest.mark.parametrize("prefix", ["hami.io/", "volcano.sh/"])
def test_nobody_waits_for_a_pod_that_did_not_start_in_five_minutes(prefix: str) -> None:
    cluster, server = world(GPUPacking(), box(prefix)), Server()
    bound(cluster, "stuck", prefix, "allocating", NOW - 301)

    assert started(cluster, server, vgpu("p")) is None


@pytest.mark.parametrize("prefix", ["hami.io/", "volcano.sh/"])
@pytest.mark.parametrize("begun", ["9999999999", str(int(NOW) + 301), "²", "9" * 5_000])
def test_nobody_waits_for_a_start_in_the_future(prefix: str, begun: str) -> None:
    cluster, server = world(GPUPacking(), box(prefix)), Server()
    bound(cluster, "starting", prefix, "allocating", begun=NOW + 299)
    assert started(cluster, server, vgpu("p")).message == gpu_packing.LOCKED

    bound(cluster, "starting", prefix, "allocating", begun=begun)
    assert started(cluster, server, vgpu("p")) is None


def test_nobody_waits_for_a_pod_without_a_gpu() -> None:
    cluster, server = world(GPUPacking(), box("hami.io/")), Server()
    said = {"hami.io/bind-phase": "allocating", "hami.io/bind-time": str(int(NOW))}
    cluster.cache.put_pod(pod("web").annotated(said).on("a").build())

    assert started(cluster, server, vgpu("p")) is None


def test_a_pod_that_runs_is_not_waited_for() -> None:
    cluster, server = world(GPUPacking(), box("hami.io/")), Server()
    said = {"hami.io/bind-phase": "allocating", "hami.io/bind-time": str(int(NOW))}
    there = vgpu("there").annotated(said).on("a").build()
    status = msgspec.structs.replace(there.status, phase="Running")
    cluster.cache.put_pod(msgspec.structs.replace(there, status=status))

    assert started(cluster, server, vgpu("p")) is None


def test_a_pod_that_was_given_up_is_not_waited_for() -> None:
    cluster, server = world(GPUPacking(), box("hami.io/")), Server()
    assert started(cluster, server, vgpu("first")) is None
    cluster.cache.forget(cluster.cache.info(vgpu("first").build()))

    assert started(cluster, server, vgpu("second")) is None


def test_a_lock_of_another_scheduler_is_honoured() -> None:
    theirs = f"{JUST_NOW},default,theirs"
    cluster = world(GPUPacking(), box("hami.io/", **{LOCK: theirs}))
    assert started(cluster, Server(theirs), vgpu("p")).message == gpu_packing.LOCKED

    unseen = world(GPUPacking(), box("hami.io/"))
    server = Server(theirs)
    assert started(unseen, server, vgpu("p")).message == gpu_packing.LOCKED
    assert server.patches == []


@pytest.mark.parametrize(
    ("lock", "there", "want"),
    [
        pytest.param("", set(), False, id="no lock"),
        pytest.param(f"{JUST_NOW},default,q", set(), True, id="its pod may be on its way"),
        pytest.param(f"{JUST_NOW},default,p", set(), False, id="our own"),
        pytest.param("2027-01-15T07:59:00Z,default,q", {"default,q"}, True, id="its pod is there"),
        pytest.param("2027-01-15T07:59:00Z,default,q", set(), False, id="its pod never came"),
        pytest.param(f"{LONG_AGO},default,q", {"default,q"}, False, id="ten minutes ago"),
        pytest.param("2027-01-15T07:59:00Z", set(), True, id="a lock without a name"),
        pytest.param("soon,default,q", set(), False, id="no time at all"),
    ],
)
def test_whose_lock_it_is(lock: str, there: set[str], want: bool) -> None:
    assert is_locked(lock, pod("p").build(), NOW, there) is want
