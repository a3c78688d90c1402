"""What holds for every policy: columns that are kept say what fresh ones say, on any cluster."""

import random
from typing import Any

import numpy as np
import pytest

from moorage.api.cluster_objects import Namespace
from moorage.api.decode import decode_as
from moorage.app import built_in_plugins
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.config import scheduling_policy
from moorage.config.loader import load
from moorage.framework.plugin import Plugin
from moorage.framework.points import Filter, Score
from moorage.policies.business.business_affinity import BusinessAffinityPlugin
from moorage.policies.business.business_score import BusinessScorePlugin
from moorage.policies.business.cost_optimization import CostOptimizationPlugin
from moorage.policies.compliance import Compliance
from moorage.policies.energy_aware import EnergyAware
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.policies.gpu.gpu_priority import GPUPriorityPlugin
from moorage.policies.gpu.gpu_topology import GPUTopology
from moorage.policies.load.adaptive_scheduling import AdaptiveSchedulingPlugin
from moorage.policies.load.load_balancing import LoadBalancingPlugin
from moorage.policies.load.low_cpu import LowCpuScheduler
from moorage.policies.network_latency import NetworkLatencyPlugin
from moorage.policies.node_affinity_plugin import NodeAffinityPlugin
from moorage.policies.scheduling_policies import SchedulingPolicies
from moorage.policies.tenant_isolation import TenantIsolation
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod
from tests.unit.policies.asking import refusals, scores

GPU = "nvidia.com/gpu"
SPOT_POLICY = scheduling_policy.load_policies(
    {
        "apiVersion": scheduling_policy.API_VERSION,
        "kind": scheduling_policy.KIND,
        "metadata": {"name": "default-policy"},
        "spec": {
            "resourceWeights": {"cpu": 3, GPU: 5},
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
                    ]
                }
            },
        },
    }
)
EVERY = (
    AdaptiveSchedulingPlugin(min_pods=1),
    BusinessAffinityPlugin(),
    BusinessScorePlugin(instance_prices={"m": 1.5}),
    Compliance(region_label="zone"),
    CostOptimizationPlugin(instance_prices={"m": 1.5}, max_cost_threshold=2.0),
    EnergyAware(),
    GPUPacking(),
    GPUPriorityPlugin(reserve_gpu_nodes=True),
    GPUTopology(),
    LoadBalancingPlugin(),
    LowCpuScheduler(),
    NetworkLatencyPlugin(latencies={"a": {"b": 3.0}}, topology_label="zone"),
    NodeAffinityPlugin(),
    SchedulingPolicies(policies=tuple(SPOT_POLICY)),
    TenantIsolation(exclusive=True, tenant_tiers={"acme": "gold"}),
)


class Dice:
    """Clusters and pods that have something to say to every policy."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, **choices: tuple[str, ...]) -> dict[str, str]:
        """Some of the keys, each with one of its values."""
        picked = (key for key in choices if self.random.random() < 0.6)
        return {key.replace("__", "-"): self.random.choice(choices[key]) for key in picked}

    def node(self, name: str) -> NodeBuilder:
        labels = self.some(
            zone=("a", "b", "edge"),
            node__level=("core",),
            node__type=("spot",),
            tenant=("acme", "globex"),
            tenant__tier=("gold", "bronze"),
            security__level=("low", "high"),
        )
        said = {
            "moorage.io/temperature-celsius": str(self.random.randrange(20, 100)),
            "moorage.io/power-watts": str(self.random.randrange(10, 200)),
            "metrics.moorage.io/cpu": f"{self.random.randrange(4500)}m",
            "moorage.io/gpus-per-numa": self.random.choice("24"),
        }
        kept = {key: value for key, value in said.items() if self.random.random() < 0.7}
        if self.random.random() < 0.5:
            labels["node.kubernetes.io/instance-type"] = "m"
        made = node(name).labelled(labels).annotated(kept)
        return made.offering({GPU: "8"}) if self.random.random() < 0.5 else made

    def pod(self, name: str) -> PodBuilder:
        labels = self.some(
            business__level=("core",),
            business__type=("database",),
            preferred__zone=("a", "b"),
            data__region=("a",),
            security__level=("high",),
            tenant=("acme", "globex"),
            app=("web", "db"),
        )
        asked = {"cpu": f"{self.random.randrange(1, 900)}m", "memory": "1Gi"}
        if self.random.random() < 0.4:
            asked[GPU] = str(self.random.randrange(1, 5))
        annotations = self.some(**{"moorage.io/talks__to": ("app=db",)})
        return pod(name).labelled(labels).requesting(asked).annotated(annotations)

    def change(self, cluster: Cluster, step: int) -> None:
        """A node comes, changes or goes; a pod comes or goes."""
        names = sorted(cluster.cache.table.row_of)
        roll = self.random.random()
        if roll < 0.3 or len(names) < 4:
            cluster.add(self.node(f"n{self.random.randrange(12)}"))
        elif roll < 0.4:
            gone = cluster.cache.table.node(cluster.cache.table.row_of[names[0]])
            cluster.cache.remove_node(gone)
        elif roll < 0.8:
            cluster.add(self.pod(f"r{step}").on(self.random.choice(names)))
        else:
            uids = sorted(info.uid for _, info in cluster.cache.pods())
            if uids:
                cluster.cache.remove_pod(self.random.choice(uids))
        if roll > 0.95:
            labels = self.some(tenant=("acme", "globex"))
            raw = {"metadata": {"name": "default", "labels": labels}}
            cluster.add(decode_as(raw, Namespace))


def by_name(plugin: Plugin) -> str:
    return type(plugin).plugin_name()


KEEPING = tuple(plugin for plugin in EVERY if plugin.depends is not Depends.EVERYTHING)


@pytest.mark.parametrize("plugin", KEEPING, ids=by_name)
def test_kept_columns_are_true(plugin: Any) -> None:
    """What was computed for a pod and kept, and what is computed now, are the same."""
    dice = Dice(7)
    cluster = Cluster(plugins=[plugin], alone=True)
    asking = [dice.pod(f"p{i}").build() for i in range(6)]
    filters = [entry.rule for entry in cluster.profile.filter]
    rules = [r for r in (*filters, *(s.rule for s in cluster.profile.score)) if r is not None]
    assert rules
    for step in range(120):
        dice.change(cluster, step)
        table = cluster.cache.table
        for pod_ in asking:
            cycle = cluster.cycle(pod_)
            for rule in rules:
                kept = cluster.profile.columns.get(rule, plugin.sign(cycle), table, cycle, pod_)
                fresh = np.zeros(table.rows, dtype=rule.dtype)
                rule.compute(cycle, pod_, Nodes.all(table), fresh)
                alive = table.alive[: table.rows]
                assert kept.values[alive].tolist() == fresh[alive].tolist()


@pytest.mark.parametrize("plugin", EVERY, ids=by_name)
def test_answers_are_in_range_and_the_same_from_every_view(plugin: Any) -> None:
    dice = Dice(11)
    cluster = Cluster(plugins=[plugin], alone=True)
    told: set[Any] = set()
    for step in range(60):
        dice.change(cluster, step)
        asks = dice.pod("p")
        if isinstance(plugin, Score):
            found = scores(cluster, asks)
            assert all(0 <= score <= 100 for score in found.values())
            told |= set(found.values())
        if isinstance(plugin, Filter):
            told |= set(refusals(cluster, asks).values())
    if not isinstance(plugin, NodeAffinityPlugin):
        assert len(told) > 1


def test_every_policy_can_run_beside_all_others() -> None:
    """By its own name, and by its other names."""
    aliases = [type(plugin).aliases[0] for plugin in EVERY if type(plugin).aliases]
    for names in ([by_name(plugin) for plugin in EVERY], aliases):
        enabled = {"multiPoint": {"enabled": [{"name": name} for name in names]}}
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": enabled}],
        }
        assert load(document, known=built_in_plugins.describe_installed()).warnings == ()


def test_all_of_them_decide_together() -> None:
    dice = Dice(3)
    cluster = Cluster(*(dice.node(f"n{i}") for i in range(30)), plugins=EVERY)

    placed = [cluster.place(dice.pod(f"p{i}")) for i in range(40)]

    assert any(placed)
