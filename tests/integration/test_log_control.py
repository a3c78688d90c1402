"""The log of a running scheduler, and what it writes to pods, by a ConfigMap of the cluster."""

from pathlib import Path
from typing import Any

import pytest

from tests.integration.control_plane import ControlPlane
from tests.integration.harness import replica, wait_for
from tests.integration.making import node, pod

pytestmark = pytest.mark.kube

MAPS = "/api/v1/namespaces/default/configmaps"
MAIN = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: moorage}]
leaderElection: {leaderElect: false}
---
apiVersion: moorage/v1
kind: MoorageConfiguration
logging: {schedulerLatency: true, verbosity: 2}
"""
POLICY = """
apiVersion: v1
kind: Policy
rules:
- level: Info
  resources: ["pods"]
  verbs: ["schedule", "bind"]
"""


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def conditions(plane: ControlPlane, name: str) -> dict[str, Any]:
    found = plane.request("GET", f"/api/v1/namespaces/default/pods/{name}")
    return {each["type"]: each for each in found["status"].get("conditions") or ()}


def bound(plane: ControlPlane, name: str) -> bool:
    found = plane.request("GET", f"/api/v1/namespaces/default/pods/{name}")
    return bool(found["spec"].get("nodeName"))


def test_a_policy_that_is_edited_in_the_cluster_changes_what_is_said(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plane.request("POST", MAPS, config_map("scheduler-config"))
    try:
        flags = ("--v=0", "--config-map=default/scheduler-config")
        with replica(tmp_path, "one", plane.kubeconfig, *flags) as one:
            plane.create(node("n1"), pod("first"))
            wait_for(lambda: bound(plane, "first"), f"not bound; see {one.log}")
            edited = config_map("scheduler-config", **{"logging.yaml": POLICY})
            plane.request("PUT", f"{MAPS}/scheduler-config", edited)
            one.says("Configuration reloaded")
            plane.create(pod("second"))
            one.says('"Bound" pod="default/second"')

            assert '"Scheduled" pod="default/second"' in one.said
            assert 'pod="default/first"' not in one.said
    finally:
        plane.request("DELETE", f"{MAPS}/scheduler-config")


def test_latency_is_written_to_pods_only_while_it_is_asked_for(
    plane: ControlPlane, tmp_path: Path
) -> None:
    silent = MAIN.replace("schedulerLatency: true, verbosity: 2", "schedulerLatency: false")
    config = tmp_path / "config.yaml"
    config.write_text(silent)
    flags = ("--v=0", f"--config={config}", "--reload-interval=0.2")
    with replica(tmp_path, "one", plane.kubeconfig, *flags) as one:
        plane.create(node("n1"), pod("before"))
        wait_for(lambda: bound(plane, "before"), f"not bound; see {one.log}")
        config.write_text(MAIN)
        one.says("Configuration reloaded")
        plane.create(pod("after"))
        found = wait_for(
            lambda: conditions(plane, "after").get("schedulerLatency"),
            f"no latency; see {one.log}",
        )

        assert found["status"] == "True"
        assert found["message"].endswith("from its arrival to its binding, in 1 attempt")
        assert "schedulerLatency" not in conditions(plane, "before")
        one.says('"Scheduled" pod="default/after"')
