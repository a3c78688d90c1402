"""Tenants on a real API server: quotas that lend and take back, and fair shares of the queue."""

from typing import Any

import pytest

from tests.integration.control_plane import ControlPlane
from tests.integration.grouping import (
    bound,
    group,
    members,
    namespace,
    play,
    profile,
    quota,
    until_bound,
    until_used,
)
from tests.integration.harness import Running
from tests.integration.making import Raw, node, pod, priority_class

pytestmark = pytest.mark.kube

QUOTAS = profile(plugins={"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}})


def of(tenant: str, count: int, **spec: Any) -> list[Raw]:
    """So many pods of a tenant, each of one core."""
    return [pod(f"{tenant}-{i}", namespace=tenant, cpu="1", **spec) for i in range(count)]


async def settle_in(under_test: Running, *nodes: Raw) -> None:
    """Red and blue are each sure of four cores; blue may borrow all of red's."""
    await under_test.create(
        priority_class("high", 1000),
        *map(namespace, ("red", "blue")),
        *nodes,
        quota("red", {"cpu": "4"}, {"cpu": "6"}),
        quota("blue", {"cpu": "4"}, {"cpu": "8"}),
    )


def test_a_tenant_borrows_what_is_idle_up_to_its_max(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await settle_in(under_test, node("n1", cpu="8"))
        await under_test.create(*of("red", 7))
        await until_bound(under_test, "red", 6)
        (waiting,) = (await under_test.pods()).keys() - (await bound(under_test, "red")).keys()
        found = await under_test.condition(waiting, "Unschedulable")
        assert found["message"].startswith(
            "0/1 nodes are available: 1 ElasticQuota red/quota: cpu 6 used and 1 asked for exceed "
            "its max of 6."
        )
        await until_used(under_test, "red", cpu="6")
        await until_used(under_test, "blue", cpu="0")

    play(groups, scenario, **QUOTAS)


def test_an_owner_takes_back_what_others_have_borrowed(groups: ControlPlane) -> None:
    """Blue's pods are more important than red's, but four of its cores are not its own."""

    async def scenario(under_test: Running) -> None:
        await settle_in(under_test, node("n1", cpu="4"), node("n2", cpu="4"))
        await under_test.create(*of("blue", 8, priorityClassName="high"))
        await until_bound(under_test, "blue", 8)
        await until_used(under_test, "blue", cpu="8")
        await under_test.create(*of("red", 5))
        await until_bound(under_test, "red", 4)
        await until_bound(under_test, "blue", 4)
        (waiting,) = {f"red-{i}" for i in range(5)} - (await bound(under_test, "red")).keys()
        await under_test.condition(waiting, "Unschedulable")
        await until_used(under_test, "red", cpu="4")
        await until_used(under_test, "blue", cpu="4")

    play(groups, scenario, **QUOTAS)


def test_a_gang_takes_back_what_others_have_borrowed(groups: ControlPlane) -> None:
    """All four of its pods, or none; and no more borrowers leave than it needs."""

    async def scenario(under_test: Running) -> None:
        await settle_in(under_test, node("n1", cpu="4"), node("n2", cpu="4"))
        await under_test.create(*of("blue", 7, priorityClassName="high"))
        await until_bound(under_test, "blue", 7)
        train = group("train", 4)
        train["metadata"]["namespace"] = "red"
        await under_test.create(train, *members("train", 4, namespace="red"))
        await until_bound(under_test, "train", 4)
        assert len(await bound(under_test, "blue")) == 4

    play(groups, scenario, **QUOTAS)


def test_a_gang_above_its_min_takes_nothing_from_others(groups: ControlPlane) -> None:
    async def scenario(under_test: Running) -> None:
        await settle_in(under_test, node("n1", cpu="4"), node("n2", cpu="4"))
        await under_test.create(*of("blue", 6))
        await until_bound(under_test, "blue", 6)
        train = group("train", 5)
        train["metadata"]["namespace"] = "red"
        pods = members("train", 5, namespace="red", priorityClassName="high")
        await under_test.create(train, *pods)
        await under_test.events("train", "FailedScheduling")
        assert await bound(under_test, "train") == {}
        assert len(await bound(under_test, "blue")) == 6

    play(groups, scenario, **QUOTAS)


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        pytest.param({}, (3, 3), id="alike"),
        pytest.param({"red": 2}, (4, 2), id="red for two"),
    ],
)
def test_tenants_share_a_cluster_that_is_too_small_for_all(
    groups: ControlPlane, weights: dict[str, float], shares: tuple[int, int]
) -> None:
    """Red has brought eight pods before blue brings its six; there is room for six."""
    groups.create(*map(namespace, ("red", "blue")), node("n1", cpu="6"))
    groups.create(*of("red", 8), *of("blue", 6))

    async def scenario(under_test: Running) -> None:
        await until_bound(under_test, "", 6)
        counts = [len(await bound(under_test, tenant)) for tenant in ("red", "blue")]
        assert tuple(counts) == shares

    fair = profile(
        plugins={"queueSort": {"enabled": [{"name": "FairShare"}], "disabled": [{"name": "*"}]}},
        pluginConfig=[{"name": "FairShare", "args": {"weights": weights}}],
    )
    play(groups, scenario, **fair)
