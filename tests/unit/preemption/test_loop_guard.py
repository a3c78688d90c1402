"""The guard against pods that evict each other in a circle."""

from typing import Any

import pytest

from moorage.api.pod import Pod
from moorage.memory.memory_cluster import MemoryCluster
from moorage.preemption.feature import Preemption
from moorage.preemption.loop_guard import LoopGuard
from moorage.testing import pod
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Resource
from tests.unit.gang.gang_world import GangWorld, settle
from tests.unit.preemption.preemption_world import (
    high,
    low,
    one_core,
    owned,
)


class TestLoopGuard:
    @pytest.mark.parametrize(("limit", "most"), [(3, 6), (5, 8)])
    def test_a_circle_is_cut_and_told(self, limit: int, most: int) -> None:
        world = GangWorld(
            *one_core("a"),
            owned(low("rival-0", "a"), "rival"),
            owned(high("vip"), "vips"),
            args={"DefaultPreemption": {"loopGuard": limit}},
            backoff=(0.1, 0.1),
            cluster=Rivals,
        )
        world.run(lambda world: settle(world, 60))

        evicted = len(world.cluster.evicted)  # type: ignore[attr-defined]
        assert limit <= evicted <= most
        (note,) = world.events("vip", "PreemptionLoop")
        assert note.startswith(
            f"pods of ReplicaSet default/vips have evicted pods of ReplicaSet default/rival {limit}"
        )
        guard = world.scheduler.feature(Preemption).guard
        assert guard.stopped == {("ReplicaSet default/vips", "ReplicaSet default/rival"): 1}
        room = world.scheduler.feature(Preemption).counts()
        assert (room.loops_cut, room.pairs_stopped) == (1, 1)

    def test_without_it_the_circle_goes_on(self) -> None:
        world = GangWorld(
            *one_core("a"),
            owned(low("rival-0", "a"), "rival"),
            owned(high("vip"), "vips"),
            args={"DefaultPreemption": {"loopGuard": 0}},
            backoff=(0.1, 0.1),
            cluster=Rivals,
        )
        world.run(lambda world: settle(world, 60))

        assert len(world.cluster.evicted) > 15  # type: ignore[attr-defined]

    def test_evicting_many_pods_of_one_owner_once_is_no_circle(self) -> None:
        victims = [owned(low(f"low-{n}", n), "low") for n in "abcdefghijkl"]
        vips = [owned(high(f"vip-{n}"), "vips") for n in "abcdefghijkl"]
        world = GangWorld(
            *one_core(*"abcdefghijkl"),
            *victims,
            *vips,
            args={"DefaultPreemption": {"loopGuard": 2}},
        )

        world.run()

        assert len(world.bound("vip")) == 12

    def test_a_preemptor_that_was_stopped_is_tried_again_when_the_window_is_over(self) -> None:
        world = GangWorld(
            *one_core("a"),
            owned(low("rival-0", "a"), "rival"),
            owned(high("vip"), "vips"),
            args={"DefaultPreemption": {"loopGuard": 3}},
            backoff=(0.1, 0.1),
            cluster=Rivals,
        )

        async def story(world: GangWorld) -> None:
            await settle(world, 60)
            evicted = len(world.cluster.evicted)  # type: ignore[attr-defined]
            await settle(world, 500)
            assert len(world.cluster.evicted) == evicted  # type: ignore[attr-defined]
            await settle(world, 60)
            assert len(world.cluster.evicted) > evicted  # type: ignore[attr-defined]

        world.run(story)

    def test_after_a_while_a_pair_may_try_again(self) -> None:
        guard, vip = LoopGuard(window=10.0), owned(pod("vip"), "vips").build()
        circle(guard, vip, turns=2, limit=2)

        victim = owned(pod("low-9"), "low").build()
        assert guard.is_stopped(vip, victim, 3.0)
        assert not guard.is_stopped(victim, vip, 3.0)
        assert not guard.is_stopped(vip, victim, 12.5)

    def test_it_counts_what_came_after_and_not_what_was_there(self) -> None:
        guard, vip = LoopGuard(), owned(pod("vip"), "vips").build()
        there = [owned(pod(f"low-{n}"), "low").build() for n in range(5)]

        assert not any(guard.note(vip, victim, 0.0, limit=1) for victim in there)
        newcomer = owned(pod("low-5"), "low").build()
        guard.arrived(newcomer)
        assert guard.note(vip, newcomer, 0.1, limit=1)

    def test_turns_that_are_far_apart_are_no_circle(self) -> None:
        guard, vip = LoopGuard(window=10.0), owned(pod("vip"), "vips").build()

        assert not circle(guard, vip, turns=6, limit=2, every=11.0)
        assert circle(guard, vip, turns=6, limit=2, every=9.0)

    def test_it_forgets_pairs_it_has_not_heard_of_for_long(self) -> None:
        guard = LoopGuard(window=10.0)
        for n in range(100):
            vip, victim = owned(pod("v"), f"v{n}").build(), owned(pod("l"), f"l{n}").build()
            guard.arrived(victim)
            guard.note(vip, victim, n * 5.0, limit=3)
            assert guard._first
            assert guard._newcomers

        assert len(guard._first) < 10
        assert len(guard._newcomers) < 10


def circle(guard: LoopGuard, vip: Pod, turns: int, limit: int, every: float = 1.0) -> bool:
    """Evict a pod, and its successors one by one; whether the guard ever said stop."""
    cut = False
    for turn in range(turns + 1):
        victim = owned(pod(f"low-{turn}"), "low").build()
        guard.arrived(victim)
        cut |= guard.note(vip, victim, turn * every, limit)
    return cut


class Rivals(MemoryCluster):
    """A cluster where another scheduler fills node `a` as soon as a pod of its own is deleted."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.evicted: list[str] = []

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        await self.clock.sleep(1.5)
        await super().delete(resource, namespace, name, **options)
        if resource is PODS and name.startswith("rival"):
            self.evicted.append(name)
            made = owned(low(f"rival-{len(self.evicted)}", "a"), "rival")
            self.apply({"apiVersion": "v1", "kind": "Pod", **made.raw})


def test_only_pods_that_there_are_may_be_newcomers() -> None:
    guard, vip = LoopGuard(), owned(high("vip"), "vips").build()
    rivals = [owned(low(f"rival-{i}", "a"), "rival").build() for i in range(100)]
    guard.note(vip, rivals[0], 1000.0, 10)
    for number, rival in enumerate(rivals[1:], 1):
        guard.arrived(rival)
        guard.left(rivals[number - 1])

    assert guard._newcomers == {"ReplicaSet default/rival": {rivals[-1].uid}}
