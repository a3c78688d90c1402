"""`moorage snapshot --anonymize`: a cluster without its names, that decides as the cluster does."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli import snapshot_cmd
from moorage.cli.main import main
from moorage.recording.manifests import anonymous_manifests
from moorage.simulate.manifest_files import Manifest

Raw = dict[str, Any]
SECRET = ("acme", "payroll", "vault")
"""Parts of every name, label, taint, image, annotation and message of the cluster."""


def meta(name: str, namespace: str | None = "acme-pay", **more: Any) -> Raw:
    labels = {"acme.example/team": "payroll", "app": name.rpartition("-")[0]}
    made = {"name": name, "uid": f"uid-of-{name}", "labels": labels, **more}
    return made | ({"namespace": namespace} if namespace else {})


def node(number: int, cpu: str = "4", **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(f"acme-host-{number}", None),
        "spec": spec,
        "status": {
            "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "20"},
            "addresses": [{"type": "Hostname", "address": "vault.acme.example"}],
        },
    }


def pod(name: str, cpu: str = "1", owner: str = "", **spec: Any) -> Raw:
    container = {
        "name": "payroll",
        "image": "acme.example/payroll:v7",
        "resources": {"requests": {"cpu": cpu}},
    }
    owned = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": owner,
            "uid": f"uid-of-{owner}",
            "controller": True,
        }
    ]
    more: Raw = {"ownerReferences": owned} if owner else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(
            name,
            annotations={"acme.example/vault": "payroll"},
            creationTimestamp="2026-03-01T12:00:00Z",
            **more,
        ),
        "spec": {"containers": [container], **spec},
        "status": {"conditions": [{"type": "Ready", "status": "False", "message": "vault"}]},
    }


def replica_set(name: str, replicas: int) -> Raw:
    labels = {"acme.example/team": "payroll"}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta(name), "spec": spec}


def claim() -> Raw:
    """A claim of a device that is allocated; classes, drivers and requests of devices stay."""
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
    result = {
        "request": "gpu",
        "driver": "gpu.example.com",
        "pool": "acme-host-1",
        "device": "vault-0",
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": meta("acme-claim-0"),
        "spec": spec,
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


TAINT = {"key": "acme.example/payroll", "value": "vault", "effect": "NoSchedule"}
CLUSTER = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": meta("acme-pay", None)},
    node(1),
    node(2, taints=[TAINT]),
    replica_set("payroll-web", 2),
    replica_set("payroll-old", 0),
    pod("payroll-web-a", owner="payroll-web", nodeName="acme-host-1"),
    pod("payroll-web-b", "3", owner="payroll-web"),
    pod("payroll-big-0", "9"),
    pod("payroll-far-0", nodeSelector={"acme.example/team": "vault"}),
    claim(),
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta("acme-front"),
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]},
        },
    },
]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the command writes about CLUSTER, with these options."""

    class Cluster:
        def __init__(self, *_: Any) -> None: ...

        def objects(self) -> list[Manifest]:
            return [Manifest(raw, "cluster", 1) for raw in CLUSTER]

    monkeypatch.setattr(snapshot_cmd, "ClusterChoice", Cluster)

    def write(*options: str) -> str:
        done = CliRunner().invoke(main, ["snapshot", *options])
        assert done.exit_code == 0, done.output
        return done.stdout

    return write


def test_no_name_is_left(written: Any) -> None:
    plain, without = written(), written("--anonymize")

    assert all(part in plain for part in SECRET)
    assert [part for part in SECRET if part in without.lower()] == []
    kinds = [each["kind"] for each in yaml.safe_load_all(without)]
    assert kinds.count("Pod") == 4
    assert kinds.count("ReplicaSet") == 1, "the one with pods"
    assert "ResourceClaim" in kinds


def test_what_is_left_decides_as_the_cluster_does(written: Any, tmp_path: Path) -> None:
    def decided(*options: str) -> list[tuple[bool, str]]:
        file = tmp_path / "cluster.yaml"
        file.write_text(written(*options))
        done = CliRunner().invoke(main, ["simulate", str(file), "-o", "json"])
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        return [*((bool(each["node"]), "") for each in told["pods"]), *reasons(told)]

    with_names = decided()
    assert [placed for placed, _ in with_names[:4]].count(True) == 2
    assert "Insufficient cpu" in str(with_names)
    assert sorted(decided("--anonymize")) == sorted(with_names)
    assert sorted(decided("--anonymize", "-o", "json")) == sorted(with_names)


def reasons(told: Raw) -> list[tuple[bool, str]]:
    return [(False, str(each["message"])) for each in told["pods"] if not each["node"]]


def test_the_terms_of_a_slice_for_some_nodes_are_without_names() -> None:
    expression = {"key": "acme.example/vault", "operator": "In", "values": ["payroll"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    pool = {"name": "acme-pool", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example", "pool": pool, "nodeSelector": terms}
    raw = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "acme-slice"},
        "spec": spec,
    }
    (found,) = anonymous_manifests([raw])
    (kept,) = found["spec"]["nodeSelector"]["nodeSelectorTerms"]

    assert kept["matchExpressions"][0]["operator"] == "In"
    assert not any(name in json.dumps(found) for name in SECRET)


def test_data_that_is_nested_deeply_is_in_a_snapshot() -> None:
    nested: Any = "payroll"
    for _ in range(450):
        nested = [nested]
    text = snapshot_cmd._document({"kind": "ResourceClaim", "spec": nested})

    assert text.startswith(b'---\n{"kind":"ResourceClaim","spec":[[')
    assert b"payroll" in text


def annotated(**said: str) -> Raw:
    made = pod("payroll-secret-0")
    made["metadata"]["annotations"] = {key.replace("__", "/"): said[key] for key in said}
    return made


@pytest.mark.parametrize("options", [(), ("--anonymize",)], ids=["with names", "without names"])
def test_annotations_that_nobody_reads_stay_in_the_cluster(
    written: Any, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    said = {"vault__token": "SEKRIT", "example__cost": "12", "gpu-fraction": "0.5"}
    monkeypatch.setattr("tests.unit.cli.test_snapshot_cmd.CLUSTER", [annotated(**said)])

    def kept(*more: str) -> Raw:
        (found,) = yaml.safe_load_all(written(*options, *more))
        return dict(found["metadata"]["annotations"])

    assert kept() == {"gpu-fraction": "0.5"}
    assert kept("--annotation", "example/cost") == {"gpu-fraction": "0.5", "example/cost": "12"}
