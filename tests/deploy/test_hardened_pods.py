"""Every pod of every overlay runs without privileges, and few may connect to it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from tests.deploy.tools import DEPLOY, OVERLAYS, RUNNING, Raw, of_kind, templates


@pytest.mark.kube
def test_the_overlays_that_run_pods_are_known() -> None:
    assert tuple(overlay for overlay in OVERLAYS if templates(overlay)) == RUNNING


@pytest.mark.kube
@pytest.mark.parametrize("overlay", RUNNING)
def test_it_runs_without_privileges_on_a_read_only_root(overlay: str) -> None:
    for pod in templates(overlay):
        spec = pod["spec"]

        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not any(spec.get(name) for name in ("hostNetwork", "hostPID", "hostIPC"))
        assert not any("hostPath" in volume for volume in spec.get("volumes", ()))
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]


@pytest.mark.kube
@pytest.mark.parametrize("overlay", RUNNING)
def test_a_network_policy_says_who_may_connect_to_it(overlay: str) -> None:
    for pod in templates(overlay):
        labels = pod["metadata"]["labels"]
        policies = [
            policy["spec"]
            for policy in of_kind(overlay, "NetworkPolicy")
            if policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
        ]
        served = {
            port["name"]
            for container in pod["spec"]["containers"]
            for port in container.get("ports", ())
        }

        assert policies
        for policy in policies:
            assert "Ingress" in policy["policyTypes"]
            allowed = {port["port"] for rule in policy.get("ingress", ()) for port in rule["ports"]}
            assert allowed == served


@pytest.mark.kube
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_its_namespace_enforces_restricted_pods(overlay: str) -> None:
    for namespace in of_kind(overlay, "Namespace"):
        labels = namespace["metadata"]["labels"]
        modes = ("enforce", "audit", "warn")
        assert {labels[f"pod-security.kubernetes.io/{mode}"] for mode in modes} == {"restricted"}


def placed(config: Path, folder: Path) -> dict[str, str]:
    """Where pods with and without a GPU go, of two nodes of which one has GPUs."""
    room = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    cards = {"nvidia.com/gpu": "8"}
    documents = [
        _node("gpu-1", room | cards),
        _node("cpu-1", room),
        _pod("web", {"cpu": "1"}),
        _pod("train", {"cpu": "1", "nvidia.com/gpu": "1"}),
    ]
    file = folder / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    done = CliRunner().invoke(main, ["simulate", str(file), f"--config={config}", "-o", "json"])
    assert done.exit_code == 0, done.output
    return {pod["name"]: pod["node"] for pod in json.loads(done.stdout)["pods"]}


def _node(name: str, room: dict[str, str]) -> Raw:
    status = {"allocatable": room, "capacity": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def _pod(name: str, asks: dict[str, str]) -> Raw:
    container = {"name": "main", "image": "app", "resources": {"requests": asks, "limits": asks}}
    spec = {"schedulerName": "gpu-scheduler", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_the_gpu_scheduler_keeps_other_pods_off_gpu_nodes(tmp_path: Path) -> None:
    config = DEPLOY / "overlays" / "several-schedulers" / "gpu" / "scheduler.yaml"

    assert placed(config, tmp_path) == {"web": "cpu-1", "train": "gpu-1"}
