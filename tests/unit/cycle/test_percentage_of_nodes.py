"""percentageOfNodesToScore: kube's formula and kube's rotation."""

import numpy as np
import pytest

from moorage.cycle import attempt
from moorage.testing import Cluster, node, pod


@pytest.mark.parametrize(
    ("percentage", "nodes", "want"),
    [
        pytest.param(50, 99, 99, id="below a hundred nodes all are looked at"),
        pytest.param(10, 500, 100, id="never fewer than a hundred"),
        pytest.param(30, 1000, 300, id="the percentage of a large cluster"),
        pytest.param(0, 1000, 420, id="zero asks for the formula: 50 - nodes / 125 percent"),
        pytest.param(0, 6000, 300, id="the formula stops at five percent"),
    ],
)
def test_enough(percentage: int, nodes: int, want: int) -> None:
    assert attempt.num_feasible_nodes_to_find(percentage, nodes) == want


def test_the_walk_goes_on_where_the_last_one_stopped() -> None:
    cluster = Cluster(*(node(f"n{index:03}") for index in range(250)))
    cluster.profile.percentage_of_nodes_to_score = 40
    cycle = cluster.cycle(pod("web"))
    feasible = np.ones(250, dtype=bool)

    first = np.flatnonzero(attempt.sample_feasible(cluster.profile, cycle, feasible))
    second = np.flatnonzero(attempt.sample_feasible(cluster.profile, cycle, feasible))
    third = np.flatnonzero(attempt.sample_feasible(cluster.profile, cycle, feasible))

    assert first.tolist() == list(range(100))
    assert second.tolist() == list(range(100, 200))
    assert third.tolist() == [*range(50), *range(200, 250)]


def test_infeasible_nodes_are_walked_over() -> None:
    cluster = Cluster(*(node(f"n{index:03}") for index in range(250)))
    cluster.profile.percentage_of_nodes_to_score = 40
    feasible = np.arange(250) % 2 == 0

    kept = attempt.sample_feasible(cluster.profile, cluster.cycle(pod("web")), feasible)

    assert np.flatnonzero(kept).tolist() == list(range(0, 200, 2))
    assert cluster.profile.next_start == 199
