"""`moorage defragment`: a proposal, its KPIs, and what is said where there is none to make."""

import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from moorage.cli.main import main

COUNT, ASKED = "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli"
PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: GPUPacking, weight: 50}]}}
"""


def box(name: str) -> dict[str, Any]:
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "110", COUNT: "4"}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def gpu_pod(name: str, where: str, milli: int = 470, count: int = 1) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}
    metadata = {
        "name": name,
        "namespace": "default",
        "annotations": {ASKED: str(milli), COUNT: str(count)},
        "ownerReferences": [{**owner, "controller": True}],
    }
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    if where:
        spec["nodeName"] = where
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def told(folder: Path, *options: str, config: str = PACKING) -> Result:
    objects = [box(f"n{i}") for i in range(4)]
    objects += [gpu_pod(f"s{i}", f"n{i}") for i in range(3)]
    objects += [gpu_pod("large", "n3", 1000, 4), gpu_pod("waits", "", 1000, 4)]
    (folder / "cluster.yaml").write_text(yaml.safe_dump_all(objects))
    (folder / "config.yaml").write_text(config)
    given = [str(folder / "cluster.yaml"), "--as-is", "--config", str(folder / "config.yaml")]
    return CliRunner().invoke(main, ["defragment", *given, *options])


def test_moves_are_proposed_with_what_comes_of_them(tmp_path: Path) -> None:
    answer = told(tmp_path, "-o", "json")
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)

    assert 1 <= len(found["moves"]) <= 2
    assert (found["before"]["waiting"], found["after"]["waiting"]) == (1, 0)
    assert found["before"]["room"] == {"4": 0}
    assert found["after"]["room"]["4"] >= 1


def test_people_read_it_in_words(tmp_path: Path) -> None:
    shown = told(tmp_path, "--moves", "1").stdout

    assert shown.count("evict default/s") == 1
    assert "pods with GPUs that wait" in shown
    assert "room for pods with 4 GPUs" in shown


def test_without_gpupacking_nothing_is_known_of_devices(tmp_path: Path) -> None:
    answer = told(tmp_path, config=PACKING.replace("GPUPacking", "GPUPriorityPlugin"))

    assert answer.exit_code == 2
    assert "no profile enables GPUPacking" in answer.output
