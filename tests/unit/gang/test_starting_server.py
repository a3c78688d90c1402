"""While an API server starts it refuses lists of groups and quotas that it serves soon after."""

from typing import Any

import pytest

from moorage.api.podgroup import POD_GROUP_LABEL
from moorage.gang.feature import WORKLOAD_POD_GROUPS
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node, pod
from moorage.watch.api_errors import ApiError, Forbidden, NotFound
from moorage.watch.api_resources import RESOURCES, Resource
from moorage.watch.api_server import Page
from tests.unit.gang.composite_groups import leaf, workers
from tests.unit.gang.gang_world import GangWorld, Raw, group, member, members
from tests.unit.tenancy.test_capacity_scheduling import pods_of, quota, world_of

REFUSALS = [NotFound("no such resource yet"), Forbidden("roles are not loaded yet")]


class Starting(MemoryCluster):
    """A server that refuses groups and quotas for five seconds."""

    refusal: ApiError

    async def list_page(self, resource: Resource, **options: Any) -> Page:
        if resource.plural in ("podgroups", "elasticquotas") and self.clock.now() < 1005.0:
            raise self.refusal
        return await super().list_page(resource, **options)


def starting(refusal: ApiError) -> type[MemoryCluster]:
    return type("StartingServer", (Starting,), {"refusal": refusal})


@pytest.mark.parametrize("refusal", REFUSALS, ids=["not found", "forbidden"])
def test_a_group_that_is_not_whole_is_not_bound_in_part(refusal: ApiError) -> None:
    world = GangWorld(
        node("a").offering(cpu="8"),
        group("train", 5),
        *members("train", 3),
        pod("plain").requesting(cpu="1"),
        cluster=starting(refusal),
    )

    async def look_early(world: GangWorld) -> None:
        await world.clock.sleep(2.0)
        assert world.bound() == {"plain": "a"}, "a pod that names no group does not wait"
        await world.clock.sleep(58.0)

    world.run(look_early)

    assert world.bound() == {"plain": "a"}


@pytest.mark.parametrize("refusal", REFUSALS, ids=["not found", "forbidden"])
def test_a_quota_is_kept_from_the_first_attempt_on(refusal: ApiError) -> None:
    world = world_of(
        node("a").offering(cpu="8"),
        quota("red", {"cpu": "1"}, {"cpu": "2"}),
        quota("blue", {"cpu": "4"}),
        *pods_of("red", 5),
        cluster=starting(refusal),
    )

    world.run()

    assert len(world.bound("red")) == 2


class OwnGroupsAlone(MemoryCluster):
    """A server that serves Kubernetes' own groups, and none of scheduler-plugins."""

    async def list_page(self, resource: Resource, **options: Any) -> Page:
        if resource == RESOURCES["podgroups"]:
            raise NotFound("no such resource")
        return await super().list_page(_stored(resource), **options)

    def watch(self, resource: Resource, **options: Any) -> Any:
        return super().watch(_stored(resource), **options)

    async def patch(self, resource: Resource, *where: Any, **options: Any) -> Raw:
        return await super().patch(_stored(resource), *where, **options)


def _stored(resource: Resource) -> Resource:
    return RESOURCES["podgroups"] if resource in WORKLOAD_POD_GROUPS else resource


def test_labels_mean_nothing_where_no_group_can_have_that_name() -> None:
    """Neither one that names a group that is not there, nor one that names another group."""
    both = workers("own", 2)[0].labelled({POD_GROUP_LABEL: "train"})
    world = GangWorld(
        node("a").offering(cpu="8"),
        leaf("own", 2),
        leaf("train", 5),
        member("train-0", "train"),
        member("lost-0", "lost"),
        both,
        workers("own", 2)[1],
        cluster=OwnGroupsAlone,
    )

    world.run()

    assert set(world.bound()) == {"train-0", "lost-0", "own-0", "own-1"}
