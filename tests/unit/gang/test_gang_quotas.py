"""Groups of tenants that have quotas."""

from typing import Any

from moorage.gang.feature import Gangs
from moorage.testing import PodBuilder, node
from tests.unit.gang.gang_world import GangWorld, Raw, group, member, settle
from tests.unit.tenancy.test_capacity_scheduling import TWO, pods_of, quota, world_of


def group_of(namespace: str, name: str, members: int, **spec: Any) -> Raw:
    made = group(name, members, **spec)
    made["metadata"]["namespace"] = namespace
    return made


def gang(namespace: str, name: str, count: int, priority: int = 0) -> list[PodBuilder]:
    made = [member(f"{name}-{i}", name).prioritised(priority) for i in range(count)]
    for built in made:
        built.raw["metadata"]["namespace"] = namespace
        built.with_spec(terminationGracePeriodSeconds=0)
    return made


def after(world: GangWorld, *objects: PodBuilder | Raw) -> GangWorld:
    """The world when these have come to those that were settled there, and all is quiet again."""

    async def story(world: GangWorld) -> None:
        await settle(world)
        world.apply(*objects)
        await settle(world, 90)

    world.run(story)
    return world


def test_a_group_within_its_min_takes_back_what_others_have_borrowed() -> None:
    """Whatever the borrowers' priority, and no more of them than it needs."""
    world = world_of(
        node("a").offering(cpu="4"),
        node("b").offering(cpu="4"),
        *TWO,
        *pods_of("blue", 7, priority=10),
    )

    after(world, group_of("red", "train", 4), *gang("red", "train", 4))

    assert (len(world.bound("train")), len(world.bound("blue"))) == (4, 4)


def test_it_does_so_where_there_is_room_but_no_quota_left() -> None:
    """All quotas together guarantee eight cores of the twenty."""
    world = world_of(node("a").offering(cpu="20"), *TWO, *pods_of("blue", 7, priority=10))

    after(world, group_of("red", "train", 4), *gang("red", "train", 4))

    assert (len(world.bound("train")), len(world.bound("blue"))) == (4, 4)


def test_so_it_does_where_the_borrowers_are_on_nodes_that_it_does_not_go_to() -> None:
    """The room of none of them is needed, but their quota is."""
    borrowers = [made.on("b") for made in pods_of("blue", 7, priority=10)]
    world = world_of(node("a").offering(cpu="4"), node("b").offering(cpu="7"), *TWO, *borrowers)
    only_a = {"kubernetes.io/hostname": "a"}
    members = [made.with_spec(nodeSelector=only_a) for made in gang("red", "train", 4)]

    after(world, group_of("red", "train", 4), *members)

    assert set(world.bound("train").values()) == {"a"}
    assert (len(world.bound("train")), len(world.bound("blue"))) == (4, 4)


def test_a_group_above_its_min_takes_nothing_from_others() -> None:
    world = world_of(node("a").offering(cpu="8"), *TWO, *pods_of("blue", 6))

    after(world, group_of("red", "train", 5), *gang("red", "train", 5, priority=1000))

    assert (len(world.bound("train")), len(world.bound("blue"))) == (0, 6)


def test_but_it_may_evict_pods_of_its_own_namespace_of_lower_priority() -> None:
    world = world_of(
        node("a").offering(cpu="8"),
        quota("red", {"cpu": "4"}, {"cpu": "6"}),
        quota("blue", {"cpu": "4"}),
        *pods_of("blue", 2),
        *pods_of("red", 6),
    )

    after(world, group_of("red", "train", 5), *gang("red", "train", 5, priority=1000))

    assert (len(world.bound("train")), len(world.bound("blue"))) == (5, 2)
    assert len(world.bound("red")) == 1


def test_a_group_that_runs_on_borrowed_cores_leaves_as_a_whole() -> None:
    world = world_of(
        node("a").offering(cpu="8"),
        *TWO,
        group_of("blue", "batch", 6),
        *gang("blue", "batch", 6, priority=10),
    )

    after(world, group_of("red", "train", 4), *gang("red", "train", 4))

    assert (len(world.bound("train")), len(world.bound("batch"))) == (4, 0)


def test_a_group_without_a_quota_evicts_nobody_that_has_one() -> None:
    world = world_of(node("a").offering(cpu="4"), *TWO, *pods_of("red", 3))

    after(world, group_of("other", "train", 2), *gang("other", "train", 2, priority=1000))

    assert (len(world.bound("train")), len(world.bound("red"))) == (0, 3)


def test_no_room_is_kept_for_a_group_that_its_quota_keeps_from_running() -> None:
    waiting = (group_of("red", "train", 7), *gang("red", "train", 7))
    world = world_of(node("a").offering(cpu="20"), *TWO, *waiting)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(400)
        assert len(world.scheduler.feature(Gangs).holds) == 0

    world.run(story)

    assert world.bound() == {}
    assert "exceed its max of 6" in world.attempts[-1].message
