"""Room that is kept for groups which have waited long, or were bound in part."""

import pytest

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.cycle import Cycle
from moorage.framework.points import Bind
from moorage.gang import holds
from moorage.gang.feature import Gangs
from moorage.gang.group import Group
from moorage.gang.holds import Hold, Holds
from moorage.testing import PodBuilder, node, pod
from moorage.watch.api_errors import Conflict
from moorage.watch.api_resources import NODES, PODS
from tests.unit.gang.gang_world import POD_GROUPS, GangWorld, group, member, members, settle
from tests.unit.gang.test_gang_binding import flaky

LONG = 301.0


def filler(name: str, on: str, cpu: str = "1", seconds: float | None = None) -> PodBuilder:
    made = pod(name).requesting(cpu=cpu).on(on)
    made.raw["status"]["startTime"] = "1970-01-01T00:16:40Z"
    return made if seconds is None else limited(made, seconds)


def limited(made: PodBuilder, seconds: float, grace: int = 0) -> PodBuilder:
    """The pod, which Kubernetes ends after so many seconds."""
    made.raw["spec"]["activeDeadlineSeconds"] = int(seconds)
    made.raw["spec"]["terminationGracePeriodSeconds"] = grace
    return made


def test_a_stream_of_small_pods_does_not_starve_a_group() -> None:
    """A small pod ends every ten seconds, and another waits for its place."""
    fillers = [filler(f"old-{i}", "a") for i in range(4)]
    world = GangWorld(node("a"), *fillers, group("train", 4), *members("train", 4))

    async def story(world: GangWorld) -> None:
        for index in range(60):
            world.apply(pod(f"small-{index}").requesting(cpu="1"))
            running = sorted(name for name in world.bound() if not name.startswith("train"))
            if running:
                await world.cluster.delete(PODS, "default", running[0], grace_period_seconds=0)
            await world.clock.sleep(10)

    world.run(story)

    assert len(world.bound("train")) == 4


def test_without_a_reservation_it_does() -> None:
    fillers = [filler(f"old-{i}", "a") for i in range(4)]
    world = GangWorld(
        node("a"),
        *fillers,
        group("train", 4),
        *members("train", 4),
        args={"GangScheduling": {"reservationAfterSeconds": 0}},
    )

    async def story(world: GangWorld) -> None:
        for index in range(60):
            world.apply(pod(f"small-{index}").requesting(cpu="1"))
            running = sorted(name for name in world.bound() if not name.startswith("train"))
            await world.cluster.delete(PODS, "default", running[0], grace_period_seconds=0)
            await world.clock.sleep(10)
        for name in list(world.bound()):
            assert not name.startswith("train")
            await world.cluster.delete(PODS, "default", name, grace_period_seconds=0)
        await settle(world)

    world.run(story)

    assert len(world.bound("train")) == 4


def waiting_world() -> GangWorld:
    """A group of four waits; two cores are free, and one pod ends at a known time."""
    return GangWorld(
        node("a"),
        node("b").offering(cpu="2"),
        filler("ends", "a", cpu="2", seconds=1000),
        filler("stays", "b", cpu="2"),
        group("train", 4),
        *members("train", 4),
    )


async def wait_long(world: GangWorld) -> None:
    await world.clock.sleep(LONG)


def test_a_room_is_kept_where_the_group_will_have_it_first() -> None:
    world = waiting_world()

    async def story(world: GangWorld) -> None:
        await wait_long(world)
        hold = world.scheduler.feature(Gangs).holds.get("default/train")
        assert hold is not None
        assert {name: room.pods for name, room in hold.rooms.items()} == {"a": 4}
        assert hold.start == 2000.0

    world.run(story)


@pytest.mark.parametrize(
    ("late", "passes"),
    [
        pytest.param(pod("late").requesting(cpu="1"), False, id="a pod of the same priority"),
        pytest.param(
            limited(pod("late").requesting(cpu="1"), 600),
            True,
            id="a pod that will have ended by then",
        ),
        pytest.param(
            limited(pod("late").requesting(cpu="1"), 6000),
            False,
            id="a pod that will not have ended by then",
        ),
        pytest.param(
            limited(pod("late").requesting(cpu="1"), 600, grace=86_400),
            False,
            id="a pod that may take a day to end",
        ),
        pytest.param(
            pod("late").requesting(cpu="1").annotated({"moorage.io/duration-seconds": "1"}),
            False,
            id="a pod that promises to end",
        ),
        pytest.param(
            pod("late").requesting(cpu="1").prioritised(1), True, id="a pod of higher priority"
        ),
    ],
)
def test_who_may_use_a_room_that_is_kept(late: PodBuilder, passes: bool) -> None:
    world = waiting_world()

    async def story(world: GangWorld) -> None:
        await wait_long(world)
        world.apply(late)
        await settle(world)

    world.run(story)

    assert ("late" in world.bound()) is passes
    if not passes:
        assert "held for PodGroup(s) [default/train]" in world.condition("late")["message"]


@pytest.mark.parametrize(("seconds", "yields"), [(999, False), (1000, False), (1001, True)])
def test_a_pod_that_ends_at_the_moment_of_the_start_is_in_nobodys_way(
    seconds: int, yields: bool
) -> None:
    held = Holds()
    held.put(Hold(Group("default/train"), {}, start=2000.0))
    spec = {"activeDeadlineSeconds": seconds, "terminationGracePeriodSeconds": 0}
    late = pod("late").with_spec(**spec).build()

    assert bool(held.over(late, None, now=1000.0)) is yields


def test_what_a_group_leaves_over_is_for_everyone() -> None:
    world = GangWorld(
        node("a").offering(cpu="6"),
        filler("stays", "a", cpu="3"),
        group("train", 4),
        *members("train", 4),
    )

    async def story(world: GangWorld) -> None:
        await wait_long(world)
        await world.cluster.delete(PODS, "default", "stays", grace_period_seconds=0)
        world.apply(pod("one").requesting(cpu="1"), pod("two").requesting(cpu="1"))
        await settle(world)

    world.run(story)

    assert set(world.bound()) == {"one", "two", *(f"train-{i}" for i in range(4))}


def test_pods_that_were_kept_off_go_on_when_the_group_is_gone() -> None:
    world = waiting_world()

    async def story(world: GangWorld) -> None:
        await wait_long(world)
        world.apply(pod("late").requesting(cpu="1"))
        await settle(world)
        assert "late" not in world.bound()
        await world.cluster.delete(POD_GROUPS, "default", "train")
        await settle(world)
        assert len(world.scheduler.feature(Gangs).holds) == 0

    world.run(story)

    assert "late" in world.bound()


def test_a_group_that_could_never_fit_is_kept_nothing() -> None:
    world = GangWorld(node("a"), group("train", 5), *members("train", 5))

    async def story(world: GangWorld) -> None:
        await wait_long(world)
        assert len(world.scheduler.feature(Gangs).holds) == 0
        world.apply(filler("ends", "a"), group("fits", 4), *members("fits", 4))
        await wait_long(world)
        held = [hold.group.key for hold in world.scheduler.feature(Gangs).holds]
        assert held == ["default/fits"]

    world.run(story)


def test_one_group_at_a_time_is_kept_room_the_first_of_them() -> None:
    world = GangWorld(node("a"), filler("stays", "a"), group("one", 4), *members("one", 4))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        world.apply(group("two", 2), *members("two", 2, cpu="2"))
        await world.clock.sleep(400)
        assert [hold.group.key for hold in world.scheduler.feature(Gangs).holds] == ["default/one"]
        for index in range(4):
            await world.cluster.delete(PODS, "default", f"one-{index}", grace_period_seconds=0)
        await world.clock.sleep(400)
        assert [hold.group.key for hold in world.scheduler.feature(Gangs).holds] == ["default/two"]

    world.run(story)


def test_a_group_leaves_alone_what_is_kept_for_one_that_came_before() -> None:
    world = GangWorld(node("a"), filler("stays", "a"), group("one", 4), *members("one", 4))

    async def story(world: GangWorld) -> None:
        await wait_long(world)
        world.apply(group("two", 3), *members("two", 3))
        await settle(world)
        assert world.bound("two") == {}
        await world.cluster.delete(PODS, "default", "stays", grace_period_seconds=0)
        await settle(world)

    world.run(story)

    assert len(world.bound("one")) == 4


def test_a_node_that_is_gone_keeps_no_room() -> None:
    world = waiting_world()

    async def story(world: GangWorld) -> None:
        await wait_long(world)
        await world.cluster.delete(NODES, "", "a")
        world.apply(node("c"), pod("late").requesting(cpu="1"))
        await settle(world)

    world.run(story)

    assert len(world.bound("train")) == 4
    assert "late" not in world.bound()


def test_the_rest_of_a_group_bound_in_part_is_kept_its_room() -> None:
    """The binds of two pods fail for good until a thief has come for their room."""
    stolen = [Conflict("no")] * 3
    world = flaky(
        node("a"),
        group("train", 4),
        *members("train", 4),
        faults={"train-2": list(stolen), "train-3": list(stolen)},
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(0.5)
        assert 0 < len(world.bound("train")) < 4
        assert len(world.scheduler.feature(Gangs).holds) == 1
        world.apply(pod("thief").requesting(cpu="1"))
        await settle(world, 60)
        assert len(world.scheduler.feature(Gangs).holds) == 0

    world.run(story)

    assert len(world.bound("train")) == 4
    assert "thief" not in world.bound()


class Slow(Bind, frozen=True):
    """Takes a second to bind one of the pods."""

    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        await cycle.shared["clock"].sleep(1.0 if pod.name == "train-1" else 0.0)
        assert cycle.client is not None
        await cycle.client.bind(pod.namespace, pod.name, pod.uid, node.name)


def test_a_group_bound_in_part_of_which_nobody_waits_any_more_is_kept_nothing() -> None:
    """A pod is deleted while it is being bound; those that are bound are all that is left."""
    world = GangWorld(node("a"), group("train", 3), *members("train", 3))
    world.profile.bind = [("Slow", Slow())]
    world.profile.shared["clock"] = world.clock

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(0.5)
        await world.cluster.delete(PODS, "default", "train-1", grace_period_seconds=0)
        await world.clock.sleep(0.6)
        assert len(world.bound("train")) == 2
        assert len(world.scheduler.feature(Gangs).holds) == 0

    world.run(story)


def test_groups_rank_by_priority_then_arrival_then_name() -> None:
    world = GangWorld(
        node("a").cordoned(),
        group("b", 1),
        group("a", 1),
        group("high", 1),
        member("b-0", "b"),
        member("a-0", "a"),
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        world.apply(member("high-0", "high").prioritised(7))
        await world.clock.sleep(1)
        ranked = sorted(world.scheduler.feature(Gangs).groups, key=holds.rank)
        assert [group.key for group in ranked] == ["default/high", "default/a", "default/b"]

    world.run(story)
