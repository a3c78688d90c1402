"""A pod that the whole cluster could not hold is refused before any node is looked at."""

from moorage.policies.cluster_capacity import ClusterCapacity
from moorage.testing import Cluster, node, pod

NODES = (node("a").offering(cpu="4"), node("b").offering(cpu="4"))


def test_more_than_all_nodes_together() -> None:
    cluster = Cluster(*NODES, plugins=[ClusterCapacity()])

    assert "the pod asks for 10 of cpu, and the whole cluster has 8" in cluster.why_not(
        pod("p").requesting(cpu="10")
    )
    assert "the pod asks for 1 of example.com/fpga, and the whole cluster has 0" in cluster.why_not(
        pod("p").requesting({"example.com/fpga": "1"})
    )


def test_what_fits_the_total_is_left_to_the_filters() -> None:
    cluster = Cluster(*NODES, plugins=[ClusterCapacity()])

    assert cluster.why_not(pod("p").requesting(cpu="6")).startswith(
        "0/2 nodes are available: 2 Insufficient cpu."
    )
    assert cluster.place(pod("p").requesting(cpu="3")) in ("a", "b")
