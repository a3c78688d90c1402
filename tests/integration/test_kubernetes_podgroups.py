"""A PodGroup of scheduling.k8s.io/v1alpha1, as guides write it, on a server that has none."""

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.tools import program
from tests.integration.control_plane import ROOT, ControlPlane
from tests.integration.grouping import GROUPS
from tests.integration.harness import replica, wait_for
from tests.integration.making import node

pytestmark = pytest.mark.kube

EXAMPLE = ROOT / "examples" / "gangs" / "kubernetes-podgroup"


def kubectl(plane: ControlPlane, *arguments: str) -> str:
    command = [program("kubectl"), f"--kubeconfig={plane.kubeconfig}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def bound(plane: ControlPlane) -> int:
    listed = plane.request("GET", "/api/v1/namespaces/default/pods")["items"]
    return sum(bool(pod["spec"].get("nodeName")) for pod in listed)


def _status(plane: ControlPlane) -> dict[str, Any]:
    found: dict[str, Any] = plane.request("GET", f"{GROUPS}/nginx-group")
    return found.get("status") or {}


def test_the_example_is_what_guides_write() -> None:
    group = next(yaml.safe_load_all((EXAMPLE / "nginx.yaml").read_text()))

    assert group["apiVersion"] == "scheduling.k8s.io/v1alpha1"
    assert group["spec"] == {"minMember": 3, "scheduleTimeoutSeconds": 600}


def test_as_it_stands_no_server_takes_it(groups: ControlPlane) -> None:
    """That group of APIs is Kubernetes' own, and this version of it is not served."""
    assert "no matches for kind" in kubectl(groups, "apply", "-f", str(EXAMPLE / "nginx.yaml"))


def test_converted_it_is_accepted_and_its_pods_are_bound_together(
    groups: ControlPlane, tmp_path: Path
) -> None:
    assert kubectl(groups, "apply", "-k", str(EXAMPLE)) == ""
    assert kubectl(groups, "delete", "pod", "nginx-3", "--now") == ""
    with replica(tmp_path, "one", groups.kubeconfig) as one:
        groups.create(node("n1"))
        wait_for(lambda: _status(groups).get("phase") == "Pending", f"not told; see {one.log}")
        time.sleep(1)
        assert bound(groups) == 0
        assert kubectl(groups, "apply", "-k", str(EXAMPLE)) == ""
        wait_for(lambda: bound(groups) == 3, f"not bound; see {one.log}")
        wait_for(lambda: _status(groups).get("phase") == "Scheduled", f"see {one.log}")
