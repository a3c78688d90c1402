"""The cheaper it is to run the pod there, the better the node."""

import pytest

from moorage.policies.business.cost_optimization import TOO_EXPENSIVE, CostOptimizationPlugin
from moorage.policies.business.price_list import INSTANCE_TYPE_LABEL, CostMetrics
from moorage.testing import Cluster, NodeBuilder, node, pod
from tests.unit.policies import waking
from tests.unit.policies.asking import plugin_of, refusals, scores, world

GPU = "nvidia.com/gpu"
METRICS = CostMetrics(cpu=0.05, memory=0.01, gpu=2.0)
WEB = pod("web").requesting(cpu="2", memory="4Gi")


def instance(name: str, type_: str) -> NodeBuilder:
    """4 cores and 16 GB: 0.36 per hour at the metrics."""
    return node(name).labelled({INSTANCE_TYPE_LABEL: type_})


def cost(cluster: Cluster, asking: object) -> float:
    cycle = cluster.cycle(asking)  # type: ignore[arg-type]
    return float(plugin_of(cluster).prices.of_pod(cycle.incoming, cycle.table))


@pytest.mark.parametrize(
    ("asking", "want"),
    [
        pytest.param(WEB, 2 * 0.05 + 4 * 0.01, id="cores and GB are paid for by the hour"),
        pytest.param(
            pod("t").requesting({GPU: "3"}, cpu="1", memory="1Gi"), 6.06, id="and so are GPUs"
        ),
        pytest.param(
            pod("idle"),
            0.1 * 0.05 + 200 / 1024 * 0.01,
            id="a pod that asks for nothing costs what kube-scheduler takes it to use",
        ),
    ],
)
def test_what_a_pod_costs(asking: object, want: float) -> None:
    cluster = world(CostOptimizationPlugin(cost_metrics=METRICS), node("a").offering({GPU: "4"}))

    assert cost(cluster, asking) == pytest.approx(want)


def test_where_all_cost_the_same_all_score_100() -> None:
    twice = node("b").offering(cpu="8", memory="32Gi")
    cluster = world(CostOptimizationPlugin(), node("a"), twice)

    assert scores(cluster, WEB) == {"a": 100, "b": 100}


def test_without_any_price_nodes_are_told_apart_by_what_a_pod_leaves_unused() -> None:
    """A pod takes an eighth of the cores of each; what stands idle beside it differs."""
    nodes = (
        node("compute").offering(cpu="16", memory="32Gi"),
        node("memory").offering(cpu="16", memory="128Gi"),
        node("gpu").offering({GPU: "4"}, cpu="16", memory="32Gi"),
    )
    found = scores(world(CostOptimizationPlugin(), *nodes), WEB)

    assert found["compute"] == 100
    assert found["compute"] > found["memory"] > found["gpu"]


def test_an_instance_type_that_costs_twice_as_much_scores_half() -> None:
    plugin = CostOptimizationPlugin(instance_prices={"small": 0.18, "fancy": 0.36, "dear": 0.72})
    nodes = (instance("a", "small"), instance("b", "fancy"), instance("c", "dear"), node("d"))

    assert scores(world(plugin, *nodes), WEB) == {"a": 100, "b": 50, "c": 25, "d": 50}


def test_spot_instances_are_cheaper_only_where_they_are_preferred() -> None:
    nodes = (node("lasting"), node("spot").labelled({"node-type": "spot"}))

    assert scores(world(CostOptimizationPlugin(), *nodes), WEB) == {"lasting": 100, "spot": 100}
    eager = CostOptimizationPlugin(prefer_spot_instances=True, spot_price_ratio=0.25)
    assert scores(world(eager, *nodes), WEB) == {"lasting": 25, "spot": 100}


def test_a_node_beyond_the_threshold_scores_nothing_and_is_refused() -> None:
    plugin = CostOptimizationPlugin(instance_prices={"dear": 3.6}, max_cost_threshold=1.0)
    cluster = world(plugin, node("a"), instance("b", "dear"))

    assert scores(cluster, WEB) == {"a": 100, "b": 0}
    assert refusals(cluster, WEB) == {"b": TOO_EXPENSIVE.format(1.0)}


def test_without_a_threshold_nothing_is_too_dear() -> None:
    plugin = CostOptimizationPlugin(instance_prices={"dear": 1e9})

    assert refusals(world(plugin, instance("b", "dear")), WEB) == {}


def test_where_everything_is_too_dear_nothing_is_preferred() -> None:
    cluster = world(CostOptimizationPlugin(max_cost_threshold=0.0), node("a"), node("b"))

    assert scores(cluster, WEB) == {"a": 0, "b": 0}


def test_what_is_free_is_best() -> None:
    plugin = CostOptimizationPlugin(instance_prices={"gift": 0.0})

    assert scores(world(plugin, node("a"), instance("b", "gift")), WEB) == {"a": 0, "b": 100}


def test_a_node_that_offers_nothing_is_taken_at_its_list_price() -> None:
    empty = instance("a", "small").offering(cpu="0", memory="0")
    plugin = CostOptimizationPlugin(instance_prices={"small": 0.01})

    assert scores(world(plugin, empty, node("b")), WEB) == {"a": 100, "b": 77}


def test_batch_pods_fill_the_spot_node_first() -> None:
    plugin = CostOptimizationPlugin(prefer_spot_instances=True)
    nodes = (node("lasting"), node("spot").labelled({"node-type": "spot"}))
    cluster = Cluster(*nodes, plugins=[plugin])

    placed = [cluster.place(pod(f"b{i}").requesting(cpu="1500m")) for i in range(4)]

    assert placed == ["spot", "spot", "lasting", "lasting"]


def test_a_pod_that_was_too_dear_is_tried_again_when_it_asks_for_less() -> None:
    """All of a node of four cores and 16 GB costs 0.36."""
    all_of_it = pod("p").requesting(cpu="4")
    half_of_it = pod("p").requesting(cpu="2")

    found = waking.places(
        "p", "CostOptimizationPlugin", {"maxCostThreshold": 0.2}, [node("a"), all_of_it], half_of_it
    )

    assert found == ["", "a"]
