"""Every policy's vector form says of every node what its plain twin says."""

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from moorage.api.cluster_objects import Namespace
from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.app.built_in_plugins import POLICIES
from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.config import scheduling_policy
from moorage.framework.cycle import Cycle
from moorage.framework.points import Filter, Score
from moorage.policies.business.business_affinity import BusinessAffinityPlugin
from moorage.policies.business.business_score import BusinessScorePlugin, Weights
from moorage.policies.business.cost_optimization import CostOptimizationPlugin
from moorage.policies.compliance import Compliance
from moorage.policies.energy_aware import EnergyAware
from moorage.policies.gpu.gpu_priority import GPUPriorityPlugin
from moorage.policies.gpu.gpu_topology import GPUTopology
from moorage.policies.load.adaptive_scheduling import AdaptiveSchedulingPlugin
from moorage.policies.load.load_balancing import LoadBalancingPlugin
from moorage.policies.load.low_cpu import LowCpuScheduler
from moorage.policies.network_latency import NetworkLatencyPlugin
from moorage.policies.node_affinity_plugin import NodeAffinityPlugin
from moorage.policies.scheduling_policies import SchedulingPolicies
from moorage.policies.tenant_isolation import TenantIsolation
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from tests.properties import policy_twins as twins
from tests.properties.policy_twins import GPU, HAIR, NOW, Twin, World

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""No shrinking: a world of five nodes can be read as it is, and takes minutes to make smaller."""

ZONED = {"key": "zone", "operator": "Exists"}
DOCUMENT = {
    "apiVersion": scheduling_policy.API_VERSION,
    "kind": scheduling_policy.KIND,
    "metadata": {"name": "default-policy"},
    "spec": {
        "resourceWeights": {"cpu": 3, GPU: 5},
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [ZONED]}]
            }
        },
    },
}
LATENCIES = {"a": {"b": 3.0, "edge": 17.0}, "b": {"b": 1.0}}
PRICES = {"m": 1.5, "free": 0.0}
CASES: dict[str, tuple[Any, Twin]] = {
    "GPUPriorityPlugin": (GPUPriorityPlugin(reserve_gpu_nodes=True), twins.gpu_priority),
    "BusinessAffinityPlugin": (BusinessAffinityPlugin(), twins.business_affinity),
    "BusinessScorePlugin": (
        BusinessScorePlugin(
            instance_prices=PRICES, weights=Weights(cost=40, performance=0, reliability=25)
        ),
        twins.business_score,
    ),
    "CostOptimizationPlugin": (
        CostOptimizationPlugin(
            instance_prices=PRICES, prefer_spot_instances=True, max_cost_threshold=2.0
        ),
        twins.cost,
    ),
    "Compliance": (Compliance(region_label="zone"), twins.compliance),
    "TenantIsolation": (
        TenantIsolation(tenant_tiers={"acme": "gold", "globex": "bronze"}),
        twins.tenant_isolation,
    ),
    "TenantIsolation, exclusive": (
        TenantIsolation(tenant_tiers={"acme": "silver"}, exclusive=True),
        twins.tenant_isolation,
    ),
    "EnergyAware": (EnergyAware(), twins.energy),
    "GPUTopology": (GPUTopology(), twins.gpu_topology),
    "LoadBalancingPlugin": (
        LoadBalancingPlugin(resources=("cpu", "memory", "pods", GPU)),
        twins.load_balancing,
    ),
    "LowCpuScheduler": (LowCpuScheduler(), twins.low_cpu),
    "NetworkLatencyPlugin": (
        NetworkLatencyPlugin(latencies=LATENCIES, topology_label="zone", infer_peers=False),
        twins.network_latency,
    ),
    "NodeAffinityPlugin": (NodeAffinityPlugin(), twins.node_affinity),
    "SchedulingPolicies": (
        SchedulingPolicies(policies=tuple(scheduling_policy.load_policies(DOCUMENT))),
        twins.scheduling_policies,
    ),
}

LABELS = {
    "zone": ("a", "b", "edge"),
    "node-level": ("core", "plain"),
    "node-type": ("spot", "compute"),
    "tenant": ("acme", "globex"),
    "tenant-tier": ("gold", "silver", "bronze"),
    "security-level": ("low", "medium", "high"),
    "node.kubernetes.io/instance-type": ("m", "free", "unlisted"),
    "moorage.io/reliability": ("0", "55", "140"),
    "moorage.io/cpu-performance": ("10", "90"),
}
SAYS = {
    "moorage.io/temperature-celsius": ("20", "41.5", "79", "90", "91"),
    "moorage.io/power-watts": ("5", "33.3", "400"),
    "moorage.io/gpus-per-numa": ("1", "2", "3", "16"),
    "metrics.moorage.io/cpu": ("0", "3200m", "3201m", "9"),
    "metrics.moorage.io/memory": ("1Gi", "15Gi"),
    "metrics.moorage.io/measured-at": tuple(str(NOW - age) for age in (0, 60, 100, 299, 300, 900)),
}
POD_LABELS = {
    "business-level": ("core", "support"),
    "business-type": ("database", "web"),
    "preferred-zone": ("a", "nowhere"),
    "data-region": ("a", "b"),
    "security-level": ("medium", "high"),
    "tenant": ("acme", "globex", "hooli"),
    "app": ("db", "web"),
}
POD_SAYS = {
    "moorage.io/gpu-topology": ("same-numa", "any"),
    "moorage.io/talks-to": ("app=db",),
}


def some(choices: dict[str, tuple[str, ...]]) -> st.SearchStrategy[dict[str, str]]:
    """Some of the keys, each with one of its values."""
    return st.fixed_dictionaries(
        {}, optional={key: st.sampled_from(values) for key, values in choices.items()}
    )


@st.composite
def some_node(draw: st.DrawFn, name: str) -> NodeBuilder:
    made = node(name).labelled(draw(some(LABELS))).annotated(draw(some(SAYS)))
    gpus = draw(st.sampled_from(["", "1", "4", "7", "8"]))
    return made.offering({GPU: gpus}) if gpus else made


@st.composite
def some_pod(draw: st.DrawFn, name: str) -> PodBuilder:
    asks = {
        "cpu": draw(st.sampled_from(["", "100m", "333m", "2"])),
        "memory": draw(st.sampled_from(["", "1Gi", "5Gi"])),
        GPU: draw(st.sampled_from(["", "1", "2", "3"])),
    }
    made = pod(name).requesting({key: value for key, value in asks.items() if value})
    made = made.labelled(draw(some(POD_LABELS))).annotated(draw(some(POD_SAYS)))
    weights = draw(st.lists(st.sampled_from([1, 30, 100]), max_size=2))
    if not weights:
        return made
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [draw(st.sampled_from(WISHES))]}}
        for weight in weights
    ]
    prefers = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
    return made.with_spec(affinity={"nodeAffinity": prefers})


WISHES = (ZONED, {"key": "zone", "operator": "In", "values": ["a"]})


@st.composite
def some_world(draw: st.DrawFn) -> tuple[World, list[Any]]:
    names = [f"n{i}" for i in range(draw(st.integers(1, 5)))]
    nodes = [draw(some_node(name)) for name in names]
    homes = draw(st.lists(st.sampled_from(names), max_size=6))
    residents = [draw(some_pod(f"r{i}")).on(home) for i, home in enumerate(homes)]
    labels = draw(some({"tenant": ("acme", "globex"), "data-region": ("a",)}))
    namespace = decode_as({"metadata": {"name": "default", "labels": labels}}, Namespace)
    by_home: dict[str, list[Any]] = {name: [] for name in names}
    for resident in residents:
        built = resident.build()
        by_home[built.spec.node_name].append(built)
    built_nodes = {name: made.build() for name, made in zip(names, nodes, strict=True)}
    world = World(built_nodes, by_home, draw(some_pod("p")).build(), labels)
    return world, [*nodes, *residents, namespace]


def cycle_of(world: World, objects: list[Any]) -> Cycle:
    """An attempt at the pod, and nothing kept from any other."""
    cache = Cache()
    for obj in objects:
        built = obj.build() if isinstance(obj, NodeBuilder | PodBuilder) else obj
        if isinstance(built, Node):
            cache.put_node(built)
        elif isinstance(built, Pod):
            cache.put_pod(built)
        else:
            cache.objects.put(built)
    return Cycle(cache, cache.info(world.pod), now=NOW, shared={})


def agree(plugin: Any, twin: Twin, world: World, cycle: Cycle) -> None:
    """Both say the same of every node."""
    nodes, row_of = Nodes.all(cycle.table), cycle.table.row_of
    said = {name: twin(plugin, world, each) for name, each in world.nodes.items()}
    policy = type(plugin).__name__
    if isinstance(plugin, Filter):
        codes = np.zeros(nodes.count, dtype=np.int32)
        plugin.filter_all(cycle, world.pod, nodes, codes)
        got = {name: bool(codes[row_of[name]]) for name in said}
        assert got == {name: each.refused for name, each in said.items()}, policy
    if isinstance(plugin, Score):
        scores = np.zeros(nodes.count, dtype=np.int64)
        plugin.score_all(cycle, world.pod, nodes, scores)
        found = {name: int(scores[row_of[name]]) for name in said}
        want = {name: _whole(plugin, each.score) for name, each in said.items()}
        assert found == want, policy


def _whole(plugin: Any, score: float) -> int:
    """Rounded down and kept from 0 to 100, but for what is normalised afterwards."""
    if type(plugin).normalize is not Score.normalize:
        return int(score)
    return int(min(max(score, 0), 100) + HAIR)


@settings(phases=PHASES)
@given(drawn=some_world())
def test_every_vector_form_means_what_the_loop_means(drawn: tuple[World, list[Any]]) -> None:
    world, objects = drawn
    for plugin, twin in CASES.values():
        agree(plugin, twin, world, cycle_of(world, objects))


@settings(phases=PHASES)
@given(drawn=some_world())
def test_adaptive_scheduling_places_by_its_strategy(drawn: tuple[World, list[Any]]) -> None:
    world, objects = drawn
    plugin, cycle = AdaptiveSchedulingPlugin(min_pods=1), cycle_of(world, objects)
    strategy = plugin.strategy(cycle)

    assert 20 <= strategy.cpu_weight <= 80
    assert strategy.cpu_weight + strategy.memory_weight == 100
    weights = (strategy.cpu_weight, strategy.memory_weight, strategy.goal)
    agree(plugin, twins.adaptive(weights), world, cycle)


def test_every_policy_of_nodes_has_a_twin() -> None:
    """Those without are about queues, groups or several nodes, not about single nodes."""
    lacking = {policy.plugin_name() for policy in POLICIES} - {
        type(plugin).plugin_name() for plugin, _ in CASES.values()
    }

    assert lacking == {
        "AdaptiveSchedulingPlugin",  # above
        "AppConcentration",
        "CapacityScheduling",
        "ClusterCapacity",
        "Coscheduling",
        "FairShare",
        "GangScheduling",
        "GPULargestFirst",
        "GPUPacking",  # tests/properties/test_gpu_packing.py
        "ReservedRoom",
    }


def test_a_twin_that_is_wrong_is_found_out() -> None:
    """The comparison compares: one that finds every node perfect passes for nobody's twin."""
    busy = node("n0").annotated({"metrics.moorage.io/cpu": "1"})
    world = World({"n0": busy.build()}, {"n0": []}, pod("p").build(), {})

    with pytest.raises(AssertionError):
        agree(CASES["LowCpuScheduler"][0], twins.always_best, world, cycle_of(world, [busy]))
