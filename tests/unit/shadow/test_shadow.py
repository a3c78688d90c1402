"""A shadow beside another scheduler, in virtual time: what it finds out, and that it only reads."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.cli import shadow_cmd
from moorage.cli.main import main
from moorage.clock import VirtualClock, run_virtual
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.shadow.process import CLUSTER, Shadow
from moorage.shadow.summary import Findings
from moorage.simulate.candidate import Candidate
from moorage.watch.api_resources import NODES, PODS, PRIORITY_CLASSES, Resource

HIGH = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 100,
}
START = 1_767_225_600.0
MOST_ALLOCATED = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
"""
DEFAULT = Candidate("kube-default")
PACKING = Candidate("packing", "packing.yaml", MOST_ALLOCATED)


def node(number: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"n{number}",
            "labels": {
                "kubernetes.io/hostname": f"n{number}",
                "topology.kubernetes.io/zone": "ab"[number % 2],
            },
        },
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def pod(number: int, **spec: Any) -> dict[str, Any]:
    cpu = ("250m", "500m", "1", "1500m")[number % 4]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"p{number}",
            "namespace": "default",
            "labels": {"app": "ab"[number % 2]},
        },
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}],
            **spec,
        },
    }


class ReadOnly:
    """A server that only answers questions."""

    def __init__(self, server: MemoryCluster, watched: list[str] | None = None) -> None:
        self.list_page = server.list_page
        self._server = server
        self._watched = [] if watched is None else watched

    def watch(self, resource: Resource, **asked: Any) -> Any:
        self._watched.append(resource.plural)
        return self._server.watch(resource, **asked)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the shadow wants to {name}")


def shadowed(
    pods: list[dict[str, Any]],
    *candidates: Candidate,
    nodes: int = 6,
    deciding: Candidate = DEFAULT,
    watched: list[str] | None = None,
) -> Findings:
    clock = VirtualClock(START)

    async def main() -> Findings:
        cluster = MemoryCluster(clock=clock, rng=random.Random(1))
        for number in range(nodes):
            await cluster.create(NODES, node(number))
        await cluster.create(PRIORITY_CLASSES, HIGH)
        loaded = deciding.load()
        other = assemble(
            cluster,
            build_profiles(loaded.configuration, deciding.plugins()),
            clock=clock,
            rng=random.Random(2),
        )
        shadow = Shadow(ReadOnly(cluster, watched), candidates, clock)
        tasks = (other.run(), shadow.run(), Kubelet(cluster).serve())
        running = [asyncio.ensure_future(each) for each in tasks]
        await clock.sleep(5)
        for each in pods:
            await cluster.create(PODS, each)
            await clock.sleep(0.2)
        await clock.sleep(60)
        found = shadow.findings()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return found

    return run_virtual(main(), clock)


def test_a_shadow_of_the_same_configuration_agrees_on_every_pod() -> None:
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a"}},
            }
        ]
    }
    pods = [pod(number, **(spread if number % 3 == 0 else {})) for number in range(40)]
    found = shadowed(pods, DEFAULT)
    tally = found.one_step[0]
    assert tally.placed == 40
    assert tally.agreeing == 40, tally.disagreements
    assert tally.counts.keys() <= {"same", "tied"}
    assert found.unseen.pods == 0
    assert found.kpis("kube-default")["pods"] == found.kpis(CLUSTER)["pods"] == 40


def test_many_configurations_go_by_one_watch() -> None:
    alone, together = list[str](), list[str]()
    pods = [pod(number) for number in range(5)]
    shadowed(pods, DEFAULT, watched=alone)
    found = shadowed(pods, DEFAULT, PACKING, Candidate("again"), watched=together)

    assert [each.placed for each in found.one_step] == [5, 5, 5]
    assert "pods" in alone
    assert sorted(together) == sorted(alone)


def test_a_shadow_of_another_policy_says_what_was_given_up_and_by_whom() -> None:
    found = shadowed([pod(number) for number in range(30)], DEFAULT, PACKING)
    same, packing = found.one_step
    assert same.agreeing == 30
    assert packing.counts["worse"] >= 5
    assert packing.given_up > 0
    assert packing.by_plugin["NodeResourcesFit"] > 0
    assert packing.disagreements[0].best != packing.disagreements[0].node


def test_the_drifting_world_is_where_the_policy_would_have_led() -> None:
    found = shadowed([pod(number) for number in range(30)], PACKING)
    assert found.kpis(CLUSTER)["nodes_used"] == 6
    assert found.kpis("packing")["nodes_used"] < 6
    assert found.kpis("packing")["never_placed"] == found.kpis(CLUSTER)["never_placed"] == 0


def test_pods_that_fit_nowhere_are_judged_too() -> None:
    found = shadowed([pod(0, nodeSelector={"disk": "none"})], DEFAULT)
    tally = found.one_step[0]
    assert tally.counts == {"both-pending": 1}
    assert tally.agreeing == 0


def test_a_pod_that_only_the_shadow_would_place_is_told() -> None:
    strict = Candidate("strict", "strict.yaml", MOST_ALLOCATED)
    relaxed = Candidate(
        "relaxed",
        "relaxed.yaml",
        b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: NodeAffinity}]
""",
    )
    found = shadowed([pod(0, nodeSelector={"disk": "none"})], strict, relaxed)
    assert [each.counts for each in found.one_step] == [{"both-pending": 1}, {"would-place": 1}]


@pytest.mark.parametrize("judging", [DEFAULT, PACKING])
def test_preempted_pods_wait_again_in_the_worlds_that_evict_them(judging: Candidate) -> None:
    low = [pod(number) for number in range(2)]
    filling = [
        {
            **each,
            "spec": {
                **each["spec"],
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "7"}}}],
            },
        }
        for each in low
    ]
    high = {**pod(9), "metadata": {"name": "high", "namespace": "default"}}
    high["spec"] = {
        "priorityClassName": "high",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "6"}}}],
    }
    found = shadowed([*filling, high], judging, nodes=2)
    assert found.kpis(judging.name)["evictions"] == 1
    assert found.one_step[0].counts["preempts"] == 1
    assert found.one_step[0].agreeing == 3


RAISES = """
from moorage import {point}

class Raises({point}, frozen=True):
    def {hook}(self, cycle, pod, node):
        raise RuntimeError("out of coffee")
"""
WITH_RAISES = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Raises}]}}
"""


def raising(folder: Path, point: str) -> Candidate:
    file = folder / "raises.py"
    file.write_text(RAISES.format(point=point, hook=point.lower()))
    file.chmod(0o600)
    return Candidate("raising", "raising.yaml", WITH_RAISES, (str(file),))


def test_what_plugins_raise_in_a_world_of_their_own_is_told(tmp_path: Path) -> None:
    found = shadowed([pod(1), pod(2)], raising(tmp_path, "Reserve"))

    error, *_ = found.worlds.configurations[1].seeds[0].errors
    assert error.startswith("running Reserve plugin 'Raises': RuntimeError: out of coffee")
    assert not found.has_failed_judgements


def test_a_plugin_that_fails_at_a_judgement_is_told(tmp_path: Path) -> None:
    found = shadowed([pod(1)], raising(tmp_path, "Filter"))

    assert found.has_failed_judgements
    assert found.one_step[0].disagreements[0].reason.startswith("running Filter plugin 'Raises'")


@pytest.mark.parametrize(
    ("point", "code"),
    [
        pytest.param("Reserve", 1, id="in a world of its own"),
        pytest.param("Filter", 1, id="at a judgement"),
        pytest.param("", 0, id="nowhere"),
    ],
)
def test_the_command_ends_with_1_where_a_plugin_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, code: int
) -> None:
    found = shadowed([pod(1)], raising(tmp_path, point) if point else DEFAULT)

    async def ended(*_: object) -> Findings:
        return found

    monkeypatch.setattr(shadow_cmd, "run_shadow", ended)
    kubeconfig = tmp_path / "kubeconfig.yaml"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: a,"
        " clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}],"
        " contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {}}]}"
    )
    result = CliRunner().invoke(main, ["shadow", "--kubeconfig", str(kubeconfig)])

    assert result.exit_code == code, result.output
    assert ("out of coffee" in result.output) is bool(point)
