"""GPU pods go to GPU nodes, and the others leave those to them."""

import pytest

from moorage.policies.gpu.gpu_priority import KEPT_FOR_GPU_PODS, NO_GPU, GPUPriorityPlugin
from moorage.testing import Cluster, PodBuilder, node, pod
from tests.unit.policies.asking import refusals, scores, world

GPU = "nvidia.com/gpu"
NODES = (node("gpu").offering({GPU: "8"}), node("plain"))
TRAINING = pod("training").requesting({GPU: "1"}, cpu="1")
WEB = pod("web").requesting(cpu="1")


@pytest.mark.parametrize(
    ("asking", "want"),
    [
        pytest.param(TRAINING, {"gpu": 100, "plain": 0}, id="a GPU pod wants a GPU node"),
        pytest.param(WEB, {"gpu": 10, "plain": 50}, id="any other pod rather wants a plain one"),
        pytest.param(
            pod("zero").requesting({GPU: "0"}),
            {"gpu": 10, "plain": 50},
            id="a pod that asks for no GPUs in so many words is no GPU pod",
        ),
    ],
)
def test_scores(asking: PodBuilder, want: dict[str, int]) -> None:
    assert scores(world(GPUPriorityPlugin(), *NODES), asking) == want


def test_every_score_is_an_argument() -> None:
    plugin = GPUPriorityPlugin(gpu_weight=80, gpu_node_score=5, plain_node_score=60)
    cluster = world(plugin, *NODES)

    assert scores(cluster, TRAINING) == {"gpu": 80, "plain": 0}
    assert scores(cluster, WEB) == {"gpu": 5, "plain": 60}


def test_a_gpu_pod_is_kept_off_nodes_without_a_gpu() -> None:
    cluster = world(GPUPriorityPlugin(), *NODES)

    assert refusals(cluster, TRAINING) == {"plain": NO_GPU}
    assert refusals(cluster, WEB) == {}


def test_gpu_nodes_can_be_kept_for_gpu_pods() -> None:
    cluster = world(GPUPriorityPlugin(reserve_gpu_nodes=True), *NODES)

    assert refusals(cluster, WEB) == {"gpu": KEPT_FOR_GPU_PODS}
    assert refusals(cluster, TRAINING) == {"plain": NO_GPU}


def test_what_a_gpu_is_called_is_an_argument() -> None:
    nodes = (node("npu").offering({"example.com/npu": "1"}), node("mig").offering({GPU: "1"}))
    plugin = GPUPriorityPlugin(resource_names=("example.com/*",))

    assert scores(world(plugin, *nodes), WEB) == {"mig": 50, "npu": 10}


def test_a_resource_that_no_node_offers_is_no_gpu_anywhere() -> None:
    cluster = world(GPUPriorityPlugin(), node("a"))

    assert refusals(cluster, TRAINING) == {"a": NO_GPU}
    assert scores(cluster, TRAINING) == {"a": 0}


def test_a_node_that_gets_its_gpus_later_is_a_gpu_node_from_then_on() -> None:
    cluster = Cluster(node("a"), node("b"), plugins=[GPUPriorityPlugin()])
    assert cluster.place(pod("first").requesting({GPU: "1"})) is None

    cluster.add(node("b").offering({GPU: "4"}))

    assert cluster.place(pod("second").requesting({GPU: "1"})) == "b"


def test_web_pods_fill_plain_nodes_and_leave_the_gpu_node_alone() -> None:
    cluster = Cluster(*NODES, plugins=[GPUPriorityPlugin()])

    assert {cluster.place(pod(f"web-{i}").requesting(cpu="10m")) for i in range(9)} == {"plain"}
