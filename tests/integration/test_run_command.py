"""`moorage run` as a process: it schedules, ends in good order, and says what is wrong."""

import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import replica, wait_for
from tests.integration.making import node, pod

pytestmark = pytest.mark.kube

LEASE = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases/moorage-test"
ELECTION = {
    "leaderElect": True,
    "resourceName": "moorage-test",
    "leaseDuration": "4s",
    "renewDeadline": "3s",
    "retryPeriod": "500ms",
}


def placed(plane: ControlPlane) -> dict[str, str]:
    """Where pods are, by name."""
    listed = plane.request("GET", "/api/v1/pods")["items"]
    found = {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in listed}
    return {name: where for name, where in found.items() if where}


def events(plane: ControlPlane, reason: str) -> list[dict[str, Any]]:
    listed = plane.request("GET", "/apis/events.k8s.io/v1/events")["items"]
    return [event for event in listed if event["reason"] == reason]


def test_it_schedules_until_told_to_stop_and_releases_its_lease(
    plane: ControlPlane, tmp_path: Path
) -> None:
    plane.create(node("n1"), *(pod(f"p{i}") for i in range(20)))
    with replica(tmp_path, "one", plane.kubeconfig, leaderElection=ELECTION) as one:
        wait_for(lambda: len(placed(plane)) == 20, f"not all bound; see {one.log}")
        assert plane.request("GET", LEASE)["spec"]["holderIdentity"] in one.said
        one.send(signal.SIGTERM)

        assert one.wait() == 0
    assert plane.request("GET", LEASE)["spec"]["holderIdentity"] == ""
    assert len(events(plane, "Scheduled")) == 20
    assert {event["regarding"]["kind"] for event in events(plane, "LeaderElection")} == {"Lease"}


def test_what_is_being_bound_is_finished_before_it_ends(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Every binding that was begun is made, and its event sent."""
    plane.create(node("n1", cpu="64", pods=500))
    slow = {"qps": 40, "burst": 40}
    with replica(tmp_path, "one", plane.kubeconfig, clientConnection=slow) as one:
        plane.create(*(pod(f"p{i}") for i in range(80)))
        wait_for(lambda: len(placed(plane)) >= 10, f"none bound; see {one.log}")
        one.send(signal.SIGTERM)

        assert one.wait() == 0
    assert len(events(plane, "Scheduled")) == len(placed(plane))


def test_a_pod_that_cannot_be_read_stops_nobody_else(plane: ControlPlane, tmp_path: Path) -> None:
    """The API server stores more digits than Python reads; such a pod is left out, and said."""
    plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "evil"}})
    long = "9" * 4_400
    plane.create(
        node("n1"),
        pod("theirs", namespace="evil", scheduler="another", memory=long),
        pod("ours", namespace="evil", memory=long),
        pod("victim"),
    )
    assert len(_memory_of(plane, "evil", "theirs")) == 4_400

    with replica(tmp_path, "one", plane.kubeconfig) as one:
        wait_for(lambda: placed(plane) == {"victim": "n1"}, f"not bound; see {one.log}")
        plane.create(pod("later", namespace="evil", memory=long), pod("second"))
        wait_for(lambda: "second" in placed(plane), f"not bound; see {one.log}")

        for name in ("theirs", "later"):
            one.says(f"an object of pods is left out: Pod evil/{name}")
            assert one.said.count(f"an object of pods is left out: Pod evil/{name}") == 1
    assert placed(plane) == {"victim": "n1", "second": "n1"}


def _memory_of(plane: ControlPlane, namespace: str, name: str) -> str:
    found = plane.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
    return str(found["spec"]["containers"][0]["resources"]["requests"]["memory"])


def test_on_sigusr2_it_tells_what_it_believes(plane: ControlPlane, tmp_path: Path) -> None:
    plane.create(node("n1"), pod("web"), pod("big", cpu="100"))
    with replica(tmp_path, "one", plane.kubeconfig) as one:
        wait_for(lambda: placed(plane), f"not bound; see {one.log}")
        one.says("Unschedulable")
        one.send(signal.SIGUSR2)
        one.says("cache compared")

        assert "node n1: cpu 100/4000" in one.said
        assert "pod default/big: unschedulable, 1 attempts, refused by NodeResourcesFit" in one.said
        assert "cache mismatch" not in one.said


def test_an_api_server_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(_kubeconfig(f"http://127.0.0.1:{port}")))
    with replica(tmp_path, "one", kubeconfig) as one:
        one.says("Connection refused")
        one.send(signal.SIGTERM)

        assert one.wait() == 0


def _kubeconfig(url: str) -> dict[str, Any]:
    return {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "me"}}],
    }
