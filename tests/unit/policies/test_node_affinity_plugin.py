"""The preferred node affinity of pods, under a name and weight of its own."""

from typing import Any

from moorage.policies.node_affinity_plugin import NodeAffinityPlugin
from moorage.testing import Cluster, PodBuilder, node, pod
from tests.unit.policies.asking import scores, world

NODES = (
    node("both").labelled(disk="ssd", zone="x"),
    node("one").labelled(disk="ssd"),
    node("none"),
)


def preferring(*terms: tuple[int, str, str]) -> PodBuilder:
    preferred: list[dict[str, Any]] = [
        {
            "weight": weight,
            "preference": {"matchExpressions": [{"key": k, "operator": "In", "values": [v]}]},
        }
        for weight, k, v in terms
    ]
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    return pod("p").with_spec(affinity={"nodeAffinity": affinity})


def test_the_node_where_most_holds_scores_100_and_others_in_proportion() -> None:
    asks = preferring((60, "disk", "ssd"), (20, "zone", "x"))

    assert scores(world(NodeAffinityPlugin(), *NODES), asks) == {"both": 100, "none": 0, "one": 75}


def test_names_of_nodes_can_be_preferred_too() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["one"]}]}
    affinity = {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]
    }
    asks = pod("p").with_spec(affinity={"nodeAffinity": affinity})

    assert scores(world(NodeAffinityPlugin(), *NODES), asks) == {"both": 0, "none": 0, "one": 100}


def test_a_pod_that_prefers_nothing_scores_all_nodes_alike() -> None:
    assert set(scores(world(NodeAffinityPlugin(), *NODES), pod("p")).values()) == {0}


def test_it_says_what_kube_schedulers_own_says() -> None:
    asks = preferring((7, "disk", "ssd"), (3, "zone", "x"), (5, "zone", "y"))
    cluster = Cluster(*NODES, plugins=[NodeAffinityPlugin()])

    own = cluster.scores(asks, "NodeAffinity")

    assert own == {
        name: 2 * score for name, score in cluster.scores(asks, "NodeAffinityPlugin").items()
    }
