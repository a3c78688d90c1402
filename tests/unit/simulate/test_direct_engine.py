"""A run without features is the run of the whole scheduler, bit for bit."""

from pathlib import Path

import msgspec
import pytest

from moorage.kpi.summary import flat
from moorage.simulate.candidate import Candidate
from moorage.simulate.scenario import Scenario
from moorage.simulate.scenario_file import read_scenario_file
from moorage.simulate.scenario_run import run_scenario
from moorage.simulate.trace_scenario import are_plain
from tests.unit.simulate.scenarios import KUBE, PACKING, nodes, random_arrivals, scenario


def both(played: Scenario, candidate: Candidate, seed: int) -> tuple[bytes, bytes]:
    direct = run_scenario(played, candidate, seed)
    whole = run_scenario(played, candidate, seed, whole=True)
    for name, value in flat(whole.kpis):
        assert dict(flat(direct.kpis))[name] == value, name
    return msgspec.json.encode(direct), msgspec.json.encode(whole)


def plain(count: int, pods: int, seed: int) -> Scenario:
    arrivals = random_arrivals(pods, seed)
    assert are_plain(arrivals)
    return msgspec.structs.replace(scenario(nodes(count), arrivals), is_plain=True)


@pytest.mark.parametrize("candidate", [KUBE, PACKING], ids=["kube", "packing"])
@pytest.mark.parametrize("count", [3, 4, 8])
def test_the_same_bits(candidate: Candidate, count: int) -> None:
    """With three nodes pods wait and are tried again; with eight none has to."""
    direct, whole = both(plain(count, 60, seed=count), candidate, seed=5)

    assert direct == whole


def test_the_same_bits_where_nodes_come_and_go(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text("""
apiVersion: moorage/v1
kind: Scenario
cluster:
  nodes:
  - {name: n, count: 3, cpu: "4", memory: 8Gi, failures: {meanSeconds: 600, repairSeconds: 100}}
  - name: s
    count: 3
    cpu: "4"
    memory: 8Gi
    spot: {storms: [{atSeconds: 300}], replaceSeconds: 60}
  autoscaler: {nodes: [{name: a, cpu: "4", memory: 8Gi, most: 2}], idleSeconds: 60}
arrivals:
  generators:
  - {seconds: 600, perHour: 360, pods: [{name: p, cpu: "2", runs: {meanSeconds: 200}}]}
pods: {checkpointSeconds: 30, stopSeconds: 5}
""")
    played = read_scenario_file(str(file))
    direct, whole = both(played, KUBE, seed=3)

    assert played.is_plain
    assert direct == whole


LEARNING = Candidate(
    "learning",
    "learning.yaml",
    b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: AdaptiveSchedulingPlugin, weight: 20}]}}
  pluginConfig:
  - name: AdaptiveSchedulingPlugin
    args:
      minOutcomes: 5
      outcomeDelay: 20s
      updateInterval: 10s
      strategies: {"*": {performanceGoals: {lossRate: 0.01, successRate: 0.99}}}
""",
)


def test_the_same_bits_where_a_plugin_learns_what_becomes_of_pods(tmp_path: Path) -> None:
    """By what features tell it: which nodes are taken away, which attempts fail."""
    file = tmp_path / "scenario.yaml"
    file.write_text("""
apiVersion: moorage/v1
kind: Scenario
cluster:
  nodes:
  - {name: n, count: 4, cpu: "4", memory: 16Gi, pricePerHour: 1}
  - name: s
    count: 4
    cpu: "8"
    memory: 8Gi
    labels: {karpenter.sh/capacity-type: spot}
    spot: {meanSeconds: 300, noticeSeconds: 5, replaceSeconds: 60}
arrivals:
  generators:
  - {seconds: 900, perHour: 600, pods: [{name: p, cpu: "2", runs: {meanSeconds: 200}}]}
""")
    direct, whole = both(read_scenario_file(str(file)), LEARNING, seed=3)

    assert direct == whole


def test_the_same_bits_where_there_are_no_nodes_at_first(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text("""
apiVersion: moorage/v1
kind: Scenario
cluster:
  autoscaler: {nodes: [{name: a, cpu: "4", memory: 8Gi, most: 2}], idleSeconds: 60}
arrivals:
  generators:
  - {seconds: 300, perHour: 200, pods: [{name: p, cpu: "2", runs: {meanSeconds: 100}}]}
""")
    direct, whole = both(read_scenario_file(str(file)), KUBE, seed=3)

    assert direct == whole


@pytest.mark.parametrize("pod", ["{name: p, gang: 2}", "{name: p, schedulerName: other}"])
def test_gangs_and_other_schedulers_are_not_plain(tmp_path: Path, pod: str) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(
        "apiVersion: moorage/v1\nkind: Scenario\ncluster: {nodes: [{cpu: '4'}]}\n"
        f"arrivals: {{generators: [{{seconds: 9, perHour: 999, pods: [{pod}]}}]}}\n"
    )

    assert not read_scenario_file(str(file)).is_plain
