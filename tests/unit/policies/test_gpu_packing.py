"""GPUs as devices: who holds which, what fits, what is written, and what a restart rebuilds."""

import asyncio
import random
from typing import Any

import pytest

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.queued_pod import QueuedPod
from moorage.policies.gpu import gpu_packing
from moorage.policies.gpu.devices import annotations
from moorage.policies.gpu.devices.annotations import Holding
from moorage.policies.gpu.devices.columns import DeviceColumns
from moorage.policies.gpu.devices.node_devices import NodeDevices, read_devices
from moorage.policies.gpu.gpu_largest_first import GPULargestFirst
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod
from tests.unit.policies.asking import plugin_of, refusals, scores, world

GPU = "nvidia.com/gpu"
MILLI = "alibabacloud.com/gpu-milli"
COUNT = "alibabacloud.com/gpu-count"


def box(name: str, gpus: int = 4, **labels: str) -> NodeBuilder:
    """A node that shares its GPUs."""
    return node(name).offering({COUNT: str(gpus)}).labelled(labels)


def plain(name: str, gpus: int = 4) -> NodeBuilder:
    """A node of which nobody shares the GPUs."""
    return node(name).offering({GPU: str(gpus)})


def share(milli: int, name: str = "s", count: int = 1) -> PodBuilder:
    return pod(name).requesting(cpu="1").annotated({MILLI: str(milli), COUNT: str(count)})


def whole(count: int, name: str = "w") -> PodBuilder:
    return share(1000, name, count)


def columns(cluster: Cluster) -> DeviceColumns:
    table = cluster.cache.table
    found = gpu_packing.packed_gpus(table).columns
    found.validate(table)
    return found


def left(cluster: Cluster, name: str) -> list[int]:
    found = columns(cluster)
    row = cluster.cache.table.row_of[name]
    return [int(milli) for milli in found.left[row, : found.nodes[row].number]]


def assumed(cluster: Cluster, asked: PodBuilder, name: str) -> PodInfo:
    info = cluster.cache.info(asked.build())
    cluster.cache.assume(info, name)
    return info


def as_written(cluster: Cluster, info: PodInfo, name: str) -> Pod:
    """The pod as the API server holds it once it is bound."""
    found = columns(cluster)
    held = found.held(info.uid)
    assert held is not None
    devices = found.nodes[cluster.cache.table.row_of[name]]
    said = annotations.written(info.pod, name, held, devices, 7.0)
    builder = pod(info.pod.name).requesting(cpu="1").on(name)
    return builder.annotated({**info.pod.annotations, **said}).build()


def test_a_share_takes_a_part_of_one_device_and_gives_it_back() -> None:
    cluster = world(GPUPacking(), box("a", 2))
    held = assumed(cluster, share(470), "a")
    assert left(cluster, "a") == [530, 1000]
    assumed(cluster, share(470, "t"), "a")
    assert left(cluster, "a") == [60, 1000]
    assumed(cluster, whole(1), "a")
    assert left(cluster, "a") == [60, 0]
    cluster.cache.forget(held)
    assert left(cluster, "a") == [530, 0]


def test_no_device_is_promised_twice() -> None:
    cluster = world(GPUPacking(), box("a", 2))
    assumed(cluster, share(600, "x"), "a")
    assumed(cluster, share(600, "y"), "a")

    assert refusals(cluster, share(500)) == {"a": gpu_packing.NO_DEVICE}
    assert refusals(cluster, share(400)) == {}
    assert refusals(cluster, whole(1)) == {"a": gpu_packing.NO_DEVICE}
    assert refusals(cluster, whole(3)) == {"a": gpu_packing.TOO_FEW}


def test_a_restart_rebuilds_what_annotations_say() -> None:
    before = world(GPUPacking(), box("a", 4))
    infos = [assumed(before, share(300, f"p{i}"), "a") for i in range(5)]
    infos.append(assumed(before, whole(2, "two"), "a"))
    before.cache.forget(infos.pop(1))
    bound = [as_written(before, info, "a") for info in infos]
    random.Random(3).shuffle(bound)

    after = world(GPUPacking(), box("a", 4))
    for one in bound:
        after.cache.put_pod(one)

    assert left(after, "a") == left(before, "a")
    for one in bound:
        assert columns(after).held(one.uid) == columns(before).held(one.uid)


def test_what_the_watch_confirms_is_counted_once() -> None:
    cluster = world(GPUPacking(), box("a", 2))
    info = assumed(cluster, share(470), "a")
    assert left(cluster, "a") == [530, 1000]
    cluster.cache.put_pod(as_written(cluster, info, "a"))
    assert left(cluster, "a") == [530, 1000]
    cluster.cache.remove_pod(info.uid)
    assert left(cluster, "a") == [1000, 1000]


def test_annotations_of_an_attempt_that_came_to_nothing_are_not_believed() -> None:
    stale = {annotations.DEVICES: "3", annotations.MILLI: "470", annotations.NODE: "b"}
    cluster = world(GPUPacking(), box("a", 4), box("b", 4))
    assumed(cluster, share(470).annotated({MILLI: "470", COUNT: "1", **stale}), "a")

    assert left(cluster, "a") == [530, 1000, 1000, 1000]
    assert left(cluster, "b") == [1000] * 4


def test_a_trial_leaves_nothing_behind() -> None:
    cluster = world(GPUPacking(), box("a", 2))
    victim = assumed(cluster, share(800, "victim"), "a")
    other = cluster.cache.info(whole(2, "large").build())
    before = left(cluster, "a")
    with cluster.cache.trial():
        cluster.cache.displace(victim)
        assert left(cluster, "a") == [1000, 1000]
        cluster.cache.place_on(0, other)
        assert left(cluster, "a") == [0, 0]
    assert left(cluster, "a") == before
    assert columns(cluster).held(victim.uid) == Holding((0,), 800)


def test_too_few_devices_of_an_earlier_trial_are_not_taken_again() -> None:
    cluster = world(GPUPacking(), box("a", 4))
    victim = assumed(cluster, share(600, "victim"), "a")
    info = assumed(cluster, whole(4), "a")
    assert left(cluster, "a") == [400, 0, 0, 0]
    cluster.cache.forget(info)
    cluster.cache.forget(victim)

    cluster.cache.assume(info, "a")
    assert left(cluster, "a") == [0, 0, 0, 0]


def test_a_node_that_changes_keeps_its_pods() -> None:
    cluster = world(GPUPacking(), box("a", 2))
    assumed(cluster, whole(1, "x"), "a")
    cluster.cache.put_node(box("a", 4).build())
    assert left(cluster, "a") == [0, 1000, 1000, 1000]
    cluster.cache.remove_node(box("a", 4).build())
    cluster.cache.put_node(box("a", 4).build())
    assert sum(left(cluster, "a")) == 3000


SAID = {annotations.NODE: "a", annotations.MILLI: "1000"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param(pod("p"), {annotations.GPU_INDEX: "0-1-2-3"}, id="an index alone"),
        pytest.param(pod("p"), {annotations.DEVICES: "0", **SAID}, id="what we write alone"),
        pytest.param(
            pod("p"), {annotations.GPU_INDEX: "0-1", MILLI: "0"}, id="devices for a share of 0"
        ),
        pytest.param(pod("p"), {annotations.GPU_INDEX: "0", MILLI: "²"}, id="a superscript"),
    ],
)
def test_a_pod_that_requests_no_gpu_holds_none(asked: PodBuilder, said: dict[str, str]) -> None:
    cluster = world(GPUPacking(), box("a"))
    cluster.cache.put_pod(whole(1).on("a").build())
    assert left(cluster, "a") == [0, 1000, 1000, 1000]

    cluster.cache.put_pod(asked.annotated(said).on("a").build())

    assert left(cluster, "a") == [0, 1000, 1000, 1000]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({annotations.DEVICES: "0-1-2", **SAID}, id="more devices"),
        pytest.param({annotations.DEVICES: "0-0", **SAID}, id="a device twice"),
        pytest.param({annotations.DEVICES: "3", **SAID}, id="fewer devices"),
        pytest.param({annotations.DEVICES: "0-9", **SAID}, id="a device that is not there"),
        pytest.param({annotations.DEVICES: "0-²", **SAID}, id="a superscript"),
        pytest.param({annotations.DEVICES: "0-" + "1" * 5_000, **SAID}, id="5,000 digits"),
        pytest.param({annotations.DEVICES: "0-4294967297", **SAID}, id="a device beyond int32"),
        pytest.param({annotations.DEVICES: "0-1", **SAID, annotations.MILLI: "0"}, id="0 milli"),
        pytest.param(
            {annotations.DEVICES: "0-1", **SAID, annotations.MILLI: "3000000000"}, id="int32 wraps"
        ),
        pytest.param({annotations.GPU_INDEX: "0-1", MILLI: "²"}, id="milli that are no number"),
        pytest.param({annotations.GPU_INDEX: "0-1", COUNT: "9" * 20}, id="20 digits of a count"),
    ],
)
def test_a_bound_pod_holds_what_it_requests_whatever_its_annotations_say(
    said: dict[str, str],
) -> None:
    cluster = world(GPUPacking(), box("a"))

    cluster.cache.put_pod(pod("p").requesting({GPU: "2"}).annotated(said).on("a").build())

    assert sorted(left(cluster, "a")) == [0, 0, 1000, 1000]
    assert refusals(cluster, whole(2, "victim")) == {}
    assert refusals(cluster, whole(3, "victim")) == {"a": gpu_packing.NO_DEVICE}


def test_a_node_that_cannot_be_read_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when all is read anew nor when it changes, and its own devices come back."""
    broken = {"b"}

    def read(node: Node) -> NodeDevices:
        if node.name in broken:
            raise KeyError("id")
        return read_devices(node)

    monkeypatch.setattr("moorage.policies.gpu.devices.columns.read_devices", read)
    cluster = Cluster(box("a"), box("b"), box("c"))
    assert (left(cluster, "a"), left(cluster, "c")) == ([1000] * 4, [1000] * 4)
    assert columns(cluster).capacity == 8_000

    cluster.cache.put_node(box("b", other="label").build())
    cluster.cache.put_node(box("c", gpus=2).build())
    assert left(cluster, "c")[:2] == [1000] * 2
    assert columns(cluster).capacity == 6_000

    broken.clear()
    cluster.cache.put_node(box("b").build())
    assert left(cluster, "b") == [1000] * 4


def test_random_histories_are_what_a_rebuild_says() -> None:
    chance = random.Random(11)
    cluster = world(GPUPacking(), *(box(f"n{i}", 4) for i in range(4)))
    there: list[PodInfo] = []
    for step in range(400):
        asked = share(chance.choice([110, 470, 810]), f"p{step}")
        if chance.random() < 0.3:
            asked = whole(chance.choice([1, 2]), f"p{step}")
        name = f"n{chance.randrange(4)}"
        if name not in refusals(cluster, asked):
            there.append(assumed(cluster, asked, name))
        if there and chance.random() < 0.45:
            cluster.cache.forget(there.pop(chance.randrange(len(there))))
        if step % 7 == 0:
            assert all(min(left(cluster, f"n{i}")) >= 0 for i in range(4))


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        pytest.param(share(470), True, id="a share needs somebody who reads its device"),
        pytest.param(pod("k").annotated({"gpu-fraction": "0.5"}), True, id="a fraction, too"),
        pytest.param(pod("w").requesting({GPU: "2"}), False, id="whole GPUs need nobody"),
    ],
)
def test_where_nobody_reads_the_device_only_whole_gpus_are_offered(
    asked: PodBuilder, refused: bool
) -> None:
    cluster = world(GPUPacking(), plain("a"))

    assert refusals(cluster, asked) == ({"a": gpu_packing.NO_SHARES} if refused else {})


def test_models_are_demanded_by_name() -> None:
    name = {"alibabacloud.com/gpu-card-model": "T4"}
    cluster = world(GPUPacking(), box("a").labelled(name), box("b"))
    asked = whole(1).annotated({MILLI: "1000", COUNT: "1", **name})

    assert refusals(cluster, asked) == {"b": gpu_packing.WRONG_MODEL}


def test_memory_of_a_device_is_a_share_of_it_that_depends_on_the_device() -> None:
    small, large = ({"nvidia.com/gpu.memory": size} for size in ("16000", "80000"))
    cluster = world(GPUPacking(), box("s").labelled(small), box("l").labelled(large), box("u"))
    asked = pod("k").annotated({"gpu-memory": "20000"})

    assert refusals(cluster, asked) == {"s": gpu_packing.TOO_FEW, "u": gpu_packing.TOO_FEW}
    assumed(cluster, asked, "l")
    assert left(cluster, "l")[0] == 750


def test_one_domain_is_demanded_and_free_domains_are_left_whole() -> None:
    numa = {"moorage.io/gpus-per-numa": "2"}
    cluster = world(GPUPacking(), box("a", 4).labelled(numa))
    assumed(cluster, whole(1, "x"), "a")
    strict = {"moorage.io/gpu-topology": "same-numa"}
    two = whole(2).annotated({MILLI: "1000", COUNT: "2", **strict})
    assert refusals(cluster, two) == {}

    assumed(cluster, two, "a")
    assert left(cluster, "a") == [0, 1000, 0, 0]
    assumed(cluster, whole(1, "y"), "a")
    assert left(cluster, "a") == [0, 0, 0, 0]

    other = world(GPUPacking(), box("a", 4).labelled(numa))
    other.cache.put_pod(_held("p", "a", "0"))
    other.cache.put_pod(_held("q", "a", "2"))
    assert refusals(other, two) == {"a": gpu_packing.NO_DOMAIN}


def _held(name: str, where: str, devices: str) -> Pod:
    said = {annotations.DEVICES: devices, annotations.MILLI: "1000", annotations.NODE: where}
    return pod(name).on(where).annotated({COUNT: "1", MILLI: "1000", **said}).build()


def test_only_the_best_node_scores_100() -> None:
    cluster = world(GPUPacking(), box("used"), box("empty"), box("spare"), node("plain"))
    assumed(cluster, whole(1, "x"), "used")
    found = scores(cluster, whole(1))

    assert found["used"] == 100
    assert max(found["empty"], found["spare"]) < 100
    assert found["empty"] == found["spare"]


def test_pods_without_gpus_stay_off_nodes_that_have_them() -> None:
    cluster = world(GPUPacking(), box("gpu"), node("plain"))

    assert scores(cluster, pod("web").requesting(cpu="1")) == {"gpu": 0, "plain": 100}
    assert refusals(cluster, pod("web")) == {}


def test_the_device_is_written_when_the_pod_is_bound() -> None:
    cluster = world(GPUPacking(), box("a", 2))
    info = cluster.cache.info(share(470).build())
    client: Any = object()
    cycle = Cycle(cluster.cache, info, client=client, now=5.0)
    plugin, there = plugin_of(cluster), cluster.cache.table.node(0)
    plugin.pre_filter(cycle, info.pod)
    cluster.cache.assume(info, "a")

    assert plugin.reserve(cycle, info.pod, there) is None
    asyncio.run(plugin.pre_bind(cycle, info.pod, there))
    said = cycle.annotations
    assert (said[annotations.DEVICES], said[annotations.MILLI]) == ("0", "470")
    assert (said[annotations.NODE], said[annotations.GPU_INDEX]) == ("a", "0")


def test_what_is_written_of_a_hami_device_says_that_its_pod_is_starting() -> None:
    held, register = annotations.Holding((0,), 500), "GPU-a,10,32768,100,V100,0,true:"
    there = node("a").annotated({"hami.io/node-nvidia-register": register}).build()

    said = annotations.written(pod("p").build(), "a", held, read_devices(there), 5.0)

    assert said["hami.io/bind-phase"] == "allocating"


def test_what_means_nothing_is_refused_with_its_name() -> None:
    cluster = world(GPUPacking(), box("a"))
    for said in ({"gpu-fraction": "much"}, {MILLI: "1500"}, {MILLI: "some"}):
        info = cluster.cache.info(pod("p").annotated(said).build())
        cycle = Cycle(cluster.cache, info)
        answer = plugin_of(cluster).pre_filter(cycle, info.pod)
        assert answer is not None
        assert next(iter(said)) in answer.message


def test_the_largest_of_pods_that_wait_together_goes_first() -> None:
    cluster = world(GPUPacking())

    def key(asked: PodBuilder, at: float) -> tuple[int, int, int, float]:
        return GPULargestFirst().sort_key(QueuedPod(cluster.cache.info(asked.build()), at))

    assert key(whole(8), 3.0) < key(share(470), 1.0)
    assert key(share(470), 9.0) < key(whole(8), 11.0)
    assert key(share(470), 1.0) < key(share(470), 2.0)
    assert key(share(100).prioritised(5), 15.0) < key(whole(8), 1.0)
