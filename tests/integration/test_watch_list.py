"""What is listed by a watch (WatchList), and what is listed and then watched, on an etcd of today.

kube-scheduler asks for the objects that are there as the first events of a watch; Moorage lists
and watches. Both work on the same API server, as kubeadm starts etcd and without what it sets.
"""

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.perf import module
from tests.integration import auditing
from tests.integration.control_plane import ROOT, ControlPlane
from tests.integration.harness import replica, wait_for
from tests.integration.making import OURS, Raw, node, pod
from tests.integration.test_beside_kube_scheduler import THEIRS, kube_scheduler, listed

pytestmark = pytest.mark.kube

GO_MOD = ROOT / "tests/kube/etcd/go.mod"
INITIAL = (
    "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
)
END = "k8s.io/initial-events-end"


@pytest.fixture
def plain_etcd(programs: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane whose etcd tells of its progress only when it is asked."""
    with ControlPlane(programs, tmp_path / "plain", etcd_flags=()) as plane:
        yield plane


def initial_events(plane: ControlPlane, path: str) -> list[Raw]:
    """The events of a watch up to the bookmark that ends those of what is there."""
    found: list[Raw] = []
    with contextlib.closing(plane.connect()) as connection:
        headers = {"Authorization": f"Bearer {plane.token}"}
        connection.request("GET", f"{path}?{INITIAL}", headers=headers)
        for line in connection.getresponse():
            found.append(json.loads(line))
            if found[-1]["type"] == "BOOKMARK" and END in _annotations(found[-1]):
                return found
    raise AssertionError(f"the watch ended after {[event['type'] for event in found]}")


def _annotations(event: Raw) -> dict[str, Any]:
    annotations: dict[str, Any] = event["object"]["metadata"].get("annotations", {})
    return annotations


def bound(plane: ControlPlane) -> set[str]:
    return {p["metadata"]["name"] for p in listed(plane) if p["spec"].get("nodeName")}


def reads(plane: ControlPlane, user: str, resource: str) -> set[tuple[str, bool]]:
    """How a user got to know a resource: the verbs, and whether by initial events."""
    return {
        (each.verb, "sendInitialEvents=true" in each.uri)
        for each in auditing.asked(plane.home, user)
        if each.resource == resource and each.status == auditing.OK
    }


def both_schedule(plane: ControlPlane, folder: Path) -> None:
    """kube-scheduler by WatchList and Moorage by list and watch, what is there and what comes."""
    plane.create(node("n1"), node("n2"))
    plane.create(pod("theirs", scheduler=THEIRS), pod("ours", scheduler=OURS))
    config = plane.kubeconfig_of("moorage")
    with kube_scheduler(plane, folder), replica(folder, "one", config):
        wait_for(lambda: bound(plane) == {"theirs", "ours"}, "what is there is not bound")
        plane.create(pod("theirs-2", scheduler=THEIRS), pod("ours-2", scheduler=OURS))
        wait_for(lambda: len(bound(plane)) == 4, "what came is not bound")

    for resource in ("pods", "nodes"):
        assert reads(plane, "kube-scheduler", resource) == {("watch", True)}
        assert reads(plane, "moorage", resource) >= {("list", False), ("watch", False)}


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go, which knows where kubeadm is")
def test_the_etcd_that_is_built_is_the_one_that_kubeadm_starts() -> None:
    constants = module.sources() / "cmd/kubeadm/app/constants/constants.go"
    theirs = re.findall(r'\bDefaultEtcdVersion = "([\d.]+)-\d+"', constants.read_text())
    ours = re.findall(r"^require go.etcd.io/etcd/server/v3 v(\S+)$", GO_MOD.read_text(), re.M)

    assert len(theirs) == 1
    assert ours == theirs


def test_a_watch_begins_with_what_is_there(plane: ControlPlane) -> None:
    plane.create(node("n1"), node("n2"))

    *added, end = initial_events(plane, "/api/v1/nodes")

    assert sorted(each["object"]["metadata"]["name"] for each in added) == ["n1", "n2"]
    assert {each["type"] for each in added} == {"ADDED"}
    assert _annotations(end) == {END: "true"}


def test_kube_scheduler_and_moorage_read_the_same_cluster(
    own_plane: ControlPlane, tmp_path: Path
) -> None:
    both_schedule(own_plane, tmp_path)


def test_etcd_need_not_be_started_as_kubeadm_starts_it(
    plain_etcd: ControlPlane, tmp_path: Path
) -> None:
    both_schedule(plain_etcd, tmp_path)
