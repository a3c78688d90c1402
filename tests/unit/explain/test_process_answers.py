"""What-ifs of every kind, worked out by a process of their own."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.explain.explanation import Explanation
from moorage.explain.process_answers import ProcessAnswers, cluster_options
from tests.unit.explain.test_sources import node_of, written

Raw = dict[str, Any]
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "default-scheduler"}],
}


def asked_of(folder: Path, *objects: Raw, seconds: float = 60.0) -> ProcessAnswers:
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return ProcessAnswers((str(file),), lambda: CONFIG, seconds)


def test_every_change_that_the_command_takes(tmp_path: Path) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": written("x")["spec"]},
        },
    }
    nodes = [node_of(name) for name in ("n1", "n2")]
    nodes[1]["metadata"]["labels"] = {"topology.kubernetes.io/zone": "b"}
    scenarios = [
        {"name": "scaled", "scale": {"deployment/web": 20}},
        {"addNodes": [{"count": 2, "like": "n1"}, {"count": 1, "like": node_of("big")}]},
        {"drain": ["n1"]},
        {"remove": ["n1"]},
        {"loseZones": ["b"]},
        {"config": PACKED},
    ]
    process = asked_of(tmp_path, deployment, *nodes)
    told = asyncio.run(process.whatif({"scenarios": scenarios}))

    assert [each["name"] for each in told][:2] == ["scaled", "scenario 2"]
    assert len(told[0]["becomes_pending"]) > 0
    assert [each["after"]["nodes"] for each in told] == [2, 5, 2, 1, 1, 2]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ({"drain": ["n9"]}, "--drain n9: there is no such node"),
        ({"drian": ["n1"]}, "scenarios[0].drian: unknown field: one of name, addNodes, drain"),
        ({}, "nothing to change"),
        ({"addNodes": [{"count": 1, "like": "/etc/passwd"}]}, "like: a node's name, or a node"),
        ({"config": "/etc/kubernetes/x.yaml"}, "config: a KubeSchedulerConfiguration"),
    ],
)
def test_what_makes_no_sense_is_said(tmp_path: Path, body: Raw, want: str) -> None:
    with pytest.raises(ValueError, match=re.escape(want)):
        asyncio.run(asked_of(tmp_path, node_of("n1")).whatif(body))


def test_a_pod_is_explained_and_the_loop_runs_meanwhile(tmp_path: Path) -> None:
    big = written("big")
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "50"}}

    async def main() -> tuple[Explanation, int]:
        asking = asyncio.ensure_future(
            asked_of(tmp_path, node_of("n1"), big).explain("default/big")
        )
        turns = 0
        while not asking.done():
            await asyncio.sleep(0.005)
            turns += 1
        return asking.result(), turns

    told, turns = asyncio.run(main())

    assert told.state == "pending"
    assert told.changes[0].kind == "request"
    assert turns > 10


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"not worked out within 0\.01 s"):
        asyncio.run(asked_of(tmp_path, node_of("n1"), seconds=0.01).whatif({"drain": ["n1"]}))


def test_it_reads_the_cluster_of_the_scheduler_with_its_plugins() -> None:
    assert cluster_options("kube.conf", "staging", ["rules.py"]) == [
        "--kubeconfig", "kube.conf", "--context", "staging", "--plugin", "rules.py",
    ]  # fmt: skip
