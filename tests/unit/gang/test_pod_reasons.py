"""Pods of a group that may not be tried say why, and say it no longer than it is so."""

from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node
from moorage.watch.api_errors import TooManyRequests
from moorage.watch.api_resources import PODS
from tests.unit.gang.gang_world import GangWorld, Raw, group, member, members, settle

ONE_MORE = "waiting for 1 more pod of PodGroup default/train: 2 of 3 exist"
TWO_MORE = "waiting for 2 more pods of PodGroup default/train: 1 of 3 exist"


def failures(world: GangWorld, name: str) -> list[str]:
    return world.events(name, "FailedScheduling")


def test_pods_of_a_group_that_lacks_pods_say_so_in_status_and_events_once() -> None:
    world = GangWorld(node("a"), group("train", 3), *members("train", 2))

    async def story(world: GangWorld) -> None:
        await settle(world, 300)
        for index in range(2):
            found = world.condition(f"train-{index}")
            assert (found["status"], found["reason"]) == ("False", "Unschedulable")
            assert found["message"] == ONE_MORE
            assert failures(world, f"train-{index}") == [ONE_MORE]

    world.run(story)


def test_a_pod_of_a_group_that_does_not_exist_says_so_in_its_status() -> None:
    world = GangWorld(node("a"), *members("train", 1))

    world.run()

    wanted = "waiting for PodGroup default/train to be created"
    assert world.condition("train-0")["message"] == wanted


def test_pods_that_come_and_go_bring_the_reason_up_to_date() -> None:
    world = GangWorld(node("a"), group("train", 3), member("train-0", "train"))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.condition("train-0")["message"] == TWO_MORE
        world.apply(member("train-1", "train"))
        await settle(world)
        assert world.condition("train-0")["message"] == ONE_MORE
        assert world.condition("train-1")["message"] == ONE_MORE
        await world.cluster.delete(PODS, "default", "train-1", grace_period_seconds=0)
        await settle(world)
        assert world.condition("train-0")["message"] == TWO_MORE

    world.run(story)


def test_the_reason_of_an_attempt_goes_when_a_pod_is_deleted() -> None:
    world = GangWorld(node("a").offering(cpu="2"), group("train", 3), *members("train", 3))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert "2 of the 3 pods needed fit" in world.condition("train-0")["message"]
        await world.cluster.delete(PODS, "default", "train-2", grace_period_seconds=0)
        await settle(world, 6)
        assert world.condition("train-0")["message"] == ONE_MORE
        assert world.condition("train-1")["message"] == ONE_MORE

    world.run(story)


def test_when_the_group_is_whole_the_reason_goes_at_once() -> None:
    """Within the minute in which nothing is said twice of attempts."""
    world = GangWorld(node("a").offering(cpu="2"), group("train", 3), *members("train", 3))

    async def story(world: GangWorld) -> None:
        await settle(world, 3)
        await world.cluster.delete(PODS, "default", "train-2", grace_period_seconds=0)
        await settle(world, 15)
        assert world.condition("train-0")["message"] == ONE_MORE
        world.apply(member("train-3", "train"))
        await settle(world, 15)
        for name in ("train-0", "train-1", "train-3"):
            assert "2 of the 3 pods needed fit" in world.condition(name)["message"], name
        world.apply(node("b"))
        await settle(world)

    world.run(story)

    assert len(world.bound("train")) == 3
    for name in world.bound("train"):
        assert world.condition(name)["status"] == "True"


def test_another_replica_does_not_repeat_what_pods_say() -> None:
    world = GangWorld(node("a"), group("train", 3), *members("train", 2))

    async def story(world: GangWorld) -> None:
        await settle(world)
        await world.stop()
        await world.start()
        await settle(world)
        assert failures(world, "train-0") == [ONE_MORE]

    world.run(story)


class RefusedStatus(MemoryCluster):
    """Refuses the first writes of the status of each pod."""

    async def patch_pod_status(self, namespace: str, name: str, patch: Raw, uid: str) -> None:
        if self.clock.now() < 1025.0:
            raise TooManyRequests("later")
        await super().patch_pod_status(namespace, name, patch, uid)


def test_a_reason_that_could_not_be_written_is_written_later() -> None:
    world = GangWorld(node("a"), group("train", 3), *members("train", 2), cluster=RefusedStatus)

    async def story(world: GangWorld) -> None:
        await settle(world, 20)
        assert world.condition("train-0") == {}
        await settle(world, 20)
        assert world.condition("train-0")["message"] == ONE_MORE

    world.run(story)


def test_pods_that_arrive_one_by_one_do_not_have_all_others_told_each_time() -> None:
    world = GangWorld(node("a").offering(pods="200"), group("train", 200))

    async def story(world: GangWorld) -> None:
        for one in members("train", 100, cpu="1m"):
            world.apply(one)
            await world.clock.sleep(0.2)
        await settle(world)

    world.run(story)

    assert 1 < len(failures(world, "train-0")) <= 4
    assert world.condition("train-0")["message"].endswith("100 of 200 exist")
