"""While an API server starts it refuses lists of groups and quotas that it serves soon after."""

from typing import Any

import pytest

from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node, pod
from moorage.watch.api_errors import ApiError, Forbidden, NotFound
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Page
from tests.unit.gang.gang_world import GangWorld, group, members
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
