"""A group is reserved, made ready and bound whole, or given back whole."""

from typing import Any

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.framework.cycle import Cycle
from moorage.framework.points import Bind, PreBind, Reserve
from moorage.framework.verdicts import Rejection, unschedulable
from moorage.observe.records import Result
from moorage.testing import node, pod
from moorage.watch.api_errors import Conflict, Unreachable
from moorage.watch.api_resources import NODES
from tests.unit.gang.gang_world import (
    GangWorld,
    group,
    members,
    settle,
)


class Reserves(Reserve, frozen=True):
    """Counts what is reserved."""

    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        cycle.shared.setdefault("reserved", set()).add(pod.name)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        cycle.shared["reserved"].discard(pod.name)


def test_what_plugins_reserved_for_a_group_that_does_not_fit_is_given_back() -> None:
    world = GangWorld(node("a"), group("train", 5), *members("train", 5), plugins=(Reserves,))

    world.run()

    assert world.profile.shared["reserved"] == set()


class Unready(PreBind, frozen=True):
    """Cannot make one pod ready, the first time."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        if pod.name == "train-2" and not cycle.shared.setdefault("tried", False):
            cycle.shared["tried"] = True
            return unschedulable("its volume is not there")
        return None


def test_no_pod_is_bound_before_all_are_ready_to_be() -> None:
    world = GangWorld(node("a"), group("train", 4), *members("train", 4), plugins=(Unready,))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(0.5)
        assert world.bound() == {}
        assert world.scheduler.cache.assumed == set()
        await settle(world)

    world.run(story)

    assert len(world.bound()) == 4


class Waits(PreBind, frozen=True):
    """Takes a second to make a pod ready."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        await cycle.shared["clock"].sleep(1.0)
        return None


def test_a_node_that_is_lost_before_the_first_pod_is_bound_leaves_nobody_behind() -> None:
    nodes = [node("a").offering(cpu="2"), node("b").offering(cpu="2")]
    world = GangWorld(*nodes, group("train", 4), *members("train", 4), plugins=(Waits,))
    world.profile.shared["clock"] = world.clock

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(0.5)
        await world.cluster.delete(NODES, "", "b")
        await settle(world)
        assert world.bound() == {}
        assert world.scheduler.cache.assumed == set()
        world.apply(node("c").offering(cpu="2"))
        await settle(world)

    world.run(story)

    assert set(world.bound().values()) == {"a", "c"}
    assert any("node b is gone" in attempt.message for attempt in world.attempts)


class Flaky(Bind, frozen=True):
    """Fails to bind as `cycle.shared["faults"]` says: pod name -> errors still to come."""

    async def bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        faults = cycle.shared.get("faults", {}).get(pod.name, [])
        if faults:
            raise faults.pop(0)
        assert cycle.client is not None
        await cycle.client.bind(pod.namespace, pod.name, pod.uid, node.name)


def flaky(*objects: Any, faults: dict[str, list[Exception]], **settings: Any) -> GangWorld:
    world = GangWorld(*objects, plugins=(Flaky,), **settings)
    world.profile.bind = [("Flaky", Flaky())]
    world.profile.shared["faults"] = faults
    return world


def test_a_passing_fault_of_the_api_server_is_waited_out_with_everything_held() -> None:
    faults: dict[str, list[Exception]] = {
        f"train-{i}": [Unreachable("gone"), Unreachable("still")] for i in (1, 2, 3)
    }
    world = flaky(node("a"), group("train", 4), *members("train", 4), faults=faults)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(0.5)
        world.apply(pod("thief").requesting(cpu="2"))
        await settle(world)

    world.run(story)

    assert len(world.bound("train")) == 4
    assert "thief" not in world.bound()


def test_a_bind_that_fails_for_good_releases_the_rest_and_the_group_is_tried_again() -> None:
    faults: dict[str, list[Exception]] = {"train-1": [Conflict("no")]}
    world = flaky(node("a"), group("train", 4), *members("train", 4), faults=faults)

    world.run()

    assert len(world.bound("train")) == 4
    assert any("no" in attempt.message for attempt in world.results(Result.ERROR))
    assert world.scheduler.cache.assumed == set()


def test_a_pod_that_is_not_needed_may_fail_to_be_bound() -> None:
    faults: dict[str, list[Exception]] = {"train-1": [Conflict("no")] * 50}
    world = flaky(node("a"), group("train", 3), *members("train", 4), faults=faults)

    world.run()

    assert set(world.bound("train")) == {"train-0", "train-2", "train-3"}
    assert world.status("train")["phase"] == "Scheduled"


class OneIsNeverReady(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return unschedulable("its volume is not there") if pod.name == "train-1" else None


def test_a_pod_of_a_whole_group_that_is_refused_at_pre_bind_backs_off() -> None:
    pods = members("train", 2)
    world = GangWorld(node("a"), group("train", 1), *pods, plugins=(OneIsNeverReady,))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(10)

    world.run(story)

    refused = [each for each in world.attempts if each.result is Result.UNSCHEDULABLE]
    assert [round(each.time) for each in refused] == [1000, 1002, 1005]
    assert {each.message for each in refused} == {"its volume is not there"}
