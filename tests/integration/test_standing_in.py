"""Moorage stands in for the real kube-scheduler while that is down, and gives its pods back."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration import auditing
from tests.integration.control_plane import ControlPlane, free_ports
from tests.integration.harness import configuration, replica
from tests.integration.making import OURS, node, pod
from tests.integration.recording import Recorded, recorded

pytestmark = pytest.mark.kube

THEIRS = "default-scheduler"
LEASE = {
    "leaderElect": True,
    "leaseDuration": "5s",
    "renewDeadline": "4s",
    "retryPeriod": "1s",
    "resourceName": "kube-scheduler",
    "resourceNamespace": "kube-system",
}
"""Shorter than kube's: the test waits for it to expire."""
STAND_IN = {"schedulerName": OURS, "standInFor": [{"schedulerName": THEIRS}]}
PODS = 20
PATIENCE = 60


@contextlib.contextmanager
def kube_scheduler(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """The real one, with a lease; killed at the end."""
    (port,) = free_ports(1)
    kubeconfig = str(plane.kubeconfig_of("kube-scheduler"))
    config = configuration(
        profiles=[{"schedulerName": THEIRS}],
        leaderElection=LEASE,
        clientConnection={"kubeconfig": kubeconfig, "qps": 1000, "burst": 1000},
    )
    file = folder / "kube-scheduler.yaml"
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
        yield
    finally:
        plane.end("kube-scheduler", signal.SIGKILL)


class Batches:
    """Pods of the other scheduler, a batch at a time, until all of a batch are bound."""

    def __init__(self, plane: ControlPlane, record: Recorded) -> None:
        self._plane = plane
        self._record = record

    def bound(self, name: str) -> None:
        names = [f"{name}{i}" for i in range(PODS)]
        self._plane.create(*(pod(one, scheduler=THEIRS, cpu="10m") for one in names))
        self._record.until(
            lambda record: set(names) <= set(record.placed), f"{name}: not all bound", PATIENCE
        )


def test_kube_scheduler_is_killed_and_comes_back(own_plane: ControlPlane, tmp_path: Path) -> None:
    """Who bound which pods is read from the audit log of the API server."""
    since = auditing.position(own_plane.home)
    own_plane.create(*(node(f"n{i}", cpu="8", pods=110) for i in range(3)))
    with (
        recorded(own_plane) as record,
        replica(
            tmp_path, "one", own_plane.kubeconfig_of("moorage"), profiles=[STAND_IN]
        ) as moorage,
    ):
        batches = Batches(own_plane, record)
        with kube_scheduler(own_plane, tmp_path):
            batches.bound("before")
        batches.bound("meanwhile")
        moorage.says(f"profile {OURS} takes the pods of {THEIRS}")
        with kube_scheduler(own_plane, tmp_path):
            moorage.says(f"profile {OURS} gives back the pods of {THEIRS}", PATIENCE)
            batches.bound("after")
        moorage.send(signal.SIGUSR2)
        moorage.says("cache compared")
        assert "cache mismatch" not in moorage.said
        moorage.send(signal.SIGTERM)
        assert moorage.wait() == 0

    assert len(record.bindings) == len(record.placed) == 3 * PODS
    bound = {
        (request.name.rstrip("0123456789"), user)
        for user in ("moorage", "kube-scheduler")
        for request in auditing.asked(own_plane.home, user, since)
        if request.resource == "pods/binding" and request.status < 300
    }
    theirs, ours = "kube-scheduler", "moorage"
    assert bound == {("before", theirs), ("meanwhile", ours), ("after", theirs)}
    found = own_plane.request("GET", "/apis/events.k8s.io/v1/namespaces/kube-system/events")
    reasons = [e["reason"] for e in found["items"] if e["reportingController"] == OURS]
    assert sorted(reasons) == ["GivenBack", "StandingIn"]
