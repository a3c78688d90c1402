"""What becomes of a preemption on a cluster: victims leave, and the preemptor takes their place."""

from collections import Counter
from typing import Any

import pytest

from moorage.api.pod import Pod
from moorage.framework.cycle import Cycle
from moorage.framework.points import Permit, PreBind
from moorage.framework.verdicts import Wait
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Result
from moorage.preemption.feature import Preemption
from moorage.testing import node, pod
from moorage.watch.api_resources import PODS
from tests.unit.gang.gang_world import GangWorld, settle
from tests.unit.preemption.preemption_world import (
    Fleeting,
    Forbidding,
    Replacing,
    ReplacingEarly,
    Slow,
    SlowToMark,
    high,
    low,
    names,
    one_core,
)


def test_a_victim_is_marked_told_and_deleted_and_the_preemptor_takes_its_place() -> None:
    world = GangWorld(*one_core("a"), low("victim", "a", grace=30), high("vip"), stopping=10)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        raw = world.cluster.read(PODS, "default", "victim")
        marked = next(c for c in raw["status"]["conditions"] if c["type"] == "DisruptionTarget")
        assert (marked["status"], marked["reason"]) == ("True", "PreemptionByScheduler")
        assert "deletionTimestamp" in raw["metadata"]
        assert world.bound() == {"victim": "a"}
        await settle(world)

    world.run(story)

    assert world.events("victim", "Preempted") == ["Preempted by pod default/vip on node a"]
    assert world.bound() == {"vip": "a"}
    (told,) = world.evictions
    assert (told.pod, told.node, told.priority) == ("default/victim", "a", 0)
    assert (told.by, told.what, told.by_priority) == ("default/vip", "pod", 100)
    assert (told.way, told.time) == ("deletion", 1000.0)


def test_the_preemptor_is_promised_its_node_on_the_api_server() -> None:
    world = GangWorld(*one_core("a"), low("victim", "a"), high("vip"), cluster=Slow)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        status = world.cluster.read(PODS, "default", "vip")["status"]
        assert status["nominatedNodeName"] == "a"
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a"}


def test_while_victims_are_evicted_the_preemptor_is_not_attempted() -> None:
    """Something happens every tenth of a second that is worth an attempt otherwise."""
    victims = [low(f"v{i}", "a") for i in range(3)]
    world = GangWorld(
        node("a").offering(cpu="3"),
        node("b").offering(cpu="3"),
        *victims,
        low("other", "b", priority=50),
        high("vip", cpu="3"),
        cluster=Slow,
        backoff=(0.1, 0.1),
    )

    async def story(world: GangWorld) -> None:
        for index in range(30):
            await world.clock.sleep(0.1)
            world.apply(node("b").offering(cpu=f"{3001 + index}m"))
        assert [a.pod for a in world.attempts] == ["default/vip"]
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a", "other": "b"}


def test_while_its_victims_leave_for_another_a_pod_is_not_attempted_either() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        node("b").offering(cpu="1"),
        low("victim", "a", cpu="2"),
        low("other", "b", priority=50),
        high("first"),
        high("second"),
        cluster=Slow,
        backoff=(0.1, 0.1),
    )

    async def story(world: GangWorld) -> None:
        for index in range(15):
            await world.clock.sleep(0.1)
            world.apply(node("b").offering(cpu=f"{1001 + index}m"))
        assert [a.pod for a in world.attempts] == ["default/first", "default/second"]
        assert names(world) >= {"victim"}
        await settle(world)

    world.run(story)

    assert world.bound() == {"first": "a", "second": "a", "other": "b"}
    assert [told.pod for told in world.evictions] == ["default/victim"]


def test_whoever_waited_for_evictions_that_failed_is_tried_again() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        low("kept", "a", cpu="2"),
        high("first"),
        high("second"),
        cluster=Forbidding,
        backoff=(5.0, 5.0),
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(3)

    world.run(story)

    tried = Counter(attempt.pod for attempt in world.results(Result.UNSCHEDULABLE))
    assert min(tried["default/first"], tried["default/second"]) > 1


def test_a_victim_that_cannot_be_evicted_spares_the_last_and_the_preemptor_tries_again() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        low("kept", "a", priority=1),
        low("last", "a", priority=0),
        high("vip", cpu="2"),
        cluster=Forbidding,
        backoff=(5.0, 5.0),
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(2)
        assert names(world) == {"kept", "last", "vip"}

    world.run(story)

    assert len(world.results(Result.UNSCHEDULABLE)) > 1
    assert any("forbidden" in failure for failure in world.failures)
    room = world.scheduler.feature(Preemption).counts()
    assert room.evictions["deletion", "failed"] == len(world.failures)
    assert room.leaving == 0


@pytest.mark.parametrize("cluster", [Fleeting, Replacing, ReplacingEarly])
def test_a_victim_that_is_gone_by_then_is_no_failure_and_nothing_is_said_of_it(
    cluster: type[MemoryCluster],
) -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        low("fleeting", "a"),
        low("other", "a"),
        high("vip", cpu="2"),
        cluster=cluster,
    )

    world.run()

    assert world.bound() == {"vip": "a"}
    assert world.failures == []
    assert world.events("fleeting", "Preempted") == []
    assert len(world.events("other", "Preempted")) == 1
    room = world.scheduler.feature(Preemption).counts()
    assert room.evictions == {("deletion", "gone"): 1, ("deletion", "evicted"): 1}


def test_a_pod_that_is_outbid_loses_its_promise_on_the_api_server_too() -> None:
    world = GangWorld(*one_core("a"), low("victim", "a"), high("first", priority=5), cluster=Slow)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        assert world.cluster.read(PODS, "default", "first")["status"]["nominatedNodeName"] == "a"
        world.apply(high("second", priority=9))
        await world.clock.sleep(0.5)
        status = world.cluster.read(PODS, "default", "first")["status"]
        assert not status.get("nominatedNodeName")
        assert world.scheduler.cache.nominations.node_of("default/first") is None
        await settle(world)

    world.run(story)

    assert world.bound() == {"second": "a"}


def test_a_victim_that_is_leaving_already_is_not_deleted_again() -> None:
    world = GangWorld(*one_core("a"), low("victim", "a", grace=20), stopping=20)

    async def story(world: GangWorld) -> None:
        await world.cluster.delete(PODS, "default", "victim")
        world.apply(high("vip"))
        await settle(world)

    world.run(story)

    assert world.events("victim", "Preempted") == []
    assert world.bound() == {"vip": "a"}


def test_a_nomination_that_does_not_come_true_is_given_up() -> None:
    """The victim takes an hour to leave; meanwhile another node comes free."""
    world = GangWorld(
        *one_core("a"),
        low("victim", "a", grace=3600),
        high("vip"),
        args={"DefaultPreemption": {"nominationSeconds": 60}},
        stopping=3600,
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(59)
        assert world.scheduler.cache.nominations.node_of("default/vip") == "a"
        await world.clock.sleep(2)
        assert len(world.events("vip", "NominationGivenUp")) == 1
        assert world.scheduler.feature(Preemption).counts().nominations_given_up == 1

    world.run(story)


def test_a_pod_that_waits_for_permission_is_sent_back_and_not_deleted() -> None:
    class Holds(Permit, frozen=True):
        def permit(self, cycle: Cycle, pod: Pod, node: Any) -> Wait | None:
            return Wait(600.0) if pod.name == "patient" else None

    world = GangWorld(*one_core("a"), pod("patient").requesting(cpu="1"), plugins=(Holds,))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        world.apply(high("vip"))
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a"}
    assert "patient" in names(world)
    assert world.events("patient", "Preempted") == [
        "Preempted by pod default/vip on node a (in kube-scheduler memory)."
    ]
    assert [(e.pod, e.node, e.way) for e in world.evictions] == [("default/patient", "a", "memory")]
    assert world.scheduler.feature(Preemption).counts().evictions == {("memory", "evicted"): 1}
    assert len({a.id for a in world.attempts if a.pod == "default/patient"}) == 2, "tried again"


def test_a_pod_that_is_being_made_ready_is_called_back_and_not_deleted() -> None:
    class Slowly(PreBind, frozen=True):
        async def pre_bind(self, cycle: Cycle, pod: Pod, node: Any) -> None:
            if pod.name == "patient" and cycle.client is not None:
                await cycle.client.wait_until(lambda: False, 600.0)

    world = GangWorld(*one_core("a"), pod("patient").requesting(cpu="1"), plugins=(Slowly,))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        assert world.scheduler.binding == 1
        world.apply(high("vip"))
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a"}
    assert "patient" in names(world)
    assert world.scheduler.binding == 0
    assert world.scheduler.feature(Preemption).counts().evictions == {("memory", "evicted"): 1}
    assert len({a.id for a in world.attempts if a.pod == "default/patient"}) == 2, "tried again"


def test_a_pod_that_was_sent_back_is_evicted_like_any_other_once_it_runs() -> None:
    class Holds(Permit, frozen=True):
        def permit(self, cycle: Cycle, pod: Pod, node: Any) -> Wait | None:
            return Wait(600.0) if (pod.name, node.name) == ("patient", "a") else None

    world = GangWorld(*one_core("a"), pod("patient").requesting(cpu="1"), plugins=(Holds,))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        world.apply(high("vip"))
        await settle(world)
        assert world.scheduler.feature(Preemption).counts().leaving == 0
        world.apply(*one_core("b"))
        await settle(world)
        assert world.bound() == {"vip": "a", "patient": "b"}
        world.apply(high("second"))
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a", "second": "b"}
    assert [(e.pod, e.way) for e in world.evictions] == [
        ("default/patient", "memory"),
        ("default/patient", "deletion"),
    ]


def test_a_victim_that_is_let_through_at_the_last_moment_is_marked_and_deleted() -> None:
    class Holds(Permit, frozen=True):
        def permit(self, cycle: Cycle, pod: Pod, node: Any) -> Wait | None:
            return Wait(600.0) if pod.name == "patient" else None

    world = GangWorld(
        node("a").offering(cpu="2"),
        low("other", "a"),
        pod("patient").requesting(cpu="1").with_spec(terminationGracePeriodSeconds=30),
        plugins=(Holds,),
        cluster=SlowToMark,
        stopping=10,
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        world.apply(high("vip", cpu="2"))
        await world.clock.sleep(1)
        (held,) = world.scheduler.waiting.all()
        held.allow("Holds")
        await world.clock.sleep(4)
        raw = world.cluster.read(PODS, "default", "patient")
        assert "deletionTimestamp" in raw["metadata"]
        assert "DisruptionTarget" in {each["type"] for each in raw["status"]["conditions"]}
        await settle(world)

    world.run(story)

    assert world.bound() == {"vip": "a"}


def test_nothing_is_kept_of_preemptors_that_are_gone() -> None:
    """Neither of one that is deleted after its evictions have failed, nor of one before."""
    world = GangWorld(
        node("a").offering(cpu="1"), low("kept", "a"), cluster=Forbidding, backoff=(5.0, 5.0)
    )

    async def story(world: GangWorld) -> None:
        feature = world.scheduler.feature(Preemption)
        world.apply(high("vip"))
        await settle(world, 2)
        assert set(feature._failures) == {"default/vip"}
        for number in range(3):
            world.apply(high(f"vip-{number}"))
            await settle(world, 0.5 * number)
            await world.cluster.delete(PODS, "default", f"vip-{number}", grace_period_seconds=0)
        await world.cluster.delete(PODS, "default", "vip", grace_period_seconds=0)
        await settle(world, 60)
        assert feature._failures == {}

    world.run(story)

    assert world.failures
