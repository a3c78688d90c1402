"""What the YAML of the documents says has its effect: each rule changes a decision.

Every block is used as it stands. Each test has a cluster in which pods go elsewhere, wait, or are
refused without the rule; where a document has a formula, its numbers were worked out by hand.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.simulate.manifest_files import Manifest
from tests.unit.config.test_seeds_yaml import Block, block_with, made

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
MULTI_POINT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: SchedulingPolicies, weight: 20}]}}
"""

Raw = dict[str, Any]


class Told(msgspec.Struct):
    """Where pods are, and what the command said of faults."""

    nodes: dict[str, str]
    said: str


def node(name: str, cpu: str = "8", memory: str = "32Gi", **more: Any) -> Raw:
    """A node; `more` are labels, annotations, taints, and resources under `offers`."""
    raw: Raw = json.loads(json.dumps(made(name).raw))
    raw["metadata"]["labels"] |= {HOST: name, **more.get("labels", {})}
    raw["metadata"]["annotations"] = more.get("annotations", {})
    raw["spec"] = {"taints": more.get("taints", [])}
    raw["status"]["allocatable"] = {"cpu": cpu, "memory": memory, "pods": "110"} | more.get(
        "offers", {}
    )
    return raw


def pod(name: str, cpu: str = "1", memory: str = "1Gi", **spec: Any) -> Raw:
    """A pod; labels and GPUs by name, the rest is its spec."""
    labels, gpus = spec.pop("labels", {}), spec.pop("gpus", None)
    requests = {"cpu": cpu, "memory": memory} | ({"nvidia.com/gpu": gpus} if gpus else {})
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": requests, "limits": limits},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [container], **spec},
    }


def under(
    folder: Path, objects: Iterable[Raw | Block | Manifest], config: Block | str | None
) -> list[str]:
    """Arguments of a command: the objects in a file, the configuration in another."""
    texts = [each.text if isinstance(each, Block) else yaml.safe_dump(each) for each in objects]
    (folder / "cluster.yaml").write_text("\n---\n".join(texts), encoding="utf-8")
    named = [str(folder / "cluster.yaml")]
    if config is not None:
        text = config.text if isinstance(config, Block) else config
        (folder / "scheduler.yaml").write_text(text, encoding="utf-8")
        named.append(f"--config={folder / 'scheduler.yaml'}")
    return named


def simulated(
    folder: Path, *objects: Raw | Block, config: Block | str | None = None, validate: bool = True
) -> Told:
    arguments = under(folder, objects, config)
    check = "--validate" if validate else "--no-validate"
    done = CliRunner().invoke(main, ["simulate", *arguments, check, "-o", "json"])
    if done.exit_code:
        return Told({}, done.stderr)
    pods = json.loads(done.stdout)["pods"]
    return Told({each["name"]: each["node"] or "" for each in pods}, done.stderr)


def scored(
    folder: Path, name: str, plugin: str, *objects: Raw | Block, config: Block
) -> dict[str, int]:
    """What a plugin's weighted score of each node is for a pod that is placed."""
    arguments = under(folder, objects, config)
    done = CliRunner().invoke(main, ["explain", *arguments, "--pod", name, "-o", "json"])
    scores = json.loads(done.stdout)["scores"]
    return {node: parts[plugin] for node, parts in scores.items()}


CUSTOM_PLUGIN = """
from moorage import Cycle, Filter, Node, Pod, Rejection, Score, unresolvable

class CustomPlugin(Filter, Score, frozen=True):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unresolvable("node(s) were not ours") if node.name == "theirs" else None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100 if node.name == "small" else 0
"""


def test_the_readers_filter_and_score_decide(tmp_path: Path) -> None:
    """By kube-scheduler's own plugins the largest node would be taken, and then the next."""
    config = block_with("- name: CustomPlugin")
    plugin = tmp_path / "custom_plugin.py"
    plugin.write_text(CUSTOM_PLUGIN, encoding="utf-8")
    nodes = [node("theirs", "64", "256Gi"), node("large", "16", "64Gi"), node("small")]
    mine = pod("mine", schedulerName="custom-scheduler")
    named = [*under(tmp_path, [*nodes, mine], config), "--plugin", str(plugin)]

    done = CliRunner().invoke(main, ["explain", *named, "--pod", "mine", "-o", "json"])

    told = json.loads(done.stdout)
    assert told["node"] == "small"
    assert {at: scores["CustomPlugin"] for at, scores in told["scores"].items()} == {
        "small": 100,
        "large": 0,
    }
    assert simulated(tmp_path, *nodes, pod("mine")).nodes == {"mine": "theirs"}


def without(block: Block, *lines: str) -> str:
    """The text of a block without some of its lines."""
    text = block.text
    for line in lines:
        assert line in text
        text = text.replace(line, "")
    return text


def test_the_web_application_goes_beside_a_database_and_not_beside_its_like(
    tmp_path: Path,
) -> None:
    """Two cores and four GB; each node but one lacks something."""
    beside = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOST}
    alone = {"labelSelector": {"matchLabels": {"tier": "web"}}, "topologyKey": HOST}
    near = {"requiredDuringSchedulingIgnoredDuringExecution": [beside]}
    away = {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}
    residents = [
        *(pod(f"db-{at}", labels={"app": "db"}, nodeName=at) for at in ("small", "right", "taken")),
        pod("other", labels={"tier": "web"}, nodeName="taken"),
    ]
    nodes = [node("small", "2"), node("right", "4", "8Gi"), node("taken", "64"), node("far", "64")]

    def at(**affinity: Any) -> str:
        web = pod("web", "2", "4Gi", labels={"tier": "web"}, affinity=affinity)
        return simulated(tmp_path, *nodes, *residents, web).nodes["web"]

    assert at(podAffinity=near, podAntiAffinity=away) == "right"
    assert at(podAffinity=near) == "taken"
    assert at(podAntiAffinity=away) == "far"


def test_gpu_priority_keeps_other_pods_off_gpus_by_10_and_50(tmp_path: Path) -> None:
    config = block_with("gpuWeight")
    nodes = [node("plain"), node("gpu", "64", "256Gi", offers={"nvidia.com/gpu": "4"})]
    web = pod("web", schedulerName="gpu-scheduler")
    small = pod("train", gpus="1", schedulerName="gpu-scheduler")
    more = node("gpu-2", "64", "256Gi", offers={"nvidia.com/gpu": "4"})

    found = scored(tmp_path, "web", "GPUPriorityPlugin", *nodes, web, config=config)
    asked = scored(tmp_path, "train", "GPUPriorityPlugin", *nodes, more, small, config=config)

    assert found == {"plain": 50, "gpu": 10}
    assert asked == {"gpu": 100, "gpu-2": 100}
    assert simulated(tmp_path, *nodes, web, config=config).nodes == {"web": "plain"}
    there = pod("web")
    assert simulated(tmp_path, *nodes, there).nodes == {"web": "gpu"}


def test_the_cost_optimizer_weighs_prices_by_70(tmp_path: Path) -> None:
    """Half of the cores is half of the price: 8 * 0.05 + 32 * 0.01, and so on; spot counts 0.35."""
    config = block_with("CostOptimizationPlugin")
    nodes = [
        node("plain"),
        node("spot", labels={"node-type": "spot"}),
        node("fat", "8", "128Gi"),
        node("gpu", offers={"nvidia.com/gpu": "8"}),
    ]
    web = pod("web", "4", "4Gi", schedulerName="cost-optimizer")

    found = scored(tmp_path, "web", "CostOptimizationPlugin", *nodes, web, config=config)

    assert found == {"spot": 7000, "plain": 70 * 35, "fat": 70 * 15, "gpu": 70}
    assert simulated(tmp_path, *nodes, web, config=config).nodes == {"web": "spot"}
    unweighed = without(config, "      - name: CostOptimizationPlugin\n        weight: 70\n")
    assert simulated(tmp_path, *nodes, web, config=unweighed).nodes == {"web": "fat"}


def test_a_node_beyond_the_greatest_cost_scores_nothing(tmp_path: Path) -> None:
    """Of a node of 32 GPUs that costs 64.72, a quarter is more than ten."""
    config = block_with("CostOptimizationPlugin")
    nodes = [
        node("dear", offers={"nvidia.com/gpu": "32"}),
        node("fair", offers={"nvidia.com/gpu": "16"}),
    ]
    train = pod("train", "2", "1Gi", schedulerName="cost-optimizer")

    found = scored(tmp_path, "train", "CostOptimizationPlugin", *nodes, train, config=config)

    assert found == {"fair": 7000, "dear": 0}


def test_near_and_idle_nodes_score_by_50_and_20(tmp_path: Path) -> None:
    """95 of 100 half a millisecond away, 60 where it is 4 ms; 4 of 8 cores taken leave 50."""
    config = block_with("NetworkLatencyPlugin")
    nodes = [node(name, labels={ZONE: name[0]}) for name in ("a-1", "b-1", "b-2")]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "db"},
        "spec": {"selector": {"app": "db"}},
    }
    measured = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "moorage-latencies", "namespace": "moorage-system"},
        "data": {"a": "latencies: {a: {b: 4.0}}"},
    }
    db = pod("db", "2", labels={"app": "db"}, nodeName="b-1")
    web = pod("web", "2", schedulerName="latency-sensitive")
    world = (*nodes, service, measured, db, web)

    near = scored(tmp_path, "web", "NetworkLatencyPlugin", *world, config=config)
    idle = scored(tmp_path, "web", "LoadBalancingPlugin", *world, config=config)

    assert near == {"b-1": 50 * 100, "b-2": 50 * 95, "a-1": 50 * 60}
    assert idle == {"b-1": 20 * 50, "b-2": 20 * 75, "a-1": 20 * 75}
    assert simulated(tmp_path, *world, config=config).nodes["web"] == "b-2"


def test_each_policy_of_the_config_map_changes_where_its_pods_go(tmp_path: Path) -> None:
    policies = block_with("kind: SchedulingPolicy")
    spot = [{"key": "spot-instance", "value": "true", "effect": "NoSchedule"}]
    world = [
        node("compute", labels={"node-type": "compute-optimized"}),
        node("general", "16", "64Gi", labels={"node-type": "general"}),
        node(
            "v100", "4", labels={"accelerator": "nvidia-tesla-v100"}, offers={"nvidia.com/gpu": "2"}
        ),
        node("t4", "8", labels={"accelerator": "nvidia-tesla-t4"}, offers={"nvidia.com/gpu": "8"}),
        node("spot", "128", "512Gi", taints=spot),
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "batch-workload"},
            "value": 10,
        },
        pod("web"),
        pod("batch", priorityClassName="batch-workload"),
    ]
    plain = pod("train", gpus="1")
    labelled = pod("train", gpus="1", labels={"moorage.io/scheduling-policy": "gpu-policy"})

    before = simulated(tmp_path, *world, plain, config=MULTI_POINT)
    after = simulated(tmp_path, *world, labelled, policies, config=MULTI_POINT)

    assert before.nodes == {"web": "general", "batch": "general", "train": "t4"}
    assert after.nodes == {"web": "compute", "batch": "spot", "train": "v100"}


def test_the_affinities_of_the_pod_hold(tmp_path: Path) -> None:
    """It names no container, which an API server refuses."""
    nginx = block_with("kubernetes.io/e2e-az-name")
    zones = {"in": "e2e-az1", "out": "e2e-az3"}
    nodes = [
        node(name, labels={"kubernetes.io/e2e-az-name": az, ZONE: name})
        for name, az in zones.items()
    ]

    def at(*residents: Raw) -> str:
        return simulated(tmp_path, *nodes, *residents, nginx, validate=False).nodes["nginx"]

    assert at() == ""
    assert at(pod("s1", labels={"security": "S1"}, nodeName="out")) == ""
    assert at(pod("s1", labels={"security": "S1"}, nodeName="in")) == "in"


def test_the_toleration_lets_the_pod_in(tmp_path: Path) -> None:
    """The node of the document offers nothing, not even room for a pod: here it does."""
    both = block_with("value: value1")
    roomy, nginx = both.objects
    roomy["status"] = {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}
    intolerant = {**nginx, "spec": {}}

    assert simulated(tmp_path, roomy, nginx, validate=False).nodes == {"nginx": "node1"}
    assert simulated(tmp_path, roomy, intolerant, validate=False).nodes == {"nginx": ""}


def test_the_quota_refuses_the_pod_that_is_too_much(tmp_path: Path) -> None:
    first, second = (pod(name, "600m", "100Mi") for name in ("first", "second"))
    for each in (first, second):
        each["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "1", "memory": "100Mi"}
    quota = block_with("kind: ResourceQuota")

    assert simulated(tmp_path, node("n"), quota, first).nodes == {"first": "n"}
    assert "exceeded quota: compute-resources" in (
        simulated(tmp_path, node("n"), quota, first, second).said
    )


def test_the_high_priority_pod_takes_the_place_of_another(tmp_path: Path) -> None:
    full = node("n", offers={"pods": "1"})
    low = pod("low", nodeName="n")

    assert simulated(tmp_path, full, low, block_with("name: high-priority")).nodes == {"nginx": "n"}
    assert simulated(tmp_path, full, low, pod("nginx")).nodes == {"low": "n", "nginx": ""}


def test_the_schedulers_own_pod_has_its_room_before_others(tmp_path: Path) -> None:
    """Its requests count, and system-node-critical is above every other."""
    manifest = block_with("hostNetwork: true")
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 10**9,
    }
    small = node("small", "99m", "64Gi")
    full = node("full", "100m", "128Mi")
    there = pod("there", "100m", "128Mi", nodeName="full", priorityClassName="urgent")

    assert simulated(tmp_path, small, manifest).nodes == {"kube-scheduler": ""}
    assert simulated(tmp_path, small, full, urgent, there, manifest).nodes == {
        "kube-scheduler": "full"
    }


def test_the_policy_of_preemption_decides_about_it(tmp_path: Path) -> None:
    block = block_with("preemptionPolicy")
    (never,) = block.objects
    never["preemptionPolicy"] = "Never"
    world = (node("n", offers={"pods": "1"}), pod("low", nodeName="n"))
    urgent = pod("urgent", priorityClassName="preemptive")

    assert simulated(tmp_path, *world, block, urgent).nodes == {"urgent": "n"}
    assert simulated(tmp_path, *world, never, urgent).nodes == {"low": "n", "urgent": ""}


@pytest.mark.parametrize(
    ("room", "members", "bound"),
    [
        pytest.param("3", 1, 0, id="one of three pods waits for the others"),
        pytest.param("2", 3, 0, id="none is bound where only two fit"),
        pytest.param("3", 3, 3, id="all three are bound"),
    ],
)
def test_the_group_is_bound_whole_or_not_at_all(
    tmp_path: Path, room: str, members: int, bound: int
) -> None:
    group = block_with("kind: PodGroup")
    (labels,) = [each["metadata"]["labels"] for each in group.objects if each["kind"] == "Pod"]
    more = [pod(f"nginx-{number}", labels=labels) for number in range(2, members + 1)]

    told = simulated(tmp_path, node("n", offers={"pods": room}), group, *more)

    assert sorted(told.nodes.values()) == [""] * (members - bound) + ["n"] * bound


def test_the_added_affinity_keeps_pods_off_other_architectures(tmp_path: Path) -> None:
    config = block_with("addedAffinity")
    nodes = [node("amd64"), node("s390x", "64", labels={"kubernetes.io/arch": "s390x"})]

    assert simulated(tmp_path, *nodes, pod("p"), config=config).nodes == {"p": "amd64"}
    assert simulated(tmp_path, *nodes, pod("p")).nodes == {"p": "s390x"}


def test_the_default_constraints_spread_a_service(tmp_path: Path) -> None:
    config = block_with("defaultConstraints")
    nodes = [
        node("a-1", "64", "256Gi", labels={ZONE: "a"}),
        *(node(name, labels={ZONE: "b"}) for name in ("b-1", "b-2")),
    ]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}},
    }
    pods = [pod(f"web-{number}", labels={"app": "web"}) for number in range(8)]
    listed = config.text.partition("          defaultConstraints:\n")[2]
    constraints, _, _ = listed.partition("      \n")
    unspread = config.text.replace(constraints, "").replace(
        "defaultConstraints:", "defaultConstraints: []"
    )

    spread = simulated(tmp_path, *nodes, service, *pods, config=config).nodes
    packed = simulated(tmp_path, *nodes, service, *pods, config=unspread).nodes

    assert sorted(spread.values()) == ["a-1"] * 4 + ["b-1"] * 2 + ["b-2"] * 2
    assert set(packed.values()) == {"a-1"}


def test_low_cpu_refuses_above_80_percent_and_scores_what_is_idle(tmp_path: Path) -> None:
    """Of memory nothing is in use, and it counts as much as cpu: (50 + 100) / 2."""
    config = block_with("name: LowCpuScheduler")

    def world(busy: str) -> list[Raw]:
        says = {"busy": busy, "half": "4"}
        return [
            node(name, "8", annotations={"metrics.moorage.io/cpu": cpu, **IDLE_MEMORY})
            for name, cpu in says.items()
        ]

    mine = pod("mine", schedulerName="lowcpu-scheduler")
    above = scored(tmp_path, "mine", "LowCpuScheduler", *world("6401m"), mine, config=config)
    at = scored(tmp_path, "mine", "LowCpuScheduler", *world("6400m"), mine, config=config)

    assert above == {"half": 75}
    assert at == {"half": 75, "busy": 60}


IDLE_MEMORY = {"metrics.moorage.io/memory": "0"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("name: gpu-workload", "limits: Required value"),
        ("kubernetes.io/e2e-az-name", "spec.containers: Required value"),
        ("value: value1", "spec.containers: Required value"),
        ("name: my-workload", 'spec.containers[0].name: Invalid value: "..."'),
    ],
)
def test_pods_that_no_api_server_takes_are_refused_unless_told_not_to(
    tmp_path: Path, text: str, why: str
) -> None:
    pods = block_with(text)

    assert why in simulated(tmp_path, node("n"), pods).said
    assert simulated(tmp_path, node("n"), pods, validate=False).nodes
