"""Resources are weighed by what a namespace's pods are like."""

import pytest

from moorage.config import strict_decoder
from moorage.config.field_errors import Report
from moorage.policies.load.adaptive_scheduling import AdaptiveSchedulingPlugin, Strategy
from moorage.policies.load.strategy_goals import CpuAndMemory, NamespaceStrategy
from moorage.policies.telemetry import node_measurements
from moorage.policies.telemetry.node_measurements import Usage
from moorage.testing import Cluster, PodBuilder, node, pod
from tests.unit.policies.asking import at, faults, plugin_of, scores, world

QUICK = AdaptiveSchedulingPlugin(max_step=100)


def resident(i: int, cpu: str, memory: str, namespace: str = "team", on: str = "a") -> PodBuilder:
    return pod(f"r{i}", namespace).requesting(cpu=cpu, memory=memory).on(on)


def job(builder: PodBuilder) -> PodBuilder:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    builder.raw["metadata"]["ownerReferences"] = [owner]
    return builder


def learnt(cluster: Cluster, namespace: str = "team", now: float = 0.0) -> Strategy:
    strategy: Strategy = plugin_of(cluster).strategy(at(cluster, pod("p", namespace), now))
    return strategy


def cpu_heavy() -> list[PodBuilder]:
    """A tenth of a node's cpu each, and next to no memory."""
    return [resident(i, "400m", "160Mi") for i in range(5)]


def test_without_pods_to_learn_from_cpu_and_memory_weigh_the_same() -> None:
    cluster = world(AdaptiveSchedulingPlugin(), node("a"), resident(0, "1", "1Gi"))

    strategy = learnt(cluster)

    assert (strategy.cpu_weight, strategy.memory_weight, strategy.goal) == (50, 50, "spread")
    assert strategy.why == "1 pod seen, 5 are needed to tell a pattern"


@pytest.mark.parametrize(
    ("cpu", "memory", "want"),
    [
        pytest.param("400m", "160Mi", (80, 20), id="cpu weighs more for pods that ask for it"),
        pytest.param("40m", "1600Mi", (20, 80), id="memory for pods that ask for that"),
        pytest.param("400m", "1638Mi", (50, 50), id="both the same where both are asked for"),
    ],
)
def test_weights_follow_what_the_pods_ask_for(cpu: str, memory: str, want: tuple[int, int]) -> None:
    cluster = world(QUICK, node("a"), *(resident(i, cpu, memory) for i in range(5)))

    strategy = learnt(cluster)

    assert (strategy.cpu_weight, strategy.memory_weight) == want


def test_what_is_scarce_in_the_cluster_counts_as_much() -> None:
    """The team's pods are balanced; others have taken most of the memory."""
    team = [resident(i, "400m", "1638Mi") for i in range(5)]
    others = [resident(9, "100m", "15Gi", "others", "b")]
    cluster = world(QUICK, node("a"), node("b"), *team, *others)

    strategy = learnt(cluster)

    assert strategy.cpu_weight == 38
    assert strategy.why == (
        "5 balanced pods ask for cpu and memory as 50% to 50%; of the cluster, 26% of cpu and 72% "
        "of memory are asked for; so cpu should weigh 38, and weighs 38; spread"
    )


def test_each_namespace_has_a_strategy_of_its_own() -> None:
    batch = [resident(i + 10, "40m", "1600Mi", "data") for i in range(5)]
    cluster = world(QUICK, node("a"), *cpu_heavy(), *batch)

    assert learnt(cluster, "team").cpu_weight > 50 > learnt(cluster, "data").cpu_weight
    assert set(AdaptiveSchedulingPlugin.in_force(cluster.profile.shared)) == {"team", "data"}


def test_the_same_pod_goes_elsewhere_by_the_strategy_of_its_namespace() -> None:
    """`b` has half of its memory left and all of its cpu, `c` the other way round."""
    team = [resident(i, "400m", "160Mi") for i in range(5)]
    data = [resident(i + 10, "40m", "1600Mi", "data", "d") for i in range(5)]
    taken = [
        resident(20, "10m", "8Gi", "others", "b"),
        resident(21, "2", "10Mi", "others", "c"),
    ]
    cluster = world(QUICK, *(node(name) for name in "abcd"), *team, *data, *taken)
    asks = {name: pod("p", name).requesting(cpu="1", memory="4Gi") for name in ("team", "data")}

    by_cpu, by_memory = (scores(cluster, asked) for asked in asks.values())

    assert by_cpu["b"] > by_cpu["c"]
    assert by_memory["c"] > by_memory["b"]


def test_weights_move_step_by_step_and_stop_at_their_bounds() -> None:
    cluster = world(AdaptiveSchedulingPlugin(), node("a"), *cpu_heavy())

    moves = [learnt(cluster, now=60.0 * minute).cpu_weight for minute in range(5)]

    assert moves == [60, 70, 80, 80, 80]


def test_a_strategy_holds_for_an_interval() -> None:
    cluster = world(AdaptiveSchedulingPlugin(), node("a"), *cpu_heavy())

    first = learnt(cluster, now=0.0)

    assert learnt(cluster, now=59.0) is first
    assert learnt(cluster, now=60.0).cpu_weight == 70


def test_pods_of_jobs_are_packed() -> None:
    cluster = world(QUICK, node("a"), *(job(each) for each in cpu_heavy()))

    strategy = learnt(cluster)

    assert strategy.goal == "pack"
    assert strategy.why.endswith("packed, because 100% are pods of jobs")


def test_so_are_all_pods_of_a_full_cluster() -> None:
    full = [resident(i, "700m", "100Mi") for i in range(5)]
    cluster = world(QUICK, node("a"), *full)

    assert learnt(cluster).why.endswith("packed, because the cluster is 88% full")


def test_scores_are_what_is_left_by_weight_or_what_is_used() -> None:
    """Cpu weighs 80; on `a` half of it is used, and none of the memory to speak of."""
    spread = world(QUICK, node("a"), node("b"), *cpu_heavy())
    packed = world(QUICK, node("a"), node("b"), *(job(each) for each in cpu_heavy()))
    asks = pod("p", "team").requesting(cpu="400m", memory="1638Mi")

    assert scores(spread, asks) == {"a": 49, "b": 90}
    assert scores(packed, asks) == {"a": 50, "b": 9}


def test_pods_that_leave_are_forgotten() -> None:
    cluster = world(QUICK, node("a"), *cpu_heavy())
    assert learnt(cluster).cpu_weight == 80

    for i in range(5):
        cluster.cache.remove_pod(f"team/r{i}")

    assert learnt(cluster, now=60.0).why.startswith("0 pods seen")


def test_what_nodes_use_counts_where_most_are_measured() -> None:
    """Pods ask for little memory, but use nearly all there is of it."""
    cluster = world(QUICK, node("a"), node("b"), *cpu_heavy())
    store = node_measurements.usage_store(cluster.profile.shared)

    store.record("a", Usage(cpu=400.0, memory=15.0 * 2**30, at=1000.0))
    measured = learnt(cluster, now=1000.0)

    assert "of the cluster, 10% of cpu and 94% of memory are in use" in measured.why
    assert measured.why.endswith("packed, because the cluster is 94% full")
    stale = learnt(cluster, now=1301.0)
    assert "of memory are asked for" in stale.why
    assert stale.goal == "spread"


def test_one_node_of_three_does_not_speak_for_all() -> None:
    cluster = world(QUICK, node("a"), node("b"), node("c"), *cpu_heavy())

    node_measurements.usage_store(cluster.profile.shared).record(
        "a", Usage(4000.0, 2.0**34, at=0.0)
    )

    assert "of memory are asked for" in learnt(cluster).why


def test_bounds_leave_room_for_even_weights() -> None:
    fault = ["minWeight: 50 must be between minWeight and maxWeight"]

    assert faults(AdaptiveSchedulingPlugin, minWeight=60) == fault
    assert faults(AdaptiveSchedulingPlugin, minWeight=0, maxWeight=100) == []


@pytest.mark.parametrize(
    ("weights", "want"),
    [
        pytest.param({"cpu": 3, "memory": 7}, 30, id="both are given"),
        pytest.param({"memory": 10}, 20, id="what is left out weighs as little as can be"),
        pytest.param({}, 80, id="none is given: by what the pods ask for"),
    ],
)
def test_a_namespace_may_say_what_cpu_and_memory_weigh(weights: dict[str, int], want: int) -> None:
    team = NamespaceStrategy(resource_weights=CpuAndMemory(**weights))
    plugin = AdaptiveSchedulingPlugin(max_step=100, strategies={"team": team})

    assert learnt(world(plugin, node("a"), *cpu_heavy())).cpu_weight == want


@pytest.mark.parametrize("pods", [0, 5])
def test_what_a_namespace_says_holds_from_the_beginning(pods: int) -> None:
    """No pattern has to be told first, and no weight moves there step by step."""
    team = NamespaceStrategy(resource_weights=CpuAndMemory(cpu=3, memory=7))
    plugin = AdaptiveSchedulingPlugin(strategies={"team": team})

    strategy = learnt(world(plugin, node("a"), *cpu_heavy()[:pods]))

    assert (strategy.cpu_weight, strategy.memory_weight) == (30, 70)
    assert "cpu weighs 30, as it is told to" in strategy.why


def test_a_namespace_weighs_nothing_but_cpu_and_memory() -> None:
    report = Report()
    args = {"strategies": {"web": {"resourceWeights": {"gpu": 3}}}}

    strict_decoder.decode(args, AdaptiveSchedulingPlugin, report)

    assert [str(problem) for problem in report.problems] == [
        "strategies.web.resourceWeights.gpu: unknown field"
    ]
