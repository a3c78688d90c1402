"""A new leader decides on what is, not on what was when its watch last brought something."""

import logging
from collections.abc import Awaitable, Callable
from typing import Literal

import pytest

from moorage.app.leadership import ElectionLog
from moorage.bind.event_recorder import EventRecorder
from moorage.clock import VirtualClock, run_virtual
from moorage.kube.leader_election import ElectionNews, LeaseTimes
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import PODS, RESOURCES
from moorage.watch.freshness import PATIENCE_SECONDS, TAKEOVER_SECONDS, Behind
from tests.unit.app.replicas import (
    CUT,
    GONE,
    NODES_MADE,
    PODS_PER_NODE,
    WAITED_FOR,
    Replica,
    add_pods,
    fill,
    loads,
    open_nodes,
)

ROOM = NODES_MADE * PODS_PER_NODE


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock(1_767_225_600.0)
        self.cluster = MemoryCluster(clock=self.clock)
        fill(self.cluster)

    def replica(self, name: str) -> Replica:
        return Replica(self.cluster, self.clock, name)


def play(story: Callable[[World], Awaitable[None]]) -> World:
    world = World()
    run_virtual(story(world), world.clock)  # type: ignore[arg-type]
    return world


async def leader_and_standby(world: World) -> tuple[Replica, Replica]:
    leader = world.replica("a")
    await world.clock.sleep(5.0)
    standby = world.replica("b")
    await world.clock.sleep(5.0)
    assert leader.elector.leading
    assert not standby.elector.leading
    return leader, standby


async def deafened(world: World, standby: Replica) -> None:
    """Its watch of pods gets 410, and so does every new one, so that it sleeps ever longer."""
    standby.line.watch_error = GONE
    standby.line.list_error = CUT
    add_pods(world.cluster, "wakes-the-watch", 1)
    await world.clock.sleep(40.0)
    assert standby.scheduler.reflectors["pods"].state == "waiting"


def test_a_standby_whose_watch_slept_knows_what_the_last_leader_bound() -> None:
    async def story(world: World) -> None:
        leader, standby = await leader_and_standby(world)
        add_pods(world.cluster, "waiting", 8, nodeSelector=WAITED_FOR)
        await world.clock.sleep(1.0)
        await deafened(world, standby)
        add_pods(world.cluster, "first", ROOM - 1)
        await world.clock.sleep(2.0)
        assert sum(loads(world.cluster).values()) == ROOM
        standby.line.watch_error = standby.line.list_error = None
        await leader.die()
        await open_nodes(world.cluster)
        while not standby.elector.leading:
            await world.clock.sleep(0.1)
        began = world.clock.now()
        while not standby.scheduler.active.is_set():
            await world.clock.sleep(0.05)

        caught_up = world.clock.now() - began
        await world.clock.sleep(1.0)
        assert max(loads(world.cluster).values()) == PODS_PER_NODE
        assert caught_up < 1.0, "it does not sleep on"
        assert "caught up with the API server" in standby.said
        await standby.die()

    play(story)


def test_while_it_is_behind_a_leader_attempts_nothing_and_is_not_ready() -> None:
    async def story(world: World) -> None:
        leader, standby = await leader_and_standby(world)
        await deafened(world, standby)
        standby.line.watch_error = None
        await leader.die()
        add_pods(world.cluster, "late", 3)
        await world.clock.sleep(30.0)

        assert standby.elector.leading
        assert standby.freshness.behind == ["pods"]
        assert not standby.freshness.is_current
        assert standby.scheduler.attempts == 0
        assert b"moorage_up_to_date 0.0" in standby.metrics.render()[0]
        standby.line.list_error = None
        await world.clock.sleep(40.0)
        assert standby.freshness.behind == []
        assert sum(loads(world.cluster).values()) == 4
        told = standby.metrics.render()[0]
        assert b"moorage_up_to_date 1.0" in told
        assert b'moorage_catch_up_duration_seconds_count{reason="lead"} 1.0' in told
        await standby.die()

    play(story)


def test_a_leader_that_cannot_catch_up_lets_another_try() -> None:
    async def story(world: World) -> None:
        leader, standby = await leader_and_standby(world)
        await deafened(world, standby)
        await leader.die()
        while not standby.elector.leading:
            await world.clock.sleep(0.1)
        third = world.replica("c")
        with pytest.raises(Behind, match="pods"):
            await standby.task
        add_pods(world.cluster, "late", 3)
        await world.clock.sleep(10.0)

        assert third.elector.leading
        assert sum(loads(world.cluster).values()) == 4
        await third.die()

    world = play(story)
    assert world.clock.now() - 1_767_225_600.0 > TAKEOVER_SECONDS


def test_a_healthy_standby_lists_nothing_more_than_once() -> None:
    async def story(world: World) -> None:
        leader, standby = await leader_and_standby(world)
        before = standby.line.lists
        await leader.die()
        await world.clock.sleep(30.0)

        assert standby.scheduler.active.is_set()
        assert standby.line.lists <= before + 1
        await standby.die()

    play(story)


def test_a_leader_whose_watch_fails_catches_up_before_it_goes_on() -> None:
    """Another scheduler fills the nodes meanwhile."""

    async def story(world: World) -> None:
        leader = world.replica("a")
        await world.clock.sleep(5.0)
        leader.line.watch_error, leader.line.list_error = GONE, CUT
        add_pods(world.cluster, "x", ROOM)
        for i in range(ROOM):
            uid = world.cluster.read(PODS, "default", f"x{i}")["metadata"]["uid"]
            await world.cluster.bind("default", f"x{i}", uid, f"n{i % NODES_MADE}")
        await world.clock.sleep(5.0)
        assert not leader.freshness.is_current
        leader.line.watch_error = leader.line.list_error = None
        add_pods(world.cluster, "late", 3)
        await world.clock.sleep(PATIENCE_SECONDS)

        assert leader.freshness.is_current
        assert max(loads(world.cluster).values()) == PODS_PER_NODE
        assert b'{reason="watch"} 1.0' in leader.metrics.render()[0]
        await leader.die()

    play(story)


def test_a_resource_that_cannot_be_followed_does_not_stop_a_leader_for_ever() -> None:
    async def story(world: World) -> None:
        leader = world.replica("a")
        await world.clock.sleep(5.0)
        leader.line.watch_error, leader.line.list_error = GONE, CUT
        add_pods(world.cluster, "x", 1)
        await world.clock.sleep(PATIENCE_SECONDS + 5.0)

        assert leader.freshness.is_current
        assert "deciding on what was last known" in leader.said
        await world.clock.sleep(300.0)
        assert leader.freshness.is_current
        assert leader.said.count("deciding on what was last known") == 1
        leader.line.watch_error = leader.line.list_error = None
        await world.clock.sleep(120.0)
        assert sum(loads(world.cluster).values()) == 1
        await leader.die()

    play(story)


def test_a_watch_that_falls_silent_is_looked_into() -> None:
    async def story(world: World) -> None:
        leader = world.replica("a")
        await world.clock.sleep(5.0)
        before = leader.line.lists
        leader.line.mute = True
        await world.clock.sleep(200.0)

        assert leader.line.lists > before
        assert b'{reason="silence"}' in leader.metrics.render()[0]
        leader.line.mute = False
        await leader.die()

    play(story)


def test_a_process_that_stood_still_catches_up_first() -> None:
    async def story(world: World) -> None:
        leader = world.replica("a")
        await world.clock.sleep(5.0)
        assert leader.freshness.is_current
        world.clock.advance(8.0)

        assert not leader.freshness.is_current
        await world.clock.sleep(3.0)
        assert leader.freshness.is_current
        assert b'{reason="standstill"} 1.0' in leader.metrics.render()[0]
        await leader.die()

    play(story)


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [
        pytest.param(CUT, False, id="groups that cannot be listed are waited for"),
        pytest.param(NotFound("no such resource"), True, id="groups that are gone are not"),
    ],
)
def test_what_a_server_need_not_have_is_caught_up_with_too(error: ApiError, goes_on: bool) -> None:
    async def story(world: World) -> None:
        leader, standby = await leader_and_standby(world)
        standby.line.about = RESOURCES["podgroups"]
        standby.line.list_error = error
        await leader.die()
        while not standby.elector.leading:
            await world.clock.sleep(0.1)
        await world.clock.sleep(9.0)
        assert standby.freshness.behind == ["podgroups"]
        await world.clock.sleep(6.0)

        assert standby.scheduler.active.is_set() == goes_on
        standby.line.list_error = None
        await world.clock.sleep(60.0)
        assert standby.scheduler.active.is_set()
        await standby.die()

    play(story)


@pytest.mark.parametrize(
    ("kind", "level"),
    [("leading", logging.INFO), ("trouble", logging.WARNING), ("in vain", logging.WARNING)],
)
def test_what_keeps_a_replica_from_leading_is_a_warning(
    kind: Literal["leading", "trouble", "in vain"], level: int, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    recorder = EventRecorder(world.cluster, world.clock, instance="moorage-0")
    told = ElectionLog(LeaseTimes(), recorder, lambda: "default-scheduler")
    with caplog.at_level(logging.INFO):
        told(ElectionNews(kind, "so it is"))

    assert [(record.levelno, record.message) for record in caplog.records] == [(level, "so it is")]
