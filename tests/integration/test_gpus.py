"""GPUs on a real API server: no device is ever promised twice, whatever happens meanwhile."""

import asyncio
import random
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from moorage.policies.gpu.devices.annotations import DEVICES, GPU_INDEX, MILLI, NODE
from moorage.policies.gpu.devices.node_lock import LOCK
from tests.integration.control_plane import ControlPlane
from tests.integration.grouping import GROUPS, LABEL, group
from tests.integration.harness import Running, replica, running
from tests.integration.making import OURS, Raw, node, pod, priority_class
from tests.integration.recording import Recorded, recorded

pytestmark = pytest.mark.kube

COUNT, ASKED = "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli"
GPUS = 8
PROFILES = [
    {
        "schedulerName": OURS,
        "plugins": {"multiPoint": {"enabled": [{"name": "GPUPacking", "weight": 50}]}},
    }
]
IGNORED = {"ignoredResources": ["nvidia.com/gpucores"]}
VIRTUAL = [{**PROFILES[0], "pluginConfig": [{"name": "NodeResourcesFit", "args": IGNORED}]}]
GANGS = [
    {
        "schedulerName": OURS,
        "plugins": {
            "multiPoint": {
                "enabled": [{"name": "GangScheduling"}, {"name": "GPUPacking", "weight": 50}]
            }
        },
    }
]


def box(name: str) -> Raw:
    made = node(name, cpu="64", memory="64Gi")
    for amounts in (made["status"]["capacity"], made["status"]["allocatable"]):
        amounts[COUNT] = str(GPUS)
    return made


def gpu_pod(name: str, milli: int, count: int = 1, **more: Any) -> Raw:
    made = pod(name, **more)
    made["metadata"]["annotations"] = {ASKED: str(milli), COUNT: str(count)}
    return made


def check_devices(seen: Recorded) -> None:
    """Replay the watch: at no moment does a device carry more than 1000 milli."""
    on: dict[str, Raw] = {}
    for kind, changed in seen.changes:
        uid = changed["metadata"]["uid"]
        if kind == "DELETED" or not changed["spec"].get("nodeName"):
            on.pop(uid, None)
            continue
        on[uid] = changed
        used: dict[tuple[str, str], int] = defaultdict(int)
        for one in on.values():
            said, place = one["metadata"]["annotations"], one["spec"]["nodeName"]
            assert said[NODE] == place
            assert said[GPU_INDEX] == said[DEVICES]
            devices = said[DEVICES].split("-")
            assert len(set(devices)) == int(said[COUNT])
            for device in devices:
                assert int(device) < GPUS, said
                used[place, device] += int(said[MILLI])
        assert max(used.values()) <= 1000, (changed["metadata"]["name"], used)


def workload(count: int, seed: int) -> list[Raw]:
    """Pods that together need less than the cluster has, but not in any arrangement."""
    chance = random.Random(seed)
    shares = [gpu_pod(f"s{i}", chance.choice([160, 320, 470, 810])) for i in range(count)]
    return [*shares, *(gpu_pod(f"w{i}", 1000, chance.choice([1, 2])) for i in range(count // 4))]


def test_a_scheduler_that_is_killed_leaves_every_device_to_its_pod(
    plane: ControlPlane, tmp_path: Path
) -> None:
    pods = workload(48, 5)
    plane.create(*(box(f"n{i}") for i in range(7)))
    with recorded(plane) as seen:
        with replica(tmp_path, "first", plane.kubeconfig, profiles=PROFILES) as first:
            plane.create(*pods[:40])
            seen.until(lambda now: len(now.placed) >= 15, "the first binds nothing", 60)
            first.send(signal.SIGKILL)
            first.wait()
        plane.create(*pods[40:])
        with replica(tmp_path, "second", plane.kubeconfig, profiles=PROFILES):
            seen.until(lambda now: len(now.placed) == len(pods), "pods are lost", 90)
    check_devices(seen)
    assert len(seen.bindings) == len(pods)


def test_eight_gpus_are_made_free_by_preemption(plane: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(box("n0"), box("n1"), priority_class("high", 1000))
        await under_test.create(*(gpu_pod(f"low-{i}", 600) for i in range(2 * GPUS)))
        await under_test.placed(*(f"low-{i}" for i in range(2 * GPUS)))
        high = gpu_pod("high", 1000, GPUS, priorityClassName="high")
        await under_test.create(high)
        await under_test.placed("high")
        left = [name for name in await under_test.pods() if name.startswith("low")]
        assert len(left) == GPUS

    async def main() -> None:
        with recorded(plane) as seen:
            async with running(plane, profiles=PROFILES) as under_test:
                await scenario(under_test)
            check_devices(seen)

    asyncio.run(main())


def test_a_gang_of_8_gpu_pods_gets_whole_nodes_or_waits(groups: ControlPlane) -> None:
    async def main() -> None:
        with recorded(groups) as seen:
            async with running(groups, profiles=GANGS) as under_test:
                await under_test.create(*(box(f"n{i}") for i in range(3)))
                await under_test.create(*(gpu_pod(f"s{i}", 470) for i in range(2)))
                await under_test.placed("s0", "s1")
                await under_test.request("POST", GROUPS, group("train", 2))
                labels = {LABEL: "train"}
                both = [gpu_pod(f"train-{i}", 1000, GPUS, labels=labels) for i in range(2)]
                await under_test.create(*both)
                placed = await under_test.placed("train-0", "train-1")
                assert placed["train-0"] != placed["train-1"]
                pods = await under_test.pods()
                assert pods["s0"]["spec"]["nodeName"] == pods["s1"]["spec"]["nodeName"]
            check_devices(seen)

    asyncio.run(main())


@pytest.mark.timeout(400)
def test_a_gang_of_8_gpu_pods_survives_restarts_shares_and_preemption(
    groups: ControlPlane, tmp_path: Path
) -> None:
    """Shares everywhere; a gang that must evict some of them; the scheduler killed meanwhile."""
    groups.create(*(box(f"n{i}") for i in range(4)), priority_class("high", 1000))
    low = [gpu_pod(f"low-{i}", 600) for i in range(3 * GPUS)]
    labels = {LABEL: "train"}
    gang = [
        gpu_pod(f"train-{i}", 1000, GPUS, labels=labels, priorityClassName="high") for i in range(2)
    ]
    late = [gpu_pod(f"late-{i}", 300, priorityClassName="high") for i in range(GPUS)]
    with recorded(groups) as seen:
        with replica(tmp_path, "first", groups.kubeconfig, profiles=GANGS) as first:
            groups.create(*low)
            seen.until(lambda now: len(now.placed) == len(low), "shares wait", 60)
            groups.request("POST", GROUPS, group("train", 2))
            groups.create(*gang)
            seen.until(lambda now: len(now.placed) < len(low), "nobody is evicted", 60)
            first.send(signal.SIGKILL)
            first.wait()
        groups.create(*late)
        with replica(tmp_path, "second", groups.kubeconfig, profiles=GANGS):
            wanted = {one["metadata"]["name"] for one in (*gang, *late)}

            def all_placed(now: Recorded) -> bool:
                groups.end_deletions(now.pods.values())
                return wanted <= set(now.placed)

            seen.until(all_placed, "pods are lost", 300)
    check_devices(seen)
    assert seen.placed["train-0"] != seen.placed["train-1"]
    evicted = 3 * GPUS - sum(name.startswith("low") for name in seen.pods)
    assert evicted <= GPUS


class HamiPlugin:
    """What HAMi's device plugin does when kubelets ask it: it looks for the pod that the lock
    names, says that it has its devices, and takes the lock away."""

    def __init__(self, plane: ControlPlane, node: str) -> None:
        self._plane, self._path = plane, f"/api/v1/nodes/{node}"
        self.served: list[str] = []

    def serve(self, pods: dict[str, Raw]) -> None:
        waiting = [
            one
            for one in pods.values()
            if one["spec"].get("nodeName")
            and one["metadata"]["annotations"].get("hami.io/bind-phase") == "allocating"
            and one["metadata"]["name"] not in self.served
        ]
        assert len(waiting) <= 1, "the plugin cannot tell whose devices it is asked for"
        for one in waiting:
            name = one["metadata"]["name"]
            lock = self._plane.request("GET", self._path)["metadata"]["annotations"][LOCK]
            assert lock.endswith(f",default,{name}")
            self.served.append(name)
            said = {"metadata": {"annotations": {"hami.io/bind-phase": "success"}}}
            self._plane.request("PATCH", f"/api/v1/namespaces/default/pods/{name}", said)
            self._plane.request("PATCH", self._path, {"metadata": {"annotations": {LOCK: None}}})


@pytest.mark.timeout(400)
def test_pods_start_one_after_the_other_where_hami_hands_out_devices(
    plane: ControlPlane, tmp_path: Path
) -> None:
    there = node("n0", cpu="64", memory="64Gi")
    register = ":".join(f"GPU-{i},10,32768,100,V100,{i // 4},true" for i in range(GPUS)) + ":"
    there["metadata"]["annotations"] = {"hami.io/node-nvidia-register": register}
    for amounts in (there["status"]["capacity"], there["status"]["allocatable"]):
        amounts["nvidia.com/gpu"] = "80"
    pods = [pod(f"v{i}") for i in range(6)]
    for one in pods:
        half = {"nvidia.com/gpu": "1", "nvidia.com/gpucores": "50"}
        one["spec"]["containers"][0]["resources"]["limits"] = half
    plane.create(there, *pods)
    plugin = HamiPlugin(plane, "n0")
    with recorded(plane) as seen, replica(tmp_path, "one", plane.kubeconfig, profiles=VIRTUAL):

        def all_served(now: Recorded) -> bool:
            plugin.serve(dict(now.pods))
            return len(plugin.served) == len(pods)

        seen.until(all_served, "pods do not start", 200)
    devices = [
        one["metadata"]["annotations"]["hami.io/vgpu-devices-to-allocate"]
        for one in seen.pods.values()
    ]
    assert all(text.startswith("GPU-") for text in devices)
    assert max(devices.count(text) for text in devices) <= 2
