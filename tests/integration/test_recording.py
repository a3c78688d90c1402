"""`moorage run --record` on a real API server: preemption, gangs and an extender, replayed."""

import signal
from pathlib import Path

import pytest

from moorage.recording.entries import Attempt, Refused
from moorage.recording.play import Player
from moorage.recording.segments import Recording
from tests.extending import extender
from tests.integration.control_plane import ControlPlane
from tests.integration.grouping import group, install, members, shipped
from tests.integration.harness import replica, wait_for
from tests.integration.making import Raw, node, pod, priority_class

pytestmark = [pytest.mark.kube, pytest.mark.timeout(240)]


def bound(plane: ControlPlane) -> set[str]:
    listed = plane.request("GET", "/api/v1/pods")["items"]
    return {each["metadata"]["name"] for each in listed if each["spec"].get("nodeName")}


def not_c(asked: Raw) -> Raw:
    """An extender that keeps pods off a node."""
    names = [name for name in asked["NodeNames"] if name != "c"]
    return {
        "NodeNames": names,
        "FailedNodes": {"c": "not there"} if "c" in asked["NodeNames"] else {},
    }


def test_a_run_with_everything_is_replayed(plane: ControlPlane, tmp_path: Path) -> None:
    install(plane, shipped("podgroups"))
    plane.create(priority_class("high", 1000), *(node(name) for name in "abc"))
    folder = tmp_path / "recording"
    with extender(filter=not_c) as fake:
        asked: Raw = {"extenders": [fake.config()], "podMaxBackoffSeconds": 1}
        with replica(tmp_path, "one", plane.kubeconfig, "--record", str(folder), **asked) as one:
            plane.create(*(pod(f"web-{i}") for i in range(10)))
            plane.create(group("train", 3), *members("train", 3, "500m"))
            plane.create(group("large", 9), *members("large", 9, "3"))
            wanted = {*(f"web-{i}" for i in range(10)), *(f"train-{i}" for i in range(3))}
            wait_for(lambda: wanted <= bound(plane), f"not all bound; see {one.log}")
            plane.create(pod("vip", cpu="3500m", priorityClassName="high"))
            wait_for(lambda: "vip" in bound(plane), f"no room was made; see {one.log}")
            one.send(signal.SIGTERM)
            assert one.wait() == 0, one.said
    assert "keep it as you keep secrets" in one.said
    attempts = [each for each in Recording(folder).entries() if isinstance(each, Attempt)]

    played = Player(folder).play()

    assert played.divergence is None, played.divergence
    assert played.attempts == len(attempts) >= 15
    assert any(each.answers for each in attempts), "the extender was asked"
    assert any(not each.makes_room for each in attempts), "a gang was tried"
    victims = [
        each for each in attempts if isinstance(each.outcome, Refused) and each.outcome.victims
    ]
    assert victims, "somebody was evicted"
