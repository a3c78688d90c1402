"""A node is as loaded as its busiest resource, and the idlest is best."""

from moorage.policies.load.load_balancing import LoadBalancingPlugin
from moorage.testing import Cluster, node, pod
from tests.unit.policies.asking import faults, scores, world

GPU = "nvidia.com/gpu"
SMALL = pod("small").requesting(cpu="400m", memory="1Gi")


def test_an_empty_node_scores_what_the_pod_leaves_of_it() -> None:
    cluster = world(LoadBalancingPlugin(), node("a"))

    assert scores(cluster, SMALL) == {"a": 90}


def test_a_tenth_that_is_left_is_a_score_of_ten() -> None:
    cluster = world(LoadBalancingPlugin(), node("a"))

    assert scores(cluster, pod("p").requesting(cpu="3600m")) == {"a": 10}


def test_full_memory_is_not_made_up_for_by_idle_cpu() -> None:
    cluster = world(
        LoadBalancingPlugin(),
        node("a"),
        node("b"),
        pod("cache").requesting(cpu="100m", memory="11Gi").on("a"),
        pod("even").requesting(cpu="2", memory="1Gi").on("b"),
    )

    assert scores(cluster, SMALL) == {"a": 25, "b": 40}


def test_the_number_of_pods_is_a_load_too() -> None:
    cluster = world(
        LoadBalancingPlugin(),
        node("a").offering(pods="2"),
        node("b"),
        pod("p").requesting(cpu="1m", memory="1Mi").on("a"),
    )

    assert scores(cluster, pod("new").requesting(cpu="1m", memory="1Mi")) == {"a": 0, "b": 99}


def test_which_resources_count_is_an_argument() -> None:
    cluster = world(
        LoadBalancingPlugin(resources=(GPU,)),
        node("a").offering({GPU: "4"}),
        node("b").offering({GPU: "8"}),
        node("c"),
    )

    assert scores(cluster, pod("t").requesting({GPU: "2"})) == {"a": 50, "b": 75, "c": 0}
    assert scores(cluster, SMALL) == {"a": 100, "b": 100, "c": 100}


def test_an_overfull_node_scores_0() -> None:
    cluster = world(LoadBalancingPlugin(), node("a"), pod("p").requesting(cpu="9").on("a"))

    assert scores(cluster, SMALL) == {"a": 0}


def test_pods_are_dealt_out_evenly() -> None:
    cluster = Cluster(node("a"), node("b"), plugins=[LoadBalancingPlugin()], alone=True)

    placed = [cluster.place(pod(f"p{i}").requesting(cpu="500m")) for i in range(6)]

    assert sorted(map(str, placed)) == ["a"] * 3 + ["b"] * 3


def test_resources_that_no_node_can_offer_are_refused() -> None:
    assert faults(LoadBalancingPlugin, resources=["cpu", "storage", "pods", GPU]) == []
    assert faults(LoadBalancingPlugin, resources=[]) == ["resources: at least one is needed"]
    assert faults(LoadBalancingPlugin, resources=["cpu", "mem"]) == [
        'resources[1]: Invalid value: "mem": must be cpu, memory, storage, pods, or an extended '
        "resource such as nvidia.com/gpu"
    ]
