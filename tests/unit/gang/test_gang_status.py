"""What groups say of themselves: a basic group, too, whose pods are scheduled one by one."""

from typing import Any

import pytest

from moorage.api.podgroup import PodGroup, PodGroupCondition, PodGroupStatus
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node
from moorage.watch.api_errors import ApiError, Conflict, Forbidden, ServerError, Unauthorized
from moorage.watch.api_server import Resource
from tests.unit.gang.gang_world import GangWorld, Raw, group, members, settle

BASIC: Raw = {**group("g", 0), "spec": {"schedulingPolicy": {"basic": {}}}}


def _condition(world: GangWorld) -> tuple[str, str]:
    (found,) = world.status("g")["conditions"]
    return found["status"], found["reason"]


def test_a_basic_group_is_scheduled_when_the_first_of_its_pods_is() -> None:
    world = GangWorld(node("a").offering(cpu="1"), BASIC, *members("g", 2))

    world.run()

    assert _condition(world) == ("True", "Scheduled")


def test_a_basic_group_of_which_no_pod_fits_is_unschedulable_until_one_does() -> None:
    world = GangWorld(node("a").offering(cpu="1"), BASIC, *members("g", 2, cpu="2"))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert _condition(world) == ("False", "Unschedulable")
        world.apply(node("b").offering(cpu="2"))
        await settle(world)

    world.run(story)

    assert _condition(world) == ("True", "Scheduled")


def test_a_group_that_waits_for_another_reason_tells_since_when_it_has_waited() -> None:
    world = GangWorld(node("a").offering(cpu="1"), group("g", 2), *members("g", 2))
    told: list[Raw] = []

    async def story(world: GangWorld) -> None:
        await settle(world)
        told.extend(world.status("g")["conditions"])
        world.apply(node("b").offering(cpu="500m"))
        await settle(world)
        told.extend(world.status("g")["conditions"])

    world.run(story)

    before, after = told
    assert before["message"] != after["message"]
    assert before["lastTransitionTime"] == after["lastTransitionTime"]
    assert after["observedGeneration"] == 1


def test_that_a_group_was_scheduled_is_read_from_its_status() -> None:
    condition = PodGroupCondition(type="PodGroupInitiallyScheduled", status="True")

    assert PodGroup(status=PodGroupStatus(conditions=(condition,))).was_scheduled
    assert not PodGroup().was_scheduled


class Failing(MemoryCluster):
    """An API server that fails to write the status of groups a few times."""

    error: ApiError = ServerError("etcdserver: request timed out")
    failures = 3

    async def patch(self, resource: Resource, *args: Any, **options: Any) -> Raw:
        if resource.kind == "PodGroup" and self.failures:
            self.failures -= 1
            raise self.error
        return await super().patch(resource, *args, **options)


@pytest.mark.parametrize("kind", [ServerError, Unauthorized, Conflict])
def test_a_status_that_could_not_be_written_is_written_later(kind: type[ApiError]) -> None:
    class Server(Failing):
        error = kind("not now")

    world = GangWorld(node("a").offering(cpu="3"), group("g", 2), *members("g", 3), cluster=Server)

    async def story(world: GangWorld) -> None:
        await settle(world, 1)
        assert len(world.bound("g")) == 3
        assert world.status("g").get("phase") != "Scheduled"
        await settle(world, 60)

    world.run(story)

    assert world.status("g")["phase"] == "Scheduled"
    assert world.failures == ["default/g: not now"] * 3


def test_a_status_that_the_server_refuses_is_not_written_again_and_again() -> None:
    class Server(Failing):
        error = Forbidden("never")

    world = GangWorld(node("a").offering(cpu="3"), group("g", 2), *members("g", 3), cluster=Server)

    world.run(lambda world: settle(world, 600))

    assert len(world.bound("g")) == 3
    assert world.failures == ["default/g: never"]


def test_an_early_report_that_is_late_does_not_overwrite_a_later_one() -> None:
    class Slow(MemoryCluster):
        """Waits with the first write of a group's status for a minute."""

        waits = True

        async def patch(self, resource: Resource, *args: Any, **options: Any) -> Raw:
            if resource.kind == "PodGroup" and self.waits:
                self.waits = False
                await self.clock.sleep(60.0)
            return await super().patch(resource, *args, **options)

    world = GangWorld(node("a").offering(cpu="1"), group("g", 2), *members("g", 2), cluster=Slow)

    async def story(world: GangWorld) -> None:
        await settle(world, 10)
        world.apply(node("b").offering(cpu="1"))
        await settle(world, 30)
        assert len(world.bound("g")) == 2
        await settle(world, 60)

    world.run(story)

    assert world.status("g")["phase"] == "Scheduled"
