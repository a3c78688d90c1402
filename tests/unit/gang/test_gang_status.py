"""What groups say of themselves: a basic group, too, whose pods are scheduled one by one."""

from moorage.api.podgroup import PodGroup, PodGroupCondition, PodGroupStatus
from moorage.testing import node
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
