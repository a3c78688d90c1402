"""What AdaptiveSchedulingPlugin has learnt is told: in metrics, in the log, as JSON."""

import io
import json

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from moorage.observe import adaptive_strategies, logs
from moorage.observe.adaptive_strategies import Strategies
from moorage.policies.load.adaptive_scheduling import AdaptiveSchedulingPlugin
from moorage.testing import Cluster, node, pod

WHY = (
    "5 cpu-heavy pods ask for cpu and memory as 89% to 11%; of the cluster, 31% of cpu and 4% of "
    "memory are asked for; so cpu should weigh 89, and weighs 60; spread"
)


@pytest.fixture
def cluster() -> Cluster:
    """Five pods that ask for much cpu, and a sixth that was placed."""
    asking = {"cpu": "500m", "memory": "256Mi"}
    residents = (pod(f"p{i}").requesting(asking).on("n1") for i in range(5))
    nodes = (node("n1"), node("n2"))
    made = Cluster(*nodes, *residents, plugins=[AdaptiveSchedulingPlugin()], alone=True)
    assert made.place(pod("next").requesting(asking)) == "n2"
    return made


def told(cluster: Cluster) -> Strategies:
    return Strategies(lambda: {"moorage": cluster.profile})


def test_what_is_in_force_and_why(cluster: Cluster) -> None:
    found = adaptive_strategies.strategies_by_profile({"moorage": cluster.profile})["moorage"][
        "default"
    ]

    assert (found["cpu_weight"], found["memory_weight"], found["goal"]) == (60, 40, "spread")
    assert found["why"] == WHY
    assert json.dumps(found)


def test_a_profile_that_learns_nothing_is_not_there() -> None:
    assert adaptive_strategies.strategies_by_profile({"plain": Cluster(node("n1")).profile}) == {}


def test_weights_are_metrics(cluster: Cluster) -> None:
    registry = CollectorRegistry()
    registry.register(told(cluster))

    text = generate_latest(registry).decode()

    labels = 'goal="spread",namespace="default",profile="moorage",resource='
    assert f'moorage_strategy_weight{{{labels}"cpu"}} 60.0' in text
    assert f'moorage_strategy_weight{{{labels}"memory"}} 40.0' in text


def test_a_change_is_said_once_with_its_reason(cluster: Cluster) -> None:
    stream = io.StringIO()
    log = logs.configure(0, "json", stream)
    strategies = told(cluster)

    strategies.look()
    strategies.look()
    log.close()

    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["why"] == WHY
