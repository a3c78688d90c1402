"""Moorage asks extenders on a real API server, and does what kube-scheduler does with them."""

import hashlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.extending import FakeExtender, extender
from tests.integration.control_plane import ControlPlane
from tests.integration.extending import THEIRS, condition, kube_scheduler, node_of, placed, pods
from tests.integration.harness import replica, wait_for
from tests.integration.making import OURS, Raw, node, pod

pytestmark = [pytest.mark.kube, pytest.mark.timeout(240)]

THING = "example.com/thing"


def only_b(asked: Raw) -> Raw:
    return {"NodeNames": [name for name in asked["NodeNames"] if name == "b"]}


@pytest.mark.parametrize("how", ["killed", "slow"])
def test_moorage_waits_for_an_extender_that_counts_and_goes_on_without_one_that_does_not(
    plane: ControlPlane, tmp_path: Path, how: str
) -> None:
    plane.create(node("a", cpu="64"), node("b"))
    with extender(filter=only_b) as fake:
        url: Raw = {"extenders": [fake.config(httpTimeout="500ms")], "podMaxBackoffSeconds": 1}
        with replica(tmp_path, "counts", plane.kubeconfig, **url):
            plane.create(pod("before"))
            assert placed(plane, "before") == {"before": "b"}
            break_it(fake, how)
            plane.create(pod("waits"))
            told = condition(plane, "waits")
            assert told["reason"] == "SchedulerError"
            assert "/filter" in told["message"]
            assert node_of(plane, "waits") == ""
            if how == "slow":
                fake.delay = 0.0
                assert placed(plane, "waits") == {"waits": "b"}
        may_be = {"extenders": [fake.config(httpTimeout="500ms", ignorable=True)]}
        break_it(fake, how)
        with replica(tmp_path, "ignorable", plane.kubeconfig, **may_be) as on:
            plane.create(pod("goes-on", cpu="60"))
            assert placed(plane, "goes-on") == {"goes-on": "a"}
            plane.create(pod("last"))
            on.send(signal.SIGTERM)
            assert on.wait() == 0, on.said


def break_it(fake: FakeExtender, how: str) -> None:
    if how == "killed":
        fake.stop()
    else:
        fake.delay = 30.0


def draw(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:4])


def rolled(pod: Raw, names: list[str]) -> list[str]:
    """Some of the nodes, in an order that is the pod's own."""
    name = pod["metadata"]["name"]
    order = sorted(names, key=lambda node: draw(name, node))
    return order[: 2 + draw(name) % 8]


def roll_filter(asked: Raw) -> Raw:
    """Lets some nodes pass; of the others some are refused aloud, for good or not."""
    kept = rolled(asked["Pod"], asked["NodeNames"])
    if asked["Pod"]["metadata"]["name"].startswith("none"):
        kept = []
    refused = [name for name in asked["NodeNames"] if name not in kept]
    aloud = {name: "not this one" for name in refused if draw(name) % 3 == 0}
    good = {name: "never this one" for name in refused if draw(name) % 3 == 1}
    return {"NodeNames": kept, "FailedNodes": aloud, "FailedAndUnresolvableNodes": good}


def roll_scores(asked: Raw) -> list[Raw]:
    """No two nodes alike."""
    names = rolled(asked["Pod"], asked["NodeNames"])
    return [{"Host": name, "Score": 10 - place} for place, name in enumerate(names)]


def dearest(asked: Raw) -> Raw:
    """Of the candidates, the one where it hurts most."""
    given = asked["NodeNameToMetaVictims"]
    node = max(given, key=lambda name: (len(given[name]["Pods"]), name))
    return {"NodeNameToMetaVictims": {node: given[node]}}


def story(plane: ControlPlane, owner: str) -> dict[str, Any]:
    """What becomes of pods where extenders have a say: where each is, and what it is told."""
    plane.create(*(node(f"n{i:02}", cpu=str(4 + i % 5), pods=20) for i in range(12)))
    plane.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
    )
    fitting = [f"p{i:02}" for i in range(40)]
    plane.create(*(pod(name, scheduler=owner) for name in fitting))
    plane.create(pod("managed", scheduler=owner, **_asking_for_a_thing()))
    plane.create(*(pod(f"none{i}", scheduler=owner) for i in range(3)))
    found = placed(plane, *fitting, "managed", within=90)
    told = {f"none{i}": condition(plane, f"none{i}")["message"] for i in range(3)}
    return {"nodes": found, "told": told}


def preemption(plane: ControlPlane, owner: str) -> dict[str, Any]:
    """Room is made on one of two nodes that are full."""
    plane.create(node("full-a", cpu="2"), node("full-b", cpu="2"))
    plane.create(
        pod("one", scheduler="x", cpu="2", nodeName="full-a"),
        *(pod(f"two{i}", scheduler="x", cpu="1", nodeName="full-b") for i in range(2)),
    )
    plane.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
    )
    plane.create(pod("urgent", scheduler=owner, cpu="2", priorityClassName="high"))
    found = placed(plane, "urgent")
    wait_for(lambda: len(pods(plane)) < 4, "nobody left")
    return {"nodes": found, "left": sorted(pods(plane))}


def _asking_for_a_thing() -> Raw:
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {THING: "1"}, "limits": {THING: "1"}},
    }
    return {"containers": [container]}


Story = Callable[[ControlPlane, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("tell", "verbs"),
    [
        pytest.param(
            story,
            {"filter": roll_filter, "prioritize": roll_scores},
            id="in filtering, scoring, and what pods are told",
        ),
        pytest.param(preemption, {"preempt": dearest}, id="in preemption"),
    ],
)
def test_both_decide_the_same_with_the_same_extender(
    plane: ControlPlane, tmp_path: Path, tell: Story, verbs: dict[str, Any]
) -> None:
    managed = [{"name": THING, "ignoredByScheduler": True}]
    with extender(**verbs) as fake, extender(filter=lambda asked: asked) as other:
        extenders = [
            fake.config(weight=1000, httpTimeout="30s"),
            other.config(managedResources=managed, httpTimeout="30s"),
        ]
        with replica(tmp_path, "ours", plane.kubeconfig, extenders=extenders):
            ours = tell(plane, OURS)
        asked_by_us = len(other.asked)
        plane.clear()
        with kube_scheduler(plane, tmp_path, *extenders):
            theirs = tell(plane, THEIRS)

    assert ours == theirs
    assert fake.asked
    if tell is story:
        assert asked_by_us == len(other.asked) - asked_by_us == 1, "only about the pod that asks"
