"""Evictions for groups and of groups that fail, are interrupted, or meet a binding."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from moorage import Permit, PreBind, Wait
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.bind.status_patches import disruption_target_patch
from moorage.clock import Clock
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import Plugin
from moorage.memory.memory_cluster import MemoryCluster
from moorage.testing import node, pod
from moorage.watch.api_errors import Forbidden, Unauthorized
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Resource
from tests.unit.gang.gang_world import (
    GangWorld,
    group,
    member,
    members,
    running,
    settle,
    vips,
)
from tests.unit.preemption.preemption_world import low, names


class Forbidding(MemoryCluster):
    """An API server that lets nobody delete pods for a while."""

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        if resource is PODS and self.clock.now() < 1020.0:
            raise Forbidden("not now")
        await super().delete(resource, namespace, name, **options)


def test_evictions_that_fail_are_tried_again() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        low("low-0", "a"),
        low("low-1", "a"),
        group("vip", 2),
        *vips(2),
        cluster=Forbidding,
    )

    world.run(lambda world: settle(world, 60))

    assert len(world.bound("vip")) == 2


class SlowBinds(MemoryCluster):
    """The bindings of some pods take effect late, and what was answered before is lost."""

    slow: ClassVar[set[str]] = {"batch-2", "batch-3", "batch-4"}

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        if name in self.slow:
            await self.clock.sleep(5.0)
        await super().bind(namespace, name, uid, node, annotations)


def half_bound(*more: Any) -> GangWorld:
    """A group of five, of which three are being bound for five seconds."""
    batch = [p.with_spec(terminationGracePeriodSeconds=0) for p in members("batch", 5)]
    nodes = [node("a").offering(cpu="3"), node("b").offering(cpu="3")]
    return GangWorld(*nodes, group("batch", 5), *batch, *more, cluster=SlowBinds)


@pytest.mark.parametrize("on", ["a", "b"])
def test_pods_that_are_being_bound_leave_with_their_group(on: str) -> None:
    """Whichever of them is chosen, and whether its binding is known of or not."""
    world = half_bound()

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        assert len(world.bound("batch")) == 2
        vip = pod("vip").requesting(cpu="3").prioritised(100)
        world.apply(vip.with_spec(nodeSelector={"kubernetes.io/hostname": on}))
        await settle(world)

    world.run(story)

    assert set(world.bound()) == {"vip"}
    assert names(world) == {"vip"}


def test_a_group_that_is_being_bound_counts_as_whole_when_a_spare_pod_leaves() -> None:
    world = half_bound(member("batch-5", "batch").with_spec(terminationGracePeriodSeconds=0))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        assert len(world.bound("batch")) == 3
        world.apply(pod("vip").requesting(cpu="1").prioritised(100))
        await settle(world)

    world.run(story)

    assert len(world.bound("batch")) == 5
    assert "vip" in world.bound()


def test_a_group_makes_room_once_the_binding_of_its_victims_has_ended() -> None:
    world = half_bound()

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        world.apply(group("vip", 2), *vips(2, cpu="3"))
        await settle(world, 60)

    world.run(story)

    assert len(world.bound("vip")) == 2
    assert names(world) == {"vip-0", "vip-1"}


class RefusedOnce(MemoryCluster):
    """Does not delete some pods, until it is told to."""

    refused: ClassVar[set[str]] = {"batch-1"}
    heals = True

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        if name in self.refused and not self.heals:
            raise Unauthorized("the token is not known, for now")
        await super().delete(resource, namespace, name, **options)


@pytest.mark.parametrize("restarted", [False, True])
def test_an_eviction_of_a_group_that_was_interrupted_is_finished(restarted: bool) -> None:
    """Even by another replica, and though nobody needs the room any more."""
    world = GangWorld(
        node("a").offering(cpu="3"),
        group("batch", 3),
        *running("batch", {"a": 3}),
        pod("vip").requesting(cpu="3").prioritised(100),
        cluster=RefusedOnce,
    )
    assert isinstance(world.cluster, RefusedOnce)
    world.cluster.heals = False

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(0.5)
        assert len(world.bound("batch")) < 3
        await world.cluster.delete(PODS, "default", "vip", grace_period_seconds=0)
        if restarted:
            await world.stop()
            await world.start()
        await world.clock.sleep(0.5)
        assert world.bound("batch")
        world.cluster.heals = True  # type: ignore[attr-defined]
        await settle(world, 15)

    world.run(story)

    assert names(world) == set()


class SlowToRefuse(MemoryCluster):
    """Takes eight seconds to say that it deletes no pod, until it is told to."""

    heals = False

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        if name.startswith("batch") and not self.heals:
            await self.clock.sleep(8.0)
            raise Unauthorized("the token is not known, for now")
        await super().delete(resource, namespace, name, **options)


def test_an_eviction_that_fails_late_is_finished() -> None:
    """The group is looked at while it is still being evicted, and once more after that."""
    world = GangWorld(
        node("a").offering(cpu="3"),
        group("batch", 3),
        *running("batch", {"a": 3}),
        pod("vip").requesting(cpu="3").prioritised(100),
        cluster=SlowToRefuse,
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        await world.cluster.delete(PODS, "default", "vip", grace_period_seconds=0)
        await settle(world, 10)
        assert len(world.bound("batch")) == 3
        world.cluster.heals = True  # type: ignore[attr-defined]
        await settle(world, 30)

    world.run(story)

    assert names(world) == set()


def test_a_group_leaves_whose_eviction_was_begun_while_a_pod_of_it_was_being_bound() -> None:
    """The pod was marked, and its binding never arrived: nobody is left half of a group."""
    world = GangWorld(
        node("a").offering(cpu="2"),
        group("batch", 3),
        *running("batch", {"a": 2}),
        member("batch-2", "batch").with_spec(terminationGracePeriodSeconds=0),
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(0.5)
        marked = next(p for p in world.cluster.objects(PODS) if p.name == "batch-2")
        assert isinstance(marked, Pod)
        patch = disruption_target_patch(marked, "default-scheduler", world.clock.now(), "pod")
        await world.cluster.patch_pod_status("default", "batch-2", patch, marked.uid)
        await settle(world, 15)

    world.run(story)

    assert names(world) == set()


def waiting_for_the_stuck(*more: Any) -> GangWorld:
    """Victims that are deleted, and never leave."""
    lows = [low("low-0", "a"), low("low-1", "a")]
    for each in lows:
        each.raw["metadata"]["finalizers"] = ["example.com/never"]
    return GangWorld(node("a").offering(cpu="2"), *lows, group("vip", 2), *vips(2), *more)


def test_a_group_whose_victims_are_leaving_takes_a_node_that_comes() -> None:
    world = waiting_for_the_stuck()

    async def story(world: GangWorld) -> None:
        await settle(world, 5)
        assert not world.bound("vip")
        world.apply(node("b").offering(cpu="2"))
        await settle(world, 5)

    world.run(story)

    assert set(world.bound("vip").values()) == {"b"}
    assert len(world.evictions) == 2


def test_a_group_whose_victims_never_leave_takes_room_that_others_leave() -> None:
    """When they are long overdue it is tried like any other."""
    other = pod("other").requesting(cpu="2").prioritised(1000).on("b")
    world = waiting_for_the_stuck(node("b").offering(cpu="2"), other)

    async def story(world: GangWorld) -> None:
        await settle(world, 120)
        assert not world.bound("vip")
        await world.finish("other")
        await settle(world)

    world.run(story)

    assert set(world.bound("vip").values()) == {"b"}
    assert len(world.evictions) == 2


class LongPermit(Permit, frozen=True):
    """The pods of a group are held for 20 seconds, and then refused."""

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Wait | None:
        return Wait(20.0) if pod.name.startswith("batch") else None


class LongPreBind(PreBind, frozen=True):
    """The pods of a group take 20 seconds to be prepared."""

    clock: ClassVar[Clock]

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        if pod.name.startswith("batch"):
            await self.clock.sleep(20.0)


@pytest.mark.parametrize("plugin", [LongPermit, LongPreBind])
def test_a_pod_of_a_group_that_was_called_back_leaves_at_once_and_is_never_deleted(
    plugin: type[Plugin],
) -> None:
    world = GangWorld(
        low("by", "a", cpu="500m", priority=1000),
        node("a").offering(cpu="3500m"),
        group("batch", 2),
        *members("batch", 3),
        plugins=(plugin,),
    )
    LongPreBind.clock = world.clock

    async def story(world: GangWorld) -> None:
        await settle(world, 1)
        world.apply(pod("vip").requesting(cpu="1").prioritised(100))
        await settle(world, 3)
        assert world.bound() == {"by": "a", "vip": "a"}
        await world.finish("by")  # whoever still waits is attempted again
        await settle(world, 60)

    world.run(story)

    assert [(each.pod, each.way) for each in world.evictions] == [("default/batch-2", "memory")]
    assert {"batch-0", "batch-1", "batch-2", "vip"} <= set(names(world))
    assert world.failures == []
