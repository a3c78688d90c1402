"""docs/plugins.md to its end: the rule runs on a cluster, each command as it stands."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.deploy.tools import program
from tests.docs.pages import DOCS, ROOT
from tests.docs.reader import clone, environment, follow, steps
from tests.integration.control_plane import ControlPlane
from tests.integration.kubelet import Kubelet

pytestmark = pytest.mark.kube

TUTORIAL = DOCS / "plugins.md"
ZONES = {**{f"east-{at}": "east" for at in range(4)}, "west-1": "west", "north-1": "north"}


def node(name: str, zone: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
    }


def test_the_rule_runs_on_a_cluster(own_plane: ControlPlane, tmp_path: Path) -> None:
    """What is installed is that of the test: tests/docs/test_followed.py installs it."""
    (tools := tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tests" / "docs" / "docker.py", tools / "docker")
    (tools / "docker").chmod(0o755)
    (tools / "kubectl").symlink_to(program("kubectl"))
    images = tmp_path / "images"
    given = environment(
        tmp_path / "home",
        tools,
        Path(sys.executable).parent,
        DOCKER_IMAGES=str(images),
        KUBECONFIG=str(own_plane.kubeconfig),
    )
    own_plane.create(*(node(name, zone) for name, zone in ZONES.items()))
    kubelet = Kubelet(own_plane, tmp_path / "kubelet", images)
    typed = steps(TUTORIAL, "## 1. A rule", "## Without a clone")

    with kubelet.running("moorage-system", "moorage"):
        told = follow(typed, clone(tmp_path / "moorage"), given)

    assert kubelet.complaint == ""
    assert (
        "successfully rolled out"
        in told["kubectl -n moorage-system rollout status deployment/moorage"]
    )
    assert "west-1" in told["kubectl get pod web -o wide"]
    pushed = [line for line in images.read_text().splitlines() if line.startswith("pushed ")]
    assert len(pushed) == 2, "Moorage, and Moorage with the package"
