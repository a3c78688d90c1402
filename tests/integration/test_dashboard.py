"""The dashboard of a scheduler on a real API server: who sees it, what it shows, what it writes."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.control_plane import LOOPBACK, ControlPlane, Refused, free_ports
from tests.integration.harness import wait_for
from tests.integration.making import node, pod
from tests.integration.test_preemption import priority
from tests.integration.test_running_moorage import request
from tests.integration.test_serving import get, placed, serving

pytestmark = pytest.mark.kube

VIEWER = Path(__file__).parents[2] / "deploy" / "components" / "dashboard" / "viewer.yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def versions(plane: ControlPlane) -> dict[str, str]:
    """The versions of all pods and nodes: whoever writes any changes one."""
    found = {}
    for plural in ("nodes", "pods"):
        for each in plane.request("GET", f"/api/v1/{plural}")["items"]:
            meta = each["metadata"]
            found[f"{plural}/{meta['name']}"] = meta["resourceVersion"]
    return found


@pytest.fixture
def token(plane: ControlPlane) -> Iterator[str]:
    """The token of an account that may do nothing yet; what it was given is taken back."""
    yield _token(plane)
    plane.request("DELETE", "/api/v1/namespaces/default/serviceaccounts/viewer")
    with suppress(Refused):  # nothing was given, where the test is left out
        plane.request("DELETE", f"{RBAC}/clusterrolebindings/dashboard-viewer")
        plane.request("DELETE", f"{RBAC}/clusterroles/moorage-dashboard-viewer")


def _token(plane: ControlPlane) -> str:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer"}}
    plane.request("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    path = "/api/v1/namespaces/default/serviceaccounts/viewer/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token: str = plane.request("POST", path, asked)["status"]["token"]
    return token


def may_look(plane: ControlPlane) -> None:
    """The viewer gets the role that is shipped."""
    plane.request("POST", f"{RBAC}/clusterroles", yaml.safe_load(VIEWER.read_text()))
    plane.request(
        "POST",
        f"{RBAC}/clusterrolebindings",
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "dashboard-viewer"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "moorage-dashboard-viewer",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}],
        },
    )


def test_a_shadow_shows_the_cluster_and_writes_nothing(plane: ControlPlane, tmp_path: Path) -> None:
    plane.create(node("n1"), node("n2"))
    untouched = versions(plane)
    (port,) = free_ports(1)
    words = ["shadow", "--kubeconfig", str(plane.kubeconfig), "--dashboard", f"--http-port={port}"]
    url = f"http://{LOOPBACK}:{port}/dashboard/api"

    def view(path: str) -> Any:
        with suppress(OSError), urllib.request.urlopen(f"{url}/{path}", timeout=30) as answer:
            return json.loads(answer.read())

    with open(tmp_path / "log", "wb") as log:
        running = subprocess.Popen([sys.executable, "-m", "moorage", *words], stderr=log)
    with running:
        cluster = wait_for(
            lambda: (view("cluster") or {}).get("nodes", {}).get("name") and view("cluster"),
            f"nothing to see; {tmp_path / 'log'}",
        )
        about, health = view("about"), view("health")
        running.send_signal(signal.SIGINT)

    assert about["mode"] == "shadow"
    assert sorted(cluster["nodes"]["name"]) == ["n1", "n2"]
    assert {each["resource"] for each in health["watches"]} >= {"pods", "nodes"}
    assert versions(plane) == untouched


def test_who_may_see_it_sees_it_and_nothing_is_written(
    plane: ControlPlane, token: str, tmp_path: Path
) -> None:
    plane.create(node("n1"), node("n2"), pod("web", cpu="1"), pod("huge", cpu="64"))
    (plain,) = free_ports(1)
    flags = ("--dashboard", "--enable-explain", f"--http-port={plain}")
    with serving(tmp_path, plane.kubeconfig, *flags) as (_, port):

        def view(path: str) -> Any:
            found = get(port, f"/dashboard/api/{path}", token)
            assert found.status == 200, found.text
            return json.loads(found.text)

        wait_for(lambda: placed(plane) == {"web"}, "not bound")
        before = get(port, "/dashboard/api/cluster", token).status
        anonymous = get(port, "/dashboard/api/about").status
        files = get(port, "/dashboard/").status
        may_look(plane)
        wait_for(lambda: get(port, "/dashboard/api/about", token).status == 200, "never let in")
        untouched = versions(plane)
        cluster, queue, told = view("cluster"), view("queue"), view("decisions")
        story, health = view("pod/default/huge?explain=1"), view("health")
        verdicts = view("cluster?pod=default/huge")["verdicts"]
        metrics = get(port, "/metrics", token).status
        with request(port, "GET", "/dashboard/api/stream?views=decisions", token) as stream:
            plane.create(pod("late", cpu="1"))
            line = b""
            while b"default/late" not in line:
                line = stream.readline()

    assert (before, anonymous, metrics, files) == (403, 403, 403, 200)
    assert sorted(cluster["nodes"]["name"]) == ["n1", "n2"]
    assert sum(cluster["nodes"]["pods"]) == 1
    assert [each["pod"] for each in queue["items"]] == ["default/huge"]
    assert {each["pod"] for each in told["items"]} == {"default/web", "default/huge"}
    assert story["explanation"]["changes"]
    assert verdicts[1]["text"] == "Insufficient cpu"
    assert {each["resource"] for each in health["watches"]} >= {"pods", "nodes"}
    assert all(each["ok"] for each in health["checks"])
    assert health["api"]["p50_ms"] > 0
    assert {name: versions(plane).get(name) for name in untouched} == untouched


def test_a_running_scheduler_tells_who_left_for_whom_and_who_leads(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plane.create(node("n1", cpu="2"), priority("high", 1000))
    plane.create(pod("small", cpu="2", scheduler="nobody", nodeName="n1"))
    (plain,) = free_ports(1)
    election = {"leaderElect": True, "resourceNamespace": "default", "resourceName": "shown"}
    flags = ("--dashboard", f"--http-port={plain}")
    with serving(tmp_path, plane.kubeconfig, *flags, leaderElection=election) as (one, _):

        def view(path: str) -> Any:
            url = f"http://{LOOPBACK}:{plain}/dashboard/api/{path}"
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.loads(answer.read())

        plane.create(pod("vip", cpu="2", priorityClassName="high"))
        wait_for(lambda: placed(plane) == {"vip"}, f"not bound; see {one.log}")
        vip, small, leader = view("pod/default/vip"), view("pod/default/small"), view("health")

    assert [(each["pod"], each["node"]) for each in vip["victims"]] == [("default/small", "n1")]
    assert small["state"] == "gone"
    assert [(each["by"], each["by_priority"], each["way"]) for each in small["left_for"]] == [
        ("default/vip", 1000, "deletion")
    ]
    assert leader["leader"]["leading"] is True
    assert leader["leader"]["holder"] == leader["leader"]["identity"]
    assert leader["leader"]["lease"] == "default/shown"
    assert 0 < leader["leader"]["left_s"] <= 15
