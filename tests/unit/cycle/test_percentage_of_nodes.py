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
    every = np.ones(250, dtype=bool)

    first = np.flatnonzero(attempt.sample_feasible(cluster.profile, cycle, every, every))
    second = np.flatnonzero(attempt.sample_feasible(cluster.profile, cycle, every, every))
    third = np.flatnonzero(attempt.sample_feasible(cluster.profile, cycle, every, every))

    assert first.tolist() == list(range(100))
    assert second.tolist() == list(range(100, 200))
    assert third.tolist() == [*range(50), *range(200, 250)]


def test_infeasible_nodes_are_walked_over() -> None:
    cluster = Cluster(*(node(f"n{index:03}") for index in range(250)))
    cluster.profile.percentage_of_nodes_to_score = 40
    every, feasible = np.ones(250, dtype=bool), np.arange(250) % 2 == 0

    kept = attempt.sample_feasible(cluster.profile, cluster.cycle(pod("web")), every, feasible)

    assert np.flatnonzero(kept).tolist() == list(range(0, 200, 2))
    assert cluster.profile.progress.next_start == 199


@pytest.mark.parametrize(
    ("named", "fit", "scored", "next_start"),
    [
        pytest.param(300, True, 150, 150, id="half of all"),
        pytest.param(240, True, 120, 120, id="half of those that PreFilter left"),
        pytest.param(150, True, 100, 100, id="a hundred of those at least"),
        pytest.param(99, True, 99, 99, id="all of those below a hundred"),
        pytest.param(99, False, 0, 99, id="all of those, in vain"),
        pytest.param(300, False, 0, 0, id="all, in vain"),
    ],
)
def test_the_percentage_is_of_the_nodes_that_pre_filter_leaves(
    named: int, fit: bool, scored: int, next_start: int
) -> None:
    """As kube's findNodesThatPassFilters, which is given those alone."""
    names = [f"n{index:03}" for index in range(300)]
    cluster = Cluster(*(node(name).offering(cpu="4") for name in names))
    cluster.profile.percentage_of_nodes_to_score = 50
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        for name in names[:named]
    ]
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    asking = pod("web").requesting(cpu="1" if fit else "8")
    asking = asking.with_spec(affinity={"nodeAffinity": wanted})

    decided = attempt.run(cluster.profile, cluster.cycle(asking), keep_scores=True)

    found = decided.feasible if isinstance(decided, attempt.Decision) else 0
    assert (found, cluster.profile.progress.next_start) == (scored, next_start)
