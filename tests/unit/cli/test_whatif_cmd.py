"""`moorage whatif`: what moves, what waits and what is placed, each scenario from one snapshot."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: a1, labels: {topology.kubernetes.io/zone: a}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: b1, labels: {topology.kubernetes.io/zone: b}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: old, namespace: default}
spec: {nodeName: a1, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: default}
spec: {nodeName: b1, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1500m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: big, namespace: default}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "4"}}}]}
"""
LARGE = """
---
apiVersion: v1
kind: Node
metadata: {name: large}
status: {allocatable: {cpu: "100", memory: 800Gi, pods: "110"}}
"""
JOB = """
---
apiVersion: batch/v1
kind: Job
metadata: {name: batch, namespace: default}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]
"""
SCENARIOS = """
apiVersion: moorage/v1
kind: WhatIf
scenarios:
- {name: lose a, loseZones: [a]}
- {name: one more, addNodes: [{count: 1, like: b1}]}
- {name: scaled down, scale: {deployment/web: 0}}
- {name: packed, config: packed.yaml}
"""
PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: PodTopologySpread}, {name: NodeResourcesBalancedAllocation}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def asked(tmp_path: Path, *arguments: str, more: str = "") -> Result:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(CLUSTER + more)
    (tmp_path / "scenarios.yaml").write_text(SCENARIOS)
    (tmp_path / "packed.yaml").write_text(PACKED)
    return CliRunner().invoke(main, ["whatif", str(cluster), *arguments])


def answers(tmp_path: Path, *arguments: str, more: str = "") -> list[dict[str, Any]]:
    result = asked(tmp_path, *arguments, "-o", "json", more=more)
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


def test_a_lost_zone_moves_pods_or_makes_them_wait(tmp_path: Path) -> None:
    (told,) = answers(tmp_path, "--lose-zone", "a")

    pods = {each["pod"] for each in (*told["moves"], *told["becomes_pending"])}
    assert "default/old" in pods
    assert all(each["source"] == "a1" for each in (*told["moves"], *told["becomes_pending"]))
    assert (told["before"]["nodes"], told["after"]["nodes"]) == (2, 1)


def test_a_node_more_takes_the_pod_that_waited(tmp_path: Path) -> None:
    (told,) = answers(tmp_path, "--add-node", "1=b1")

    assert told["becomes_placed"] == [{"pod": "default/big", "source": "", "target": "b1-1"}]
    assert told["moves"] == []
    assert (told["before"]["waiting"], told["after"]["waiting"]) == (1, 0)


def test_a_drained_node_stays_and_takes_nobody(tmp_path: Path) -> None:
    (told,) = answers(tmp_path, "--drain", "a1")

    assert told["after"]["nodes"] == 2
    assert (told["before"]["nodes_in_use"], told["after"]["nodes_in_use"]) == (2, 1)
    assert {each["target"] for each in told["moves"]} == {"b1"}


def test_scenarios_of_a_file_start_from_the_same_cluster(tmp_path: Path) -> None:
    lost, more, fewer, packed = answers(tmp_path, "-f", str(tmp_path / "scenarios.yaml"))

    assert lost["before"] == more["before"] == fewer["before"] == packed["before"]
    assert lost["becomes_pending"]
    assert [each["pod"] for each in more["becomes_placed"]] == ["default/big"]
    assert len(fewer["gone"]) == 2
    assert len(packed["moves"]) == 1


def test_another_configuration_moves_what_was_not_bound(tmp_path: Path) -> None:
    (told,) = answers(tmp_path, "--to-config", str(asked_file(tmp_path)))

    (move,) = told["moves"]
    assert move["pod"].startswith("default/web-")


def asked_file(tmp_path: Path) -> Path:
    file = tmp_path / "packed.yaml"
    file.write_text(PACKED)
    return file


def test_the_table_names_who_moves_and_the_kpis(tmp_path: Path) -> None:
    result = asked(tmp_path, "--lose-zone", "a")

    assert "MOVED" in result.output
    assert "pods that wait" in result.output
    assert "allocation of cpu" in result.output


def test_pods_that_are_made_for_a_scenario_are_attempted(tmp_path: Path) -> None:
    """Their uids come from the seed that those of the pods before them came from."""
    (told,) = answers(tmp_path, "--scale", "deployment/web=30", more=LARGE)

    assert told["becomes_pending"] == []
    assert len(told["becomes_placed"]) == 28


def test_pods_that_are_made_for_a_job_are_too(tmp_path: Path) -> None:
    (told,) = answers(tmp_path, "--add-node", "9=b1", "--scale", "job/batch=20", more=JOB)

    assert told["becomes_pending"] == []
    assert told["gone"] == []
    assert sum("/batch-" in each["pod"] for each in told["becomes_placed"]) == 18


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to change"),
        (("--drain", "nope"), "there is no such node"),
        (("--lose-zone", "nope"), "no node is in it"),
        (("--add-node", "b1"), "COUNT=FILE or COUNT=NODE"),
        (("--add-node", "200001=b1"), "at most 200,000 nodes of a template are held in memory"),
        (("--scale", "deployment/web=2000001"), "at most 2,000,000 pods of a workload are held"),
    ],
)
def test_what_cannot_be_changed_is_said(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    result = asked(tmp_path, *words)

    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ("--to-config", "NONE"), "error: --to-config /none.yaml: no such", id="a flag"
        ),
        pytest.param(
            ("-f", "SCENARIOS"),
            "error: -f /scenarios.yaml: config /none.yaml: no such",
            id="a scenario of a file",
        ),
    ],
)
def test_a_configuration_that_is_not_there_is_named_by_what_named_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "scenarios.yaml").write_text(SCENARIOS.replace("packed.yaml", "none.yaml"))
    monkeypatch.setattr("moorage.cli.whatif_cmd.settle", None)
    places = {"NONE": tmp_path / "none.yaml", "SCENARIOS": tmp_path / "scenarios.yaml"}
    given = [str(places.get(word, word)) for word in words]

    told = CliRunner().invoke(main, ["whatif", str(tmp_path / "cluster.yaml"), *given])

    assert told.exit_code == 2, told.output
    assert said in told.stderr.replace(str(tmp_path), "")
