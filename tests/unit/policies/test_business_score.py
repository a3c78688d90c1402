"""Cost, performance and reliability of a node in one score."""

from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.policies.business.business_score import BusinessScorePlugin, Weights
from moorage.policies.business.price_list import INSTANCE_TYPE_LABEL
from moorage.policies.telemetry.metric_sources import NO_PROVIDER, UsageProvider, UsageSource
from moorage.testing import NodeBuilder, node, pod
from tests.unit.policies.asking import faults, scores, world

NOBODY = UsageProvider(type=NO_PROVIDER)

CPU, NETWORK, STORAGE = (f"moorage.io/{part}-performance" for part in ("cpu", "network", "storage"))
RELIABILITY = "moorage.io/reliability"
ONLY_COST = Weights(cost=100, performance=0, reliability=0)
ONLY_PERFORMANCE = Weights(cost=0, performance=100, reliability=0)
ONLY_RELIABILITY = Weights(cost=0, performance=0, reliability=100)
BEST = node("best").labelled({CPU: "100", NETWORK: "100", STORAGE: "100", RELIABILITY: "100"})


def with_condition(name: str, type_: str, status: str) -> Node:
    conditions = [{"type": type_, "status": status}]
    return decode_as({"metadata": {"name": name}, "status": {"conditions": conditions}}, Node)


def test_cost_counts_40_performance_35_and_reliability_25() -> None:
    cluster = world(
        BusinessScorePlugin(),
        BEST,
        node("slow").labelled({CPU: "0", NETWORK: "0", STORAGE: "0", RELIABILITY: "100"}),
        node("shaky").labelled({CPU: "100", NETWORK: "100", STORAGE: "100", RELIABILITY: "0"}),
    )

    assert scores(cluster, pod("p")) == {"best": 100, "shaky": 75, "slow": 65}


@pytest.mark.parametrize(
    ("price", "want"),
    [
        pytest.param(1.0, 100, id="up to 1.0 per hour scores 100"),
        pytest.param(1.1, 80, id="up to 2.0 scores 80"),
        pytest.param(5.0, 60, id="up to 5.0 scores 60"),
        pytest.param(5.1, 20, id="and beyond that 20"),
    ],
)
def test_cost_goes_by_steps(price: float, want: int) -> None:
    """A pod that asks for the whole node costs the price of the node."""
    plugin = BusinessScorePlugin(weights=ONLY_COST, instance_prices={"x": price})
    cluster = world(plugin, node("a").labelled({INSTANCE_TYPE_LABEL: "x"}))

    assert scores(cluster, pod("p").requesting(cpu="4", memory="16Gi")) == {"a": want}


def test_performance_is_the_mean_of_cpu_network_and_storage() -> None:
    plugin = BusinessScorePlugin(weights=ONLY_PERFORMANCE)
    cluster = world(
        plugin,
        node("told").labelled({CPU: "90", NETWORK: "60", STORAGE: "30"}),
        node("half-told").labelled({CPU: "80"}),
        node("silent"),
        node("boasting").labelled({CPU: "900", NETWORK: "fast", STORAGE: "-5"}),
    )

    assert scores(cluster, pod("p")) == {
        "boasting": 50,
        "half-told": 60,
        "silent": 50,
        "told": 60,
    }


def test_reliability_is_what_a_node_says_or_else_what_it_is() -> None:
    cluster = world(
        BusinessScorePlugin(weights=ONLY_RELIABILITY),
        node("told").labelled({RELIABILITY: "70", "node-type": "spot"}),
        node("lasting"),
        node("spot").labelled({"node-type": "spot"}),
        with_condition("gone", "Ready", "Unknown"),
        with_condition("full", "DiskPressure", "True"),
        with_condition("well", "DiskPressure", "False"),
    )

    assert scores(cluster, pod("p")) == {
        "full": 0,
        "gone": 0,
        "lasting": 100,
        "spot": 30,
        "told": 70,
        "well": 100,
    }


@pytest.mark.parametrize(
    ("args", "want"),
    [
        pytest.param(
            {"weights": {"cost": 0, "performance": 0, "reliability": 0}, "costSteps": []},
            ["weights: one of them must be above 0"],
            id="weights that weigh nothing",
        ),
        pytest.param(
            {"weights": {"cost": 1}, "costSteps": [{"cost": 2.0}, {"cost": 1.0}]},
            ["costSteps: must be listed from the lowest cost to the highest"],
            id="steps in disorder",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(args: dict[str, Any], want: list[str]) -> None:
    assert faults(BusinessScorePlugin, **args) == want


def fast(name: str, **features: str) -> NodeBuilder:
    prefix = "feature.node.kubernetes.io/"
    return node(name).labelled(
        {f"{prefix}{key.replace('__', '-').replace('_', '.')}": v for key, v in features.items()}
    )


def test_performance_comes_from_what_is_known_where_no_label_says_it() -> None:
    only = BusinessScorePlugin(weights=Weights(cost=0, performance=100, reliability=0))
    cluster = world(
        only,
        node("unknown"),
        fast("wide", cpu__cpuid_AVX512F="true"),
        fast("narrow", cpu__cpuid_SSE4="true"),
        fast("flash", storage__nonrotationaldisk="true"),
        fast("spinning", storage__nonrotationaldisk="false"),
        fast("rdma", rdma_capable="true"),
        node("busy").annotated({"metrics.moorage.io/cpu": "4"}),
        node("idle").annotated({"metrics.moorage.io/cpu": "0"}),
    )

    found = scores(cluster, pod("web"))

    assert found["unknown"] == 50
    assert found["wide"] == found["flash"] == found["rdma"] == found["idle"] == 66
    assert found["narrow"] < 50
    assert found["spinning"] < 50
    assert found["busy"] < found["narrow"]


def test_targets_count_for_the_network() -> None:
    only = BusinessScorePlugin(
        weights=Weights(cost=0, performance=100, reliability=0), latency_targets={"app=db": 1.0}
    )
    db = pod("db").labelled(app="db").on("near")
    cluster = world(only, node("near").in_zone("a"), node("far").in_zone("b"), db)

    found = scores(cluster, pod("web"))

    assert found["near"] > found["far"]


@pytest.mark.parametrize(("provider", "want"), [(UsageProvider(), 1), (NOBODY, 0)])
def test_usage_is_read_unless_nobody_is_to_be_asked(provider: UsageProvider, want: int) -> None:
    found = BusinessScorePlugin(metric_provider=provider).sources()

    assert sum(isinstance(source, UsageSource) for source in found) == want
