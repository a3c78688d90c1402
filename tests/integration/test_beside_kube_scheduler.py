"""Moorage and kube-scheduler on the same nodes: each to its own, nothing overcommitted."""

import contextlib
import functools
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration import auditing
from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import configuration, replica, scheduled_condition, wait_for
from tests.integration.making import OURS, Raw, node, pod, priority_class
from tests.integration.recording import Recorded, recorded

pytestmark = pytest.mark.kube

PODS = 2000
"""How many there are of both owners at once."""
LARGE = 100
"""How many of each owner then fill what is left."""
THEIRS = "default-scheduler"
NODES = 20
CPU = 32_000
READS = {"get", "list", "watch"}


@contextlib.contextmanager
def kube_scheduler(plane: ControlPlane, folder: Path) -> Iterator[int]:
    """The real one, with its default configuration; the answer is the port it listens on."""
    (port,) = free_ports(1)
    file = folder / "kube-scheduler.yaml"
    kubeconfig = str(plane.kubeconfig_of("kube-scheduler"))
    config = configuration(
        profiles=[{"schedulerName": THEIRS}],
        clientConnection={"kubeconfig": kubeconfig, "qps": 10_000, "burst": 10_000},
    )
    file.write_text(yaml.safe_dump(config))
    plane.run(
        "kube-scheduler",
        f"--config={file}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
    )
    try:
        yield port
    finally:
        plane.end("kube-scheduler", signal.SIGKILL)


def listed(plane: ControlPlane) -> list[Raw]:
    found: list[Raw] = plane.request("GET", "/api/v1/pods")["items"]
    return found


def events(plane: ControlPlane, reason: str) -> list[Raw]:
    found = plane.request("GET", "/apis/events.k8s.io/v1/events")["items"]
    return [event for event in found if event["reason"] == reason]


def millis(pod: Raw) -> int:
    text: str = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return int(text.removesuffix("m"))


def sized(name: str, owners: tuple[str, ...], count: int, cpu: int) -> list[Raw]:
    """Pods of each owner in turn, of nearly one size."""
    return [
        pod(f"{name}{i}", scheduler=owners[i % len(owners)], cpu=f"{cpu + i % 3}m")
        for i in range(count)
    ]


def settled(record: Recorded, last: str) -> bool:
    """Whether each pod, up to the last, is bound or has been told why not."""
    return last in record.pods and all(
        found["spec"].get("nodeName") or scheduled_condition(found)
        for found in record.pods.values()
    )


def fullest(record: Recorded) -> tuple[Counter[str], Counter[str]]:
    """What is used of each node at the end, and the most that ever was, at any moment."""
    used: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for found, name in record.bindings:
        used[name] += millis(found)
        most[name] = max(most[name], used[name])
    return used, most


def test_no_node_is_overcommitted_and_nobody_touches_the_others_pods(
    own_plane: ControlPlane, tmp_path: Path
) -> None:
    """Three quarters of the room are taken by both at once; then each fills what the other left.

    The last of the room is not given out by both at once: what another scheduler is about to bind
    nobody can see. What nodes hold is counted in the order in which the API server bound the pods;
    who wrote what is read from its audit log.
    """
    own_plane.create(*(node(f"n{i}", cpu=f"{CPU}m", pods=400) for i in range(NODES)))
    size = NODES * CPU * 3 // (4 * PODS)
    since = auditing.position(own_plane.home)
    with (
        recorded(own_plane) as record,
        kube_scheduler(own_plane, tmp_path),
        replica(tmp_path, "one", own_plane.kubeconfig_of("moorage")) as one,
    ):
        for pods in (
            sized("mixed", (OURS, THEIRS), PODS, size),
            sized("theirs", (THEIRS,), LARGE, 4 * size),
            sized("ours", (OURS,), LARGE, 4 * size),
        ):
            own_plane.create(*pods)
            last = pods[-1]["metadata"]["name"]
            record.until(
                functools.partial(settled, last=last), f"pods wait untold; see {one.log}", 240
            )
        one.send(signal.SIGUSR2)
        one.says("cache compared")
        assert "cache mismatch" not in one.said
        one.send(signal.SIGTERM)
        assert one.wait() == 0

    used, most = fullest(record)
    assert max(most.values()) <= CPU, most
    assert min(used.values()) > CPU - 4 * size - 2, used
    bound = Counter(name.rstrip("0123456789") for name in record.placed)
    assert (bound["mixed"], bound["theirs"]) == (PODS, LARGE)
    assert 0 < bound["ours"] < LARGE
    assert len(record.bindings) == len(record.placed)
    each_to_its_own(own_plane, record, since)


def each_to_its_own(plane: ControlPlane, record: Recorded, since: int) -> None:
    """Who wrote to which pods, and who says to have placed them."""
    owners = {name: found["spec"]["schedulerName"] for name, found in record.pods.items()}
    wrote: Counter[tuple[str, str]] = Counter()
    for user, scheduler in (("moorage", OURS), ("kube-scheduler", THEIRS)):
        for request in auditing.asked(plane.home, user, since):
            if request.resource.startswith("pods") and request.verb not in READS:
                assert owners[request.name] == scheduler, request
                assert request.status < 300, request
                wrote[scheduler, request.resource] += 1
    counts = Counter(owners[name] for name in record.placed)
    assert wrote[OURS, "pods/binding"] == counts[OURS]
    assert wrote[THEIRS, "pods/binding"] == counts[THEIRS]
    for event in events(plane, "Scheduled"):
        assert event["reportingController"] == owners[event["regarding"]["name"]]


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
    plane.create(priority_class("high", 1000), way)
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
