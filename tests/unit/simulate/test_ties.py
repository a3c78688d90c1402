"""Ties fall the same way whoever looks on, and whichever way the scheduler takes to them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.api.pod import Pod
from moorage.cli.main import main
from moorage.simulate.pod_lifecycle import PodLifecycle
from tests.unit.cli.test_examples import EXAMPLES

DICE = """
from moorage import Score


class Dice(Score, frozen=True):
    def score(self, cycle, pod, node):
        return int(cycle.random.random() * 100)
"""
NOBODY = """
from moorage import Permit


class RefusesNobody(Permit, frozen=True):
    def permit(self, cycle, pod, node):
        return None
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [%s]}}
"""
SCENARIO = """
apiVersion: moorage/v1
kind: Scenario
cluster:
  nodes:
  - {name: web, count: 3, cpu: "4", memory: 16Gi}
  - {name: batch, count: 3, cpu: "4", memory: 16Gi}
arrivals:
  generators:
  - {seconds: 3600, perHour: 60, pods: [{name: p, cpu: "2", memory: 1Gi, runs: {meanSeconds: 900}}]}
"""


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def told(*args: str) -> str:
    done = CliRunner().invoke(main, [*args])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_plugin_that_draws_draws_the_same_when_it_is_recorded(tmp_path: Path) -> None:
    plugin = written(tmp_path, "dice.py", DICE)
    config = written(tmp_path, "config.yaml", CONFIG % "{name: Dice}")
    demo = [str(EXAMPLES / "demo" / each) for each in ("cluster", "workloads")]
    command = ["simulate", *demo, "--config", config, "--plugin", plugin, "-o", "json"]

    plain, other_seed = told(*command), told(*command, "--seed", "1")
    recorded = told(*command, "--record", str(tmp_path / "made"))

    assert json.loads(recorded)["pods"] == json.loads(plain)["pods"]
    assert json.loads(other_seed)["pods"] != json.loads(plain)["pods"]
    assert "the same" in told("replay", str(tmp_path / "made"), "--plugin", plugin)


@pytest.fixture
def bindings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Where pods of a scenario go, in the order in which they are bound."""
    found: list[tuple[str, str]] = []
    bound = PodLifecycle.bound

    def note(self: PodLifecycle, pod: Pod) -> None:
        found.append((pod.key, pod.spec.node_name))
        bound(self, pod)

    monkeypatch.setattr(PodLifecycle, "bound", note)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_rule_that_refuses_nobody_and_a_recording_move_no_tie(
    tmp_path: Path, bindings: list[tuple[str, str]], seed: int
) -> None:
    """Nodes are not in the order of their names here; lists have them so."""
    scenario = written(tmp_path, "scenario.yaml", SCENARIO)
    plugin = written(tmp_path, "nobody.py", NOBODY)
    plain = written(tmp_path, "plain.yaml", CONFIG % "")
    beside = written(tmp_path, "beside.yaml", CONFIG % "{name: RefusesNobody}")
    runs = []

    for more in (
        ["--config", plain],
        ["--config", plain, "--record", str(tmp_path / "made")],
        ["--config", beside, "--plugin", plugin],
    ):
        bindings.clear()
        told("simulate", scenario, *more, "--seed", str(seed))
        runs.append(list(bindings))

    assert len({node for _, node in runs[0]}) == 6
    assert runs[0] == runs[1] == runs[2]


NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web-%s, namespace: default}
spec:
  containers: [{name: main, image: web, resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""
OF_MANIFESTS = """
apiVersion: moorage/v1
kind: Scenario
cluster: {manifests: [nodes.yaml]}
arrivals: {manifests: [{files: [pods.yaml]}]}
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_scenario_ends_as_its_manifests_do(
    tmp_path: Path, bindings: list[tuple[str, str]], seed: int
) -> None:
    nodes = written(tmp_path, "nodes.yaml", "---".join(NODE % name for name in "cabd"))
    pods = written(tmp_path, "pods.yaml", "---".join(POD % number for number in range(6)))
    scenario = written(tmp_path, "scenario.yaml", OF_MANIFESTS)

    told("simulate", scenario, "--seed", str(seed))
    ran = json.loads(told("simulate", nodes, pods, "--seed", str(seed), "-o", "json"))

    assert len({node for _, node in bindings}) == 4
    assert dict(bindings) == {
        f"{pod['namespace']}/{pod['name']}": pod["node"] for pod in ran["pods"]
    }
