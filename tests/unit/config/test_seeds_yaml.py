"""Every YAML block of the documents that Moorage grew from loads, or applies to the cluster.

Configurations load with all policies known and build their profiles; Kubernetes objects are applied
to the embedded cluster; the policy of the log is one that the scheduler reads; what is for
Prometheus has its like in the overlays, which promtool tests with the expressions as written.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import yaml

from moorage import Cycle, Filter, Node, Pod, Rejection, Score
from moorage.app import built_in_plugins, plugin_files
from moorage.app.config_bundle import add_policies
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock
from moorage.config import scheduling_policy, yaml_documents
from moorage.config.durations import Duration
from moorage.config.loader import load
from moorage.config.logging_policy import LogLevel, levels, load_logging_rules
from moorage.config.types import KIND, SchedulerConfiguration
from moorage.framework.plugin_registry import Registry
from moorage.memory.memory_cluster import MemoryCluster
from moorage.policies.business.cost_optimization import CostOptimizationPlugin
from moorage.policies.business.price_list import CostMetrics
from moorage.policies.gpu.gpu_priority import GPUPriorityPlugin
from moorage.policies.network_latency import NetworkLatencyPlugin
from moorage.policies.scheduling_policies import SchedulingPolicies
from moorage.simulate import simulation
from moorage.simulate.manifest_files import Manifest
from tests.data import DATA
from tests.deploy.test_seed_expressions import EXPRESSIONS

DEPLOY = Path(__file__).parents[3] / "deploy"

MONITORING = ("ServiceMonitor", "PrometheusRule", "groups")
"""What Prometheus reads: the same is in deploy/overlays, and the expressions return data."""

OWN = Path(__file__).parents[3] / "examples" / "custom-plugins" / "custom_plugins.py"


class CustomPlugin(Filter, Score, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100


class Block(NamedTuple):
    where: str
    text: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [each for each in yaml.safe_load_all(self.text) if each is not None]


BLOCKS = [
    Block(file.name, file.read_text(encoding="utf-8"))
    for file in sorted((DATA / "seeds").glob("*.yaml"))
]


def test_every_document_is_there() -> None:
    assert len(BLOCKS) == 24
    assert {block.where[:3] for block in BLOCKS} == {"000", "001", "002", "003", "004"}


def known() -> Registry:
    every = plugin_files.load_plugins([str(OWN)])
    every.add(CustomPlugin)
    return every


def configuration(text: str, where: str) -> SchedulerConfiguration:
    loaded = load(text, known=built_in_plugins.describe_plugins(known()), source=where)
    left_out = [warning for warning in loaded.warnings if "left out" in warning]
    assert len(left_out) == ("- name: InterPodAffinity\n  pluginConfig" in text)
    return loaded.configuration


def applied(block: Block) -> tuple[list[str], list[dict[str, Any]]]:
    """The kinds of objects that the embedded cluster took, and what is for Prometheus."""
    cluster = MemoryCluster(clock=VirtualClock(0.0), rng=random.Random(0))
    taken, watching = [], []
    for raw in block.objects:
        kind = str(raw.get("kind") or next(iter(raw)))
        if kind in MONITORING:
            watching.append(raw)
        elif kind not in (KIND, scheduling_policy.KIND):
            cluster.apply(raw)
            taken.append(kind)
    return taken, watching


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.where)
def test_every_block_is_of_use(block: Block) -> None:
    """Each of its documents is a configuration, policies, an object, or for Prometheus."""
    taken, watching = applied(block)
    own = [raw for raw in block.objects if raw.get("kind") in (KIND, scheduling_policy.KIND)]
    if yaml_documents.find_documents(block.text, KIND, block.where):
        assert build_profiles(configuration(block.text, block.where), known())

    assert len(own) + len(taken) + len(watching) == len(block.objects) > 0


def watched() -> list[dict[str, Any]]:
    return [raw for block in BLOCKS for raw in applied(block)[1]]


def test_every_expression_of_an_alert_returns_data() -> None:
    """Each is among those that promtool evaluates over Moorage's series."""
    groups = [
        group
        for raw in watched()
        for group in raw.get("groups") or raw.get("spec", {}).get("groups") or ()
    ]
    asked = {" ".join(str(rule["expr"]).split()) for group in groups for rule in group["rules"]}

    assert len(asked) == 7
    assert asked <= {" ".join(each.split()) for each in EXPRESSIONS}


def test_every_service_monitor_has_its_like() -> None:
    """Ours scrapes over HTTPS at the same interval and path."""
    text = (DEPLOY / "overlays" / "monitoring" / "service-monitor.yaml").read_text(encoding="utf-8")
    (ours,) = yaml.safe_load(text)["spec"]["endpoints"]
    theirs = [
        raw["spec"]["endpoints"][0] for raw in watched() if raw.get("kind") == "ServiceMonitor"
    ]

    assert len(theirs) == 2
    for endpoint in theirs:
        assert endpoint["interval"] == ours["interval"]
        assert endpoint.get("path", "/metrics") == ours["path"]


def test_the_policy_of_the_log_is_read() -> None:
    (block,) = (block for block in BLOCKS if "kind: Policy\n" in block.text)

    rules = load_logging_rules(block.text, source=block.where)

    assert levels(rules) == {"schedule": LogLevel.INFO, "bind": LogLevel.INFO}


def test_what_config_maps_hold_is_of_use_too() -> None:
    """A configuration, a policy of scheduling, or one of the log."""
    held = Counter(
        str(document["kind"])
        for block in BLOCKS
        for raw in block.objects
        if raw.get("kind") == "ConfigMap"
        for text in raw["data"].values()
        for document in yaml.safe_load_all(text)
    )

    assert held == {KIND: 2, scheduling_policy.KIND: 3, "Policy": 1}


CONFIGURED = [block for block in BLOCKS if yaml_documents.find_documents(block.text, KIND)]


@pytest.mark.parametrize("block", CONFIGURED, ids=lambda block: block.where)
def test_every_configuration_schedules(block: Block) -> None:
    """A pod of each of its profiles is placed, and no plugin fails."""
    told = configuration(block.text, block.where)
    names = [profile.scheduler_name for profile in told.profiles]
    assert names
    pods = [
        Manifest(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": {"business-level": "core"}},
                "spec": {"schedulerName": name, "containers": [{"name": "c", "image": "nginx"}]},
            },
            name,
            1,
        )
        for name in names
    ]
    alone = msgspec.structs.replace(told, extenders=())

    outcome = simulation.simulate([made("plain"), made("gpu", gpus="1"), *pods], alone, known())

    assert outcome.story.errors == []
    assert all(pod.spec.node_name for pod in simulation.pods_of(outcome))


def plugins_of(text: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The plugins of a block's only profile, as they run, and what their scores weigh."""
    block = block_with(text)
    (profile,) = build_profiles(configuration(block.text, block.where), known()).values()
    return profile.plugins, {entry.name: entry.weight for entry in profile.score}


def test_the_gpu_schedulers_arguments_are_in_force() -> None:
    plugins, _ = plugins_of("gpuWeight")

    assert plugins["GPUPriorityPlugin"] == GPUPriorityPlugin(gpu_weight=100)


def test_the_cost_optimizers_arguments_are_in_force() -> None:
    plugins, weights = plugins_of("CostOptimizationPlugin")

    assert plugins["CostOptimizationPlugin"] == CostOptimizationPlugin(
        cost_metrics=CostMetrics(cpu=0.05, memory=0.01, gpu=2.0),
        prefer_spot_instances=True,
        max_cost_threshold=10.0,
    )
    assert (weights["NodeResourcesFit"], weights["CostOptimizationPlugin"]) == (30, 70)


def test_the_latency_schedulers_arguments_are_in_force() -> None:
    plugins, weights = plugins_of("NetworkLatencyPlugin")

    assert plugins["NetworkLatencyPlugin"] == NetworkLatencyPlugin(
        max_latency_ms=10.0, latency_weight=100, measurement_interval=Duration.of_seconds(300)
    )
    assert [
        weights[name]
        for name in ("NetworkLatencyPlugin", "NodeAffinityPlugin", "LoadBalancingPlugin")
    ] == [50, 30, 20]


def test_the_readers_own_plugin_gets_its_arguments() -> None:
    plugins, _ = plugins_of("CustomScorePlugin")

    own = plugins["CustomScorePlugin"]
    assert (own.weight_factor, own.enable_gpu_scheduling) == (10, True)


def test_the_readers_own_plugins_place_pods_beside_a_disabled_pre_score() -> None:
    """GPU pods go to GPU nodes and others stay off them, by the arguments of the block."""
    config = block_with("CustomScorePlugin")
    told = configuration(config.text, config.where)
    pods = [
        Manifest(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name},
                "spec": {
                    "schedulerName": "custom-scheduler",
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": asks}}],
                },
            },
            name,
            1,
        )
        for name, asks in (("train", {"nvidia.com/gpu": "1"}), ("web", {"cpu": "1"}))
    ]

    outcome = simulation.simulate([made("plain"), made("gpu", gpus="4"), *pods], told, known())

    found = {pod.name: pod.spec.node_name for pod in simulation.pods_of(outcome)}
    assert found == {"train": "gpu", "web": "plain"}


def test_nothing_is_left_out_unseen() -> None:
    taken = Counter(kind for block in BLOCKS for kind in applied(block)[0])

    assert len(BLOCKS) == 24
    assert taken == {
        "ConfigMap": 4,
        "Deployment": 2,
        "Node": 1,
        "Pod": 9,
        "PodGroup": 1,
        "PriorityClass": 2,
        "ResourceQuota": 1,
        "Service": 1,
    }
    assert len(watched()) == 4
    assert sum(len(yaml_documents.find_documents(block.text, KIND)) for block in BLOCKS) == 9


def test_the_policies_of_the_config_map_run() -> None:
    (block,) = (block for block in BLOCKS if scheduling_policy.KIND in block.text)
    enabled = {"multiPoint": {"enabled": [{"name": "SchedulingPolicies"}]}}
    plain = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": KIND,
        "profiles": [{"plugins": enabled}],
    }

    adopted = add_policies(
        load(plain, known=built_in_plugins.describe_installed()).configuration,
        scheduling_policy.load_policies(block.text),
    )

    (profile,) = build_profiles(adopted, known()).values()
    plugin = profile.plugins["SchedulingPolicies"]
    assert isinstance(plugin, SchedulingPolicies)
    assert list(plugin.rules) == ["default-policy", "gpu-policy", "batch-policy"]


def block_with(text: str) -> Block:
    (found,) = (block for block in BLOCKS if text in block.text)
    return found


def made(name: str, gpus: str = "0", cpu_used: str = "0") -> Manifest:
    """A node of eight cores."""
    offered = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": gpus}
    labels = {"kubernetes.io/arch": "amd64", "node-level": "core"}
    says = {"metrics.moorage.io/cpu": cpu_used}
    metadata = {"name": name, "labels": labels, "annotations": says}
    status = {"allocatable": offered}
    raw = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}
    return Manifest(raw, name, 1)


def placed(pod: Block, config: Block, *nodes: Manifest) -> dict[str, str]:
    objects = [Manifest(raw, pod.where, 1) for raw in pod.objects]
    outcome = simulation.simulate(
        [*nodes, *objects], configuration(config.text, config.where), known()
    )
    return {each.name: each.spec.node_name for each in simulation.pods_of(outcome)}


def test_the_gpu_pod_goes_to_the_gpu_node_by_the_gpu_schedulers_configuration() -> None:
    nodes = (made("plain"), made("gpu", gpus="1"))

    found = placed(block_with("name: gpu-workload"), block_with("gpuWeight"), *nodes)

    assert found["gpu-workload"] == "gpu"
    assert {node for name, node in found.items() if name.startswith("web-app")} == {""}


def test_the_lowcpu_pod_goes_to_the_node_that_uses_little() -> None:
    nodes = (made("busy", cpu_used="7"), made("idle", cpu_used="1"))

    found = placed(block_with("name: my-workload"), block_with("name: LowCpuScheduler"), *nodes)

    assert found == {"my-workload": "idle"}


def asking(name: str, scheduler: str, **requests: str) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"schedulerName": scheduler, "containers": [container]},
    }
    return Manifest(raw, name, 1)


def ran(config: Block, *objects: Manifest) -> dict[str, str]:
    outcome = simulation.simulate(list(objects), configuration(config.text, config.where), known())
    return {each.name: each.spec.node_name for each in simulation.pods_of(outcome)}


def test_the_cost_optimizer_tells_on_demand_nodes_apart() -> None:
    """Without any price but its own: a pod without GPUs would pay for those beside it."""
    web = asking("web", "cost-optimizer", cpu="2")

    found = ran(block_with("CostOptimizationPlugin"), made("gpu", gpus="8"), made("plain"), web)

    assert found == {"web": "plain"}


def test_the_latency_scheduler_goes_near_the_service_without_annotations() -> None:
    """The zone of the database is the fuller one, and yet the nearer."""
    nodes = [made(f"{zone}-{number}") for zone in "ab" for number in (1, 2)]
    for manifest in nodes:
        labels = manifest.raw["metadata"]["labels"]
        labels["topology.kubernetes.io/zone"] = manifest.raw["metadata"]["name"][0]
    db = asking("db", "latency-sensitive", cpu="6")
    db.raw["spec"]["nodeName"] = "b-1"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "db"},
        "spec": {"selector": {"app": "db"}},
    }
    web = asking("web", "latency-sensitive", cpu="3")

    found = ran(block_with("NetworkLatencyPlugin"), *nodes, db, Manifest(service, "s", 1), web)

    assert found["web"] == "b-2"
