"""Moorage and kube-scheduler on the same nodes: each to its own, nothing overcommitted.

PODS is how many pods there are, of both owners (MOORAGE_BESIDE_PODS; 2,000 for a thorough run).
"""

import contextlib
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import configuration, replica, scheduled_condition, wait_for
from tests.integration.making import OURS, Raw, node, pod

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

PODS = int(os.environ.get("MOORAGE_BESIDE_PODS", "400"))
THEIRS = "default-scheduler"
NODES = 20
CPU = 8000


@contextlib.contextmanager
def kube_scheduler(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """The real one, with its default configuration."""
    (port,) = free_ports(1)
    file = folder / "kube-scheduler.yaml"
    config = configuration(
        profiles=[{"schedulerName": THEIRS}],
        clientConnection={"kubeconfig": str(plane.kubeconfig), "qps": 10_000, "burst": 10_000},
    )
    file.write_text(yaml.safe_dump(config))
    plane.run(
        "kube-scheduler",
        f"--config={file}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--authentication-kubeconfig={plane.kubeconfig}",
        f"--authorization-kubeconfig={plane.kubeconfig}",
    )
    try:
        yield
    finally:
        plane.end("kube-scheduler", signal.SIGKILL)


def listed(plane: ControlPlane) -> list[Raw]:
    found: list[Raw] = plane.request("GET", "/api/v1/pods")["items"]
    return found


def events(plane: ControlPlane, reason: str) -> list[Raw]:
    found = plane.request("GET", "/apis/events.k8s.io/v1/events")["items"]
    return [event for event in found if event["reason"] == reason]


def settled(plane: ControlPlane) -> list[Raw] | None:
    """All pods, once each of them is bound or told why not."""
    pods = listed(plane)
    waiting = [p for p in pods if not p["spec"].get("nodeName") and not scheduled_condition(p)]
    return None if waiting else pods


def millis(pod: Raw) -> int:
    text: str = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return int(text.removesuffix("m"))


def test_no_node_is_overcommitted_and_nobody_touches_the_others_pods(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Three quarters of the room are taken by both at once; then each fills what the other left.

    The last of the room is not given out by both at once: what another scheduler is about to bind
    nobody can see.
    """
    plane.create(*(node(f"n{i}", cpu=f"{CPU}m", pods=400) for i in range(NODES)))
    size = NODES * CPU * 3 // (4 * PODS)
    with (
        kube_scheduler(plane, tmp_path),
        replica(tmp_path, "one", plane.kubeconfig) as one,
    ):
        for name, owners, count in (
            ("mixed", (OURS, THEIRS), PODS),
            ("theirs", (THEIRS,), PODS // 5),
            ("ours", (OURS,), PODS // 5),
        ):
            plane.create(
                *(
                    pod(f"{name}{i}", scheduler=owners[i % len(owners)], cpu=f"{size + i % 3}m")
                    for i in range(count)
                )
            )
            found = wait_for(lambda: settled(plane), f"pods wait untold; see {one.log}", 120)
        one.send(signal.SIGUSR2)
        one.says("cache compared")
        assert "cache mismatch" not in one.said
        one.send(signal.SIGTERM)
        assert one.wait() == 0

    used: Counter[str] = Counter()
    bound: Counter[str] = Counter()
    for each in found:
        if each["spec"].get("nodeName"):
            used[each["spec"]["nodeName"]] += millis(each)
            bound[each["metadata"]["name"].rstrip("0123456789")] += 1
    assert bound["mixed"] == PODS
    assert bound["theirs"] == PODS // 5
    assert 0 < bound["ours"] < PODS // 5
    assert all(CPU - size - 2 <= cpu <= CPU for cpu in used.values()), used
    owners_of = {p["metadata"]["name"]: p["spec"]["schedulerName"] for p in found}
    for event in events(plane, "Scheduled"):
        assert event["reportingController"] == owners_of[event["regarding"]["name"]]


ZONES = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
TAINT = {"key": "team", "value": "x", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    "asks",
    [
        pytest.param({"cpu": "64"}, id="too large for any node"),
        pytest.param({"nodeSelector": {"pool": "gpu"}}, id="no node matches the selector"),
        pytest.param({"cpu": "3"}, id="no room left, and nobody less important"),
        pytest.param({"topologySpreadConstraints": [ZONES]}, id="no zone to spread over"),
        pytest.param({"cpu": "3", "priorityClassName": "high"}, id="room can be made"),
        pytest.param({"schedulingGates": [{"name": "wait"}]}, id="a gate holds it back"),
    ],
)
def test_both_say_the_same_of_a_pod_that_is_not_bound(
    plane: ControlPlane, tmp_path: Path, asks: dict[str, Any]
) -> None:
    with replica(tmp_path, "one", plane.kubeconfig):
        ours = said_of(plane, OURS, asks)
    plane.clear()
    with kube_scheduler(plane, tmp_path):
        theirs = said_of(plane, THEIRS, asks)

    assert ours == theirs


def said_of(plane: ControlPlane, owner: str, asks: dict[str, Any]) -> dict[str, Any]:
    """What becomes of a pod where it does not fit, and of the pod that is in its way.

    That pod has time to end and nobody to end it, so it stays while it is being deleted.
    """
    way = pod("there", scheduler="x", cpu="1500m", nodeName="n1", terminationGracePeriodSeconds=30)
    plane.create(node("n1", cpu="4"), node("n2", cpu="4", taints=[TAINT]), node("n3", cpu="2"))
    plane.create(_priority(), way)
    plane.create(pod("web", scheduler=owner, labels={"app": "web"}, **asks))
    wait_for(lambda: _told(plane), f"{owner} says nothing")
    if "schedulingGates" not in asks:
        wait_for(lambda: events(plane, "FailedScheduling"), f"no event by {owner}")
    if "priorityClassName" in asks:
        wait_for(lambda: events(plane, "Preempted"), f"nobody preempted by {owner}")
    pods = {each["metadata"]["name"]: each for each in listed(plane)}
    found = [e for why in ("FailedScheduling", "Preempted") for e in events(plane, why)[:1]]
    return {
        "condition": _fields(scheduled_condition(pods["web"]), "status", "reason", "message"),
        "nominated": pods["web"]["status"].get("nominatedNodeName"),
        "events": [_fields(e, "reason", "type", "action") for e in found],
        "notes": [e["note"].replace(pods["web"]["metadata"]["uid"], "<uid>") for e in found],
        "victim": [
            _fields(condition, "type", "status", "reason", "message")
            for condition in pods["there"]["status"].get("conditions", ())
        ],
    }


def _fields(raw: Raw, *names: str) -> list[str]:
    return [str(raw.get(name)).replace(OURS, "<us>").replace(THEIRS, "<us>") for name in names]


def _told(plane: ControlPlane) -> bool:
    return any(
        scheduled_condition(each).get("message")
        for each in listed(plane)
        if each["metadata"]["name"] == "web"
    )


def _priority() -> Raw:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
