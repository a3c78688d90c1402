"""Groups and quotas that make no sense, on a real API server: said on the object, nothing stuck.

The custom resource definitions that come with Moorage refuse some of it (tests/deploy); others that
serve the same API do not, so here they are without their rules.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.gang.feature import Gangs
from tests.integration import grouping
from tests.integration.control_plane import ControlPlane
from tests.integration.grouping import (
    CUSTOM,
    GROUPS,
    LABEL,
    OLDER_LABEL,
    arguments,
    bound,
    group,
    install,
    members,
    namespace,
    play,
    profile,
    quota,
    shipped,
    until_bound,
    until_phase,
    until_used,
)
from tests.integration.harness import Running, eventually, scheduled_condition
from tests.integration.making import Raw, node, pod

pytestmark = pytest.mark.kube

RULES = ("x-kubernetes-validations", "minimum", "pattern")
QUOTAS = profile(plugins={"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}})


def lenient(schema: Any) -> Any:
    """A definition without its rules."""
    if isinstance(schema, list):
        return [lenient(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: lenient(value) for key, value in schema.items() if key not in RULES}


@pytest.fixture(scope="module")
def lenient_plane(
    programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    with ControlPlane(programs, tmp_path_factory.mktemp("lenient")) as plane:
        install(plane, *[lenient(shipped(plural)) for plural in ("podgroups", "elasticquotas")])
        yield plane


@pytest.fixture
def lax(lenient_plane: ControlPlane) -> Iterator[ControlPlane]:
    yield lenient_plane
    grouping.clear(lenient_plane)


def test_a_minimum_of_zero_is_named_and_pods_go_one_by_one(lax: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="1"))
        await under_test.request("POST", GROUPS, group("train", 0))
        await under_test.create(*members("train", 2))
        (event,) = await under_test.events("train", "InvalidPodGroup")
        assert event["note"] == (
            "minMember is 0: it must be at least 1. Until then the pods of the group are scheduled "
            "one by one"
        )
        assert event["type"] == "Warning"
        await until_bound(under_test, "train", 1)
        await under_test.create(node("n2", cpu="1"))
        await until_bound(under_test, "train", 2)

    play(lax, scenario)


def test_a_minimum_above_the_number_of_pods_is_told_until_they_are_there(
    lax: ControlPlane,
) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"))
        await under_test.request("POST", GROUPS, group("train", 3))
        await under_test.create(*members("train", 2), pod("web"))
        (event,) = await under_test.events("train", "IncompletePodGroup")
        assert event["note"] == "waiting for 1 more pod of PodGroup default/train: 2 of 3 exist"
        assert event["regarding"]["apiVersion"] == CUSTOM
        await until_phase(under_test, "train", "Pending")
        await under_test.placed("web")
        assert await bound(under_test, "train") == {}
        await under_test.create(members("train", 3)[2])
        await until_bound(under_test, "train", 3)
        await until_phase(under_test, "train", "Scheduled")

    play(lax, scenario, **arguments(incompleteAfterSeconds=0.5))


def test_pods_of_a_group_that_lacks_pods_say_what_is_so(lax: ControlPlane) -> None:
    """In their status and in one event; another when one is deleted; none once they are bound."""
    one_more = "waiting for 1 more pod of PodGroup default/train: 2 of 3 exist"
    two_more = "waiting for 2 more pods of PodGroup default/train: 1 of 3 exist"

    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1"))
        await under_test.request("POST", GROUPS, group("train", 3))
        await under_test.create(*members("train", 2))
        for name in ("train-0", "train-1"):
            await until_condition(under_test, name, "False", one_more)
            (event,) = await under_test.events(name, "FailedScheduling")
            assert event["note"] == one_more
        await under_test.request("DELETE", "/api/v1/namespaces/default/pods/train-1")
        await until_condition(under_test, "train-0", "False", two_more)
        await until_event(under_test, "train-0", two_more)
        await under_test.create(*members("train", 3)[1:])
        await until_bound(under_test, "train", 3)
        for name in ("train-0", "train-1", "train-2"):
            await until_condition(under_test, name, "True", "")

    play(lax, scenario, **arguments(incompleteAfterSeconds=0.5))


async def until_condition(under_test: Running, name: str, status: str, message: str) -> None:
    seen: dict[str, Any] = {}

    async def check() -> bool:
        seen.clear()
        seen.update(scheduled_condition((await under_test.pods())[name]))
        return (seen.get("status"), seen.get("message", "")) == (status, message)

    await eventually(check, lambda: f"{name} says {seen}, not {status}: {message}")


def test_two_names_for_one_pod_are_an_event_about_it_until_one_is_left(lax: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        for one in (group("a", 1), group("b", 1)):
            await under_test.request("POST", GROUPS, one)
        labels = {LABEL: "a", OLDER_LABEL: "b"}
        await under_test.create(node("n1"), pod("torn", labels=labels), pod("web"))
        (event,) = await under_test.events("torn", "FailedScheduling")
        assert event["note"] == "the pod names 2 pod groups, a and b: it can be in one"
        await under_test.placed("web")
        assert await bound(under_test, "torn") == {}
        path = "/api/v1/namespaces/default/pods/torn"
        await under_test.request("PATCH", path, {"metadata": {"labels": {OLDER_LABEL: None}}})
        await under_test.placed("torn")

    play(lax, scenario)


def test_a_group_deleted_while_it_waits_is_told_to_each_pod(lax: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await under_test.create(node("n1", cpu="2"))
        await under_test.request("POST", GROUPS, group("train", 3))
        await under_test.create(*members("train", 3))
        await until_phase(under_test, "train", "Pending")
        await under_test.request("DELETE", f"{GROUPS}/train")
        await under_test.create(node("n2", cpu="2"), pod("web"))
        await under_test.placed("web")
        for index in range(3):
            await until_event(under_test, f"train-{index}", "waiting for PodGroup default/train")
        assert await bound(under_test, "train") == {}
        assert len(under_test.scheduler.feature(Gangs).holds) == 0
        await under_test.request("POST", GROUPS, group("train", 3))
        await until_bound(under_test, "train", 3)

    play(lax, scenario, **arguments(incompleteAfterSeconds=0.5))


async def until_event(under_test: Running, name: str, note: str) -> None:
    async def check() -> bool:
        found = await under_test.events(name, "FailedScheduling")
        return any(note in event["note"] for event in found)

    await eventually(check, lambda: f"nobody told {name} that {note}")


def test_a_quota_with_a_min_above_its_max_is_told_and_ignored(lax: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        wrong = quota("red", {"cpu": "3"}, {"cpu": "2"})
        await under_test.create(namespace("red"), node("n1"), wrong)
        (event,) = await under_test.events("quota", "InvalidElasticQuota")
        assert event["note"] == (
            "min asks for 3 cpu, which is more than its max of 2: the quota is ignored"
        )
        await under_test.create(*of("red", 4))
        await until_bound(under_test, "red", 4)
        mended: Raw = {"spec": {"max": {"cpu": "4"}}}
        await under_test.request("PATCH", grouping.quota_path("red"), mended)
        await until_used(under_test, "red", cpu="4")

    play(lax, scenario, **QUOTAS)


def of(tenant: str, count: int) -> list[Raw]:
    return [pod(f"{tenant}-{i}", namespace=tenant, cpu="1") for i in range(count)]


def test_a_second_quota_of_a_namespace_is_told_and_ignored(lax: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        first = quota("red", {"cpu": "2"}, {"cpu": "2"}, name="quota")
        second = quota("red", {"cpu": "1"}, {"cpu": "1"}, name="second")
        await under_test.create(namespace("red"), node("n1"), first, second)
        (event,) = await under_test.events("second", "InvalidElasticQuota")
        assert event["note"] == "the namespace has another ElasticQuota: this one is ignored"
        await under_test.create(*of("red", 3))
        await until_bound(under_test, "red", 2)

    play(lax, scenario, **QUOTAS)
