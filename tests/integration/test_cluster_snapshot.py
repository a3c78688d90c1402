"""A live cluster is read by a role that may only list, and simulated on; nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from moorage.cli.main import main
from tests.integration import auditing
from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.making import node, pod

pytestmark = pytest.mark.kube

RBAC = "/apis/rbac.authorization.k8s.io/v1"
READER = "snapshot-reader"
LISTED = {
    "": ["nodes", "pods", "namespaces", "services", "persistentvolumes", "limitranges"],
    "apps": ["deployments", "replicasets", "statefulsets", "daemonsets"],
}


def reader(plane: ControlPlane, folder: Path, resources: dict[str, list[str]] = LISTED) -> Path:
    """The kubeconfig of a user who may list these, and nothing else."""
    meta = {"name": READER}
    rules = [{"apiGroups": [g], "resources": r, "verbs": ["list"]} for g, r in resources.items()]
    role = {"metadata": meta, "rules": rules}
    subject = {"kind": "User", "name": READER, "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"kind": "ClusterRole", "name": READER, "apiGroup": "rbac.authorization.k8s.io"}
    for kind, body in (
        ("clusterroles", role),
        ("clusterrolebindings", {"metadata": meta, "subjects": [subject], "roleRef": ref}),
    ):
        there = [o["metadata"]["name"] for o in plane.request("GET", f"{RBAC}/{kind}")["items"]]
        method, tail = ("PUT", f"/{READER}") if READER in there else ("POST", "")
        plane.request(method, f"{RBAC}/{kind}{tail}", body)
    cert, key = plane.client_certificate(READER, "readers")
    written = yaml.safe_load(plane.kubeconfig.read_text())
    written["users"][0]["user"] = {"client-certificate": str(cert), "client-key": str(key)}
    file = folder / "reader.yaml"
    file.write_text(yaml.safe_dump(written))
    return file


def moorage(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def fill(plane: ControlPlane) -> None:
    """Two nodes, one pod with a secret in every place that has one, one that waits."""
    secretive: dict[str, Any] = pod("web", cpu="3", nodeName="n1")
    secretive["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": "hunter2",
        "team": "shop",
    }
    secretive["spec"]["containers"][0] |= {
        "env": [{"name": "PASSWORD", "value": "hunter2"}],
        "args": ["--token=hunter2"],
        "livenessProbe": {"exec": {"command": ["curl", "hunter2"]}},
    }
    secret = {"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
    plane.create(node("n1"), node("n2"), secretive, pod("waits", scheduler="default-scheduler"))
    plane.request("POST", "/api/v1/namespaces/default/secrets", secret)


@pytest.fixture
def filled(plane: ControlPlane) -> Any:
    fill(plane)
    yield plane
    plane.request("DELETE", "/api/v1/namespaces/default/secrets/s")


def test_pods_are_placed_beside_what_runs_and_the_cluster_is_only_listed(
    filled: ControlPlane, tmp_path: Path
) -> None:
    (tmp_path / "app.yaml").write_text(yaml.safe_dump(pod("big", cpu="3", scheduler="")))
    before = auditing.position(filled.home)

    told = moorage(
        "simulate", "--kubeconfig", reader(filled, tmp_path), "--context", "test",
        tmp_path / "app.yaml", "-o", "json",
    )  # fmt: skip

    assert told.exit_code == 0, told.output
    where = {each["name"]: each["node"] for each in json.loads(told.stdout)["pods"]}
    assert where["web"] == "n1"
    assert where["big"] == "n2"
    assert where["waits"] in ("n1", "n2")
    asked = list(auditing.asked(filled.home, READER, before))
    assert {each.verb for each in asked} == {"list"}
    assert "secrets" not in {each.resource for each in asked}
    waits = filled.request("GET", "/api/v1/namespaces/default/pods/waits")
    assert "nodeName" not in waits["spec"]


def test_a_snapshot_keeps_no_secret_and_can_be_simulated(
    filled: ControlPlane, tmp_path: Path
) -> None:
    config = reader(filled, tmp_path)
    asked = moorage("snapshot", "--kubeconfig", config, "--annotation", "team")
    kept = moorage("snapshot", "--kubeconfig", config)

    assert kept.exit_code == 0, kept.output
    assert "team: shop" in asked.stdout
    assert "team: shop" not in kept.stdout
    for said in (asked.stdout, kept.stdout):
        assert "hunter2" not in said
        assert "managedFields" not in said
    assert "priorityclasses.scheduling.k8s.io are left out" in kept.stderr
    file = tmp_path / "cluster.yaml"
    file.write_text(kept.stdout)
    told = moorage("simulate", file, "-o", "json")
    assert told.exit_code == 0, told.output
    placed = {pod["name"]: pod["node"] for pod in json.loads(told.stdout)["pods"]}
    assert placed["waits"]


def test_many_pages_are_one_snapshot(
    plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moorage.simulate.live_manifests.PAGE", 3)
    plane.create(*(node(f"n{i}") for i in range(10)))

    kept = moorage("snapshot", "--kubeconfig", plane.kubeconfig, "-o", "json")

    assert kept.exit_code == 0, kept.output
    found = [json.loads(line) for line in kept.stdout.splitlines()]
    assert sum(each["kind"] == "Node" for each in found) == 10


def test_who_may_not_list_pods_is_told_so(plane: ControlPlane, tmp_path: Path) -> None:
    told = moorage("snapshot", "--kubeconfig", reader(plane, tmp_path, {"": ["nodes"]}))

    assert told.exit_code == 2
    assert told.stdout == ""
    assert 'cannot list resource "pods"' in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_a_server_that_is_not_there_is_one_line(tmp_path: Path, plane: ControlPlane) -> None:
    file = plane.write_kubeconfig(tmp_path / "k", f"https://127.0.0.1:{free_ports(1)[0]}")

    told = moorage("simulate", "--kubeconfig", file)

    assert told.exit_code == 2
    assert "Connection refused" in told.stderr
    assert len(told.stderr.splitlines()) == 1


def deployment(cpu: str, replicas: int) -> dict[str, Any]:
    labels = {"app": "shop"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def test_what_is_in_the_cluster_and_in_a_file_is_the_files(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plane.create(node("n1"), node("n2"))
    where = "/apis/apps/v1/namespaces/default/deployments"
    plane.request("POST", where, deployment("1", 1))
    (tmp_path / "app.yaml").write_text(yaml.safe_dump(deployment("2", 3)))

    try:
        told = moorage(
            *("simulate", "--kubeconfig", plane.kubeconfig, tmp_path / "app.yaml", "-o", "json")
        )
    finally:
        plane.request("DELETE", f"{where}/shop")

    assert told.exit_code == 0, told.output
    assert "taken from files: Deployment shop" in told.stderr
    found = json.loads(told.stdout)
    assert len(found["pods"]) == 3
    used = [each["resources"]["cpu"]["requested"] for each in found["nodes"]]
    assert sum(used) == 6000
