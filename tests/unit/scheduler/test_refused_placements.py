"""Pods that were placed, and are refused at Permit or at PreBind."""

import math

import pytest

from moorage import (
    Cycle,
    Node,
    Permit,
    Plugin,
    Pod,
    PreBind,
    Rejection,
    Reserve,
    Wait,
    pending,
    unschedulable,
)
from moorage.framework.events import ASSIGNED_POD_DELETE, EventHint
from moorage.observe.records import Result
from moorage.scheduler import placement
from moorage.testing import node, pod
from tests.unit.scheduler.test_scheduler import World, settle


class Reserves(Reserve, frozen=True):
    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        cycle.shared.setdefault("story", []).append("reserved")
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: Node) -> None:
        cycle.shared["story"].append("unreserved")


class WaitsTenSeconds(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Wait:
        return Wait(10.0)


def test_a_pod_that_nobody_permits_in_time_is_unreserved_and_forgotten() -> None:
    world = World(node("a"), pod("web"), plugins=(Reserves, WaitsTenSeconds))

    async def story(world: World) -> None:
        await world.clock.sleep(15)

    scheduler = world.run(story)

    assert world.node_of("web") is None
    assert world.profiles["default-scheduler"].shared["story"][:2] == ["reserved", "unreserved"]
    assert "rejected due to timeout after waiting 10s at plugin WaitsTenSeconds" in (
        world.attempts[1].message
    )
    assert scheduler.cache.assumed <= {"default/web"}


class WaitsAnHour(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Wait:
        return Wait(3600.0)


def test_no_plugin_holds_a_pod_for_longer_than_a_quarter_of_an_hour() -> None:
    world = World(node("a"), pod("web"), plugins=(WaitsAnHour,))

    async def story(world: World) -> None:
        await world.clock.sleep(16 * 60)

    world.run(story)

    assert "rejected due to timeout after waiting 15m0s at plugin WaitsAnHour" in (
        world.attempts[1].message
    )


class WaitsForRoom(Permit, frozen=True):
    """Lets nobody through, and says that a pod which leaves may change that."""

    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Wait:
        return Wait(1.0)

    def events(self) -> tuple[EventHint, ...]:
        return (EventHint(ASSIGNED_POD_DELETE),)


class WaitsAText(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Wait:
        return Wait("5")  # type: ignore[arg-type]


class WaitsForNoNumber(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Wait:
        return Wait(math.nan)


@pytest.mark.parametrize(
    ("plugin", "shown"),
    [
        pytest.param(WaitsAText, "'5'", id="a text"),
        pytest.param(WaitsForNoNumber, "nan", id="what is no number"),
    ],
)
def test_who_waits_for_no_number_of_seconds_is_named_and_the_pod_tried_again(
    plugin: type[Permit], shown: str
) -> None:
    world = World(node("a"), pod("web"), plugins=(plugin,))

    async def story(world: World) -> None:
        await world.clock.sleep(5)

    scheduler = world.run(story)

    assert len(world.attempts) > 1
    assert world.attempts[0].message.startswith(
        f"running Permit plugin '{plugin.__name__}': "
        f"ValueError: Wait({shown}): say how many seconds, as a number above 0 (in permit, "
    )
    assert not scheduler.cache.assumed


def test_a_fault_of_ours_at_permit_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(placement, "permit", breaks)
    world = World(node("a"), pod("web"), plugins=(Reserves,))

    async def story(world: World) -> None:
        await world.clock.sleep(5)

    scheduler = world.run(story)

    assert {attempt.message for attempt in world.attempts} == {"internal error: KeyError: 'ours'"}
    assert world.profiles["default-scheduler"].shared["story"][:2] == ["reserved", "unreserved"]
    assert not scheduler.cache.assumed


def test_a_pod_that_nobody_permits_is_not_woken_by_leaving_its_own_node() -> None:
    world = World(node("a"), pod("web"), plugins=(WaitsForRoom,))

    world.run(settle)

    assert [each.result for each in world.attempts] == [Result.SCHEDULED, Result.UNSCHEDULABLE]


def test_others_are_tried_when_a_pod_that_nobody_permits_leaves_its_node() -> None:
    pods = (pod("web").requesting(cpu="1").prioritised(1), pod("other").requesting(cpu="1"))
    world = World(node("a").offering(cpu="1"), *pods, plugins=(WaitsForRoom,))

    world.run(settle)

    placed = [each.pod for each in world.attempts if each.result is Result.SCHEDULED]
    assert placed[:2] == ["default/web", "default/other"]


class NotYetReserved(Reserve, frozen=True):
    def reserve(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return pending("the licence is out", "nobody is in")


class NotYetPermitted(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return pending("the licence is out", "nobody is in")


@pytest.mark.parametrize("plugin", [NotYetReserved, NotYetPermitted])
def test_a_pod_that_is_to_wait_for_a_plugin_is_pending_and_every_reason_is_told(
    plugin: type[Plugin],
) -> None:
    """It need not back off when the plugin's own event comes."""
    world = World(node("a"), pod("web"), plugins=(plugin,))

    scheduler = world.run(settle)

    (waiting,) = scheduler.queue
    assert waiting.pending_plugins == frozenset({plugin.__name__})
    assert not waiting.unschedulable_plugins
    assert {each.message for each in world.attempts} == {
        "0/1 nodes are available: 1 nobody is in, 1 the licence is out."
    }


class Prepares(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        cycle.shared.setdefault("prepared", []).append((pod.name, node.name))
        return None


def test_pre_bind_runs_before_the_pod_is_bound() -> None:
    world = World(node("a"), pod("web"), plugins=(Prepares,))

    world.run(settle)

    assert world.profiles["default-scheduler"].shared["prepared"] == [("web", "a")]
    assert world.node_of("web") == "a"


class NeverReady(PreBind, frozen=True):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        assert cycle.client is not None
        await cycle.client.wait_until(lambda: False, 0.01)
        return unschedulable("its volume is not there")


def test_a_pod_that_is_refused_at_pre_bind_is_tried_again_after_a_back_off() -> None:
    """Others wait at Permit at the latest for something to change; this one asks again."""
    world = World(node("a"), pod("web"), plugins=(NeverReady,))

    async def story(world: World) -> None:
        await world.clock.sleep(10)

    world.run(story)

    refused = [each for each in world.attempts if each.result is Result.UNSCHEDULABLE]
    assert [round(each.time) for each in refused] == [1000, 1002, 1005]
    assert {each.message for each in refused} == {"its volume is not there"}
