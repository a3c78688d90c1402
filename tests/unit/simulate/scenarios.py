"""Scenarios that tests share."""

import random
from collections.abc import Iterable
from pathlib import Path

from moorage.simulate.candidate import Candidate
from moorage.simulate.pod_template import Asked, Templates
from moorage.simulate.scenario import Arrival, FixedArrivals, PricedNode, Scenario
from moorage.simulate.trace_files import make_node
from moorage.simulate.trace_scenario import settings_for

KUBE = Candidate("kube-default")
PACKING = Candidate(
    "packing",
    "packing.yaml",
    b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}]
  plugins:
    multiPoint:
      disabled: [{name: NodeResourcesBalancedAllocation}]
""",
)


def nodes(count: int, cpu: str = "4", price: float = 1.0) -> tuple[PricedNode, ...]:
    """Equal nodes."""
    offered = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return tuple(PricedNode(make_node(f"node-{i}", offered, {}), price) for i in range(count))


def scenario(
    cluster: Iterable[PricedNode], arrivals: Iterable[Arrival], name: str = "test"
) -> Scenario:
    """A scenario of these."""
    listed = tuple(arrivals)
    return Scenario(name, tuple(cluster), (FixedArrivals(listed),), kpis=settings_for(listed))


def random_arrivals(count: int, seed: int, cpus: Iterable[str] = ("1", "2")) -> list[Arrival]:
    """Pods of random sizes at random times."""
    rng, sizes, templates = random.Random(seed), list(cpus), Templates(shares_gpus=False)
    now, found = 0.0, []
    for index in range(count):
        now += rng.expovariate(1 / 10)
        asked = Asked(cpu=rng.choice(sizes), memory="1Gi", namespace=rng.choice(("red", "blue")))
        found.append(Arrival(now, f"pod-{index}", templates.of(asked), rng.expovariate(1 / 100)))
    return found


def write_tables(folder: Path, nodes_csv: str, pods_csv: str) -> list[str]:
    """Two tables, as options of the command line."""
    (folder / "nodes.csv").write_text(nodes_csv)
    (folder / "pods.csv").write_text(pods_csv)
    return ["--nodes", str(folder / "nodes.csv"), "--pods", str(folder / "pods.csv")]
