"""The checker of chaos sees what it is there to see."""

import copy
import random
from typing import Any

import pytest

from tests.chaos import faults, settled, workload
from tests.chaos.checker import Checker
from tests.chaos.workload import KIND, SET, ZONE
from tests.integration import grouping, storage
from tests.integration.making import Raw, node, pod


def known(raw: Raw, **status: Any) -> Raw:
    """An object as a watch shows it."""
    found = copy.deepcopy(raw)
    found["metadata"]["uid"] = found["metadata"]["name"]
    found["status"] = {**found.get("status", {}), **status}
    return found


def on(raw: Raw, where: str, *conditions: Raw) -> Raw:
    scheduled = {"type": "PodScheduled", "status": "True"}
    found = known(raw, conditions=[scheduled, *conditions])
    found["spec"]["nodeName"] = where
    return found


def waiting(raw: Raw, message: str) -> Raw:
    said = {"type": "PodScheduled", "status": "False", "message": message}
    return known(raw, conditions=[said])


PREEMPTED = {"type": "DisruptionTarget", "status": "True"}


@pytest.fixture
def checker() -> Checker:
    made = Checker()
    for index, zone in enumerate("abc"):
        made.node("ADDED", known(node(f"n{index}", cpu="2", labels={ZONE: zone})))
    return made


def texts(checker: Checker) -> list[str]:
    return [violation.text for violation in checker.violations]


def test_a_pod_that_changes_its_node(checker: Checker) -> None:
    checker.pod("ADDED", on(pod("p"), "n0"))
    checker.pod("MODIFIED", on(pod("p"), "n1"))

    assert texts(checker) == ["p was on n0 and is on n1"]


def test_more_on_a_node_than_it_has(checker: Checker) -> None:
    for name in "ab":
        checker.pod("ADDED", on(pod(name, cpu="1500m"), "n0"))

    assert texts(checker) == ["b made 1000m too many on n0"]


def test_room_of_a_pod_that_is_gone_may_be_used(checker: Checker) -> None:
    checker.pod("ADDED", on(pod("a", cpu="2"), "n0"))
    checker.pod("DELETED", on(pod("a", cpu="2"), "n0"))
    checker.pod("ADDED", on(pod("b", cpu="2"), "n0"))

    assert texts(checker) == []


def test_pods_that_are_not_apart(checker: Checker) -> None:
    labels = {KIND: "apart", SET: "s"}
    for name in "ab":
        checker.pod("ADDED", on(pod(name, labels=labels), "n0"))

    assert texts(checker) == ["a, b are on n0 and want to be apart"]


def test_a_quota_that_is_overdrawn(checker: Checker) -> None:
    for index in range(3):
        raw = pod(f"t{index}", namespace=workload.TENANT, cpu="2", labels={KIND: "tenant"})
        checker.pod("ADDED", on(raw, f"n{index}"))

    assert texts(checker) == ["t2 made its namespace use 6000m"]


def test_pods_that_are_spread_badly(checker: Checker) -> None:
    for name in "ab":
        checker.pod("ADDED", on(pod(name, labels={KIND: "spread", SET: "s"}), "n0"))

    (found,) = settled.problems_with_room(checker)
    assert found.text.startswith("s is spread badly")


@pytest.mark.parametrize(
    ("zone", "wrong"),
    [
        pytest.param("a", [], id="beside its volume"),
        pytest.param("b", ["v is in a and its volume in ['b']"], id="apart from it"),
        pytest.param("", ["v is on a node without the volume of v"], id="without one"),
    ],
)
def test_a_pod_is_in_the_zone_of_its_volume(checker: Checker, zone: str, wrong: list[str]) -> None:
    raw = pod("v", labels={KIND: "volume"}, volumes=storage.mounting("v"))
    claim = known(storage.claim("v", "made"))
    claim["spec"]["volumeName"] = "pv" if zone else ""
    checker.claim("ADDED", claim)
    checker.volume("ADDED", known(storage.volume("pv", "made", zone)))
    checker.pod("ADDED", on(raw, "n0"))

    assert [each.text for each in settled.problems(checker)] == wrong


def test_a_gang_that_is_evicted_in_part(checker: Checker) -> None:
    checker.group("ADDED", known(grouping.group("g", 3)))
    first, *others = grouping.members("g", 3, "100m")
    for raw in (first, *others):
        checker.pod("ADDED", on(raw, "n0"))
    checker.pod("MODIFIED", on(first, "n0", PREEMPTED))
    checker.pod("DELETED", on(first, "n0", PREEMPTED))

    assert [each.text for each in checker.parts_left()] == [
        "of g, which needs 3, 2 stayed when it was evicted"
    ]
    for raw in others:
        checker.pod("DELETED", on(raw, "n0", PREEMPTED))
    assert checker.parts_left() == []


@pytest.mark.parametrize(
    ("kind", "cpu", "message", "wrong"),
    [
        pytest.param("plain", "4", "0/3: 3 Insufficient cpu", "", id="a true reason"),
        pytest.param("plain", "4", "", "does not say why", id="no reason"),
        pytest.param("plain", "1", "0/3: 3 Insufficient cpu", "have room", id="a false reason"),
        pytest.param("huge", "500", "who knows", "what is insufficient", id="a vague reason"),
    ],
)
def test_reasons(checker: Checker, kind: str, cpu: str, message: str, wrong: str) -> None:
    checker.pod("ADDED", waiting(pod("p", cpu=cpu, labels={KIND: kind}), message))

    found = [each.text for each in settled.problems(checker)]

    assert all(wrong in text for text in found)
    assert bool(found) == bool(wrong)


def test_a_bound_pod_that_says_it_is_not(checker: Checker) -> None:
    raw = waiting(pod("p"), "0/3: 3 Insufficient cpu")
    raw["spec"]["nodeName"] = "n0"
    checker.pod("ADDED", raw)

    (found,) = settled.problems(checker)
    assert found.text.startswith("p is on a node and says")


def test_the_same_seed_makes_the_same_faults_and_pods() -> None:
    for plan in (faults.plan, workload.plan):
        once, twice = (plan(random.Random("7"), 40.0) for _ in range(2))
        assert once == twice
        assert once != plan(random.Random("8"), 40.0)
