"""Another configuration takes over while pods are scheduled: none is lost, none decided by half."""

from typing import Any

import pytest

from moorage import Cycle, Filter, Node, Permit, Pod, Rejection, Wait
from moorage.framework.points import QueueSort
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import unresolvable
from moorage.observe.records import Result
from moorage.preemption.plugin import running_preemptions
from moorage.testing import node, pod
from tests.unit.gang.gang_world import group, members
from tests.unit.scheduler.changing_world import ChangingWorld, configuration, profile

OURS, OTHER = "default-scheduler", "batch"


class OnlyOn(Filter, frozen=True):
    """Pods go to one node."""

    node: str = "a"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | None:
        return None if node.name == self.node else unresolvable(f"only on {self.node}")


class Hold(Permit, frozen=True):
    def permit(self, cycle: Cycle, pod: Pod, node: Node) -> Rejection | Wait | None:
        return Wait(5.0)


class ByName(QueueSort, frozen=True):
    def sort_key(self, queued: QueuedPod) -> Any:
        return queued.info.pod.name


def to(name: str, **more: Any) -> dict[str, Any]:
    return configuration(profile(OURS, "OnlyOn", OnlyOn={"node": name}), **more)


def world(*objects: Any, config: dict[str, Any]) -> ChangingWorld:
    return ChangingWorld(*objects, config=config, plugins=(OnlyOn, Hold, ByName))


def test_the_next_pod_is_decided_by_the_new_configuration_and_says_so() -> None:
    async def story(world: ChangingWorld) -> None:
        world.apply(pod("first"))
        await world.clock.sleep(5)
        assert world.change(to("b")) == {OURS}
        world.apply(pod("second"))
        await world.clock.sleep(5)

    seen = world(node("a"), node("b"), config=to("a")).run(story)

    assert (seen.node_of("first"), seen.node_of("second")) == ("a", "b")
    assert [(a.pod, a.generation) for a in seen.attempts] == [
        ("default/first", 1),
        ("default/second", 2),
    ]
    notes = {event["regarding"]["name"]: event for event in seen.events("Scheduled")}
    assert notes["second"]["metadata"]["annotations"]["moorage/generation"] == "2"


def test_a_pod_refused_by_a_plugin_that_is_gone_is_tried_again() -> None:
    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(5)
        assert world.node_of("web") is None
        world.change(configuration(profile()))
        await world.clock.sleep(5)

    assert world(node("b"), pod("web"), config=to("a")).run(story).node_of("web") == "b"


def test_a_profile_in_which_nothing_differs_keeps_what_it_has_computed() -> None:
    async def story(world: ChangingWorld) -> None:
        kept = world.scheduler.profiles[OURS]
        both = configuration(profile(OURS, "OnlyOn", OnlyOn={"node": "a"}), profile(OTHER))
        assert world.change(both) == {OTHER}
        assert world.scheduler.profiles[OURS] is kept

    world(node("a"), config=to("a")).run(story)


def test_pods_that_waited_for_a_profile_that_appears_are_scheduled() -> None:
    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(5)
        assert world.attempts == []
        world.change(configuration(profile(OURS), profile(OTHER)))
        await world.clock.sleep(5)

    early = pod("early").scheduled_by(OTHER)
    seen = world(node("a"), early, config=configuration(profile(OURS))).run(story)

    assert seen.node_of("early") == "a"


def test_pods_of_a_profile_that_disappears_are_left_alone_until_it_is_back() -> None:
    both = configuration(profile(OURS), profile(OTHER))

    async def story(world: ChangingWorld) -> None:
        world.apply(pod("big").scheduled_by(OTHER).requesting(cpu="64"))
        await world.clock.sleep(5)
        world.change(configuration(profile(OURS)))
        assert len(world.scheduler.queue) == 0
        before = len(world.attempts)
        world.apply(pod("late").scheduled_by(OTHER), node("b").offering(cpu="128"))
        await world.clock.sleep(400)
        assert len(world.attempts) == before
        world.change(both)
        await world.clock.sleep(5)

    seen = world(node("a"), config=both).run(story)

    assert seen.node_of("big") == "b"
    assert seen.node_of("late")


def test_what_is_being_bound_goes_on_with_the_plugins_that_placed_it() -> None:
    holding = configuration(profile(OURS, "Hold"))

    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(1)
        (waiting,) = world.scheduler.waiting.all()
        world.change(to("b"))
        waiting.allow("Hold")
        await world.clock.sleep(5)

    seen = world(node("a"), pod("web"), config=holding).run(story)

    assert seen.node_of("web") == "a"
    assert [(b.pod, b.generation) for b in seen.bindings] == [("default/web", 1)]


def test_a_placement_that_fails_after_the_change_is_tried_again_by_the_new_configuration() -> None:
    holding = configuration(profile(OURS, "Hold"))

    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(1)
        world.change(to("b"))
        await world.clock.sleep(30)

    seen = world(node("a"), node("b"), pod("web"), config=holding).run(story)

    assert seen.node_of("web") == "b"
    assert [a.generation for a in seen.attempts] == [1, 1, 2]
    assert seen.bindings[0].generation == 2


def test_a_pod_under_way_whose_profile_disappears_is_bound_or_let_go() -> None:
    both = configuration(profile(OURS), profile(OTHER, "Hold"))

    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(1)
        allowed = world.scheduler.waiting.get("default/good")
        world.change(configuration(profile(OURS)))
        assert allowed is not None
        allowed.allow("Hold")
        await world.clock.sleep(30)
        assert len(world.scheduler.queue) == 0

    pods = (pod(name).scheduled_by(OTHER) for name in ("good", "bad"))
    seen = world(node("a"), *pods, config=both).run(story)

    assert (seen.node_of("good"), seen.node_of("bad")) == ("a", None)
    assert not seen.failures


def test_the_queue_is_ordered_by_the_new_queue_sort() -> None:
    disabled = {"disabled": [{"name": "PrioritySort"}], "enabled": [{"name": "ByName"}]}
    sorted_by_name = {"schedulerName": OURS, "plugins": {"queueSort": disabled}}

    async def story(world: ChangingWorld) -> None:
        world.scheduler.active.clear()
        await world.clock.sleep(1)
        world.apply(*(pod(name) for name in ("c", "a", "b")))
        await world.clock.sleep(1)
        world.change(configuration(sorted_by_name))
        world.scheduler.active.set()
        await world.clock.sleep(1)

    seen = world(node("n"), config=configuration(profile())).run(story)

    assert [a.pod for a in seen.attempts] == ["default/a", "default/b", "default/c"]


def test_pods_back_off_by_the_new_settings() -> None:
    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(1)
        slow = {"podInitialBackoffSeconds": 60, "podMaxBackoffSeconds": 60}
        world.change(to("b", **slow))
        await world.clock.sleep(1)
        queued = world.scheduler.queue.find("default/web")
        assert queued is not None
        assert world.scheduler.queue.pending_counts()["unschedulable"] == 1
        world.change(to("c", **slow))
        assert queued.backoff_until == queued.timestamp + 60.0

    world(node("x"), pod("web"), config=to("a")).run(story)


def test_a_group_goes_on_waiting_for_its_pods_over_a_change() -> None:
    """The new plugins must look at the same groups, or the gate would let half of one in."""

    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(5)
        world.change(to("a"))
        await world.clock.sleep(5)
        assert world.scheduler.queue.pending_counts()["gated"] == 2
        world.apply(*members("gang", 3)[2:])
        await world.clock.sleep(30)

    objects = (node("a"), group("gang", 3), *members("gang", 3)[:2])
    seen = world(*objects, config=configuration(profile())).run(story)

    assert {seen.node_of(f"gang-{i}") for i in range(3)} == {"a"}
    assert {a.generation for a in seen.attempts if a.result is Result.SCHEDULED} == {2}


def test_a_preemptor_that_waits_for_its_victims_is_not_let_go_by_a_change() -> None:
    """Or it would be attempted while they leave, and choose more of them."""

    async def story(world: ChangingWorld) -> None:
        await world.clock.sleep(1)
        running_preemptions(world.scheduler.profiles[OURS]).begin("default/high")
        world.change(to("a"))
        world.apply(pod("high"))
        await world.clock.sleep(20)

    assert world(node("a"), config=configuration(profile())).run(story).node_of("high") is None


@pytest.mark.parametrize("changes", [1, 20])
def test_no_pod_is_lost_however_often_the_configuration_changes(changes: int) -> None:
    async def story(world: ChangingWorld) -> None:
        for index in range(changes):
            world.apply(*(pod(f"p{index}-{i}") for i in range(10)))
            world.change(to("ab"[index % 2]))
            await world.clock.sleep(0)
        await world.clock.sleep(60)

    roomy = [node(name).offering(pods="1000", cpu="1000") for name in "ab"]
    seen = world(*roomy, config=to("a")).run(story)

    assert len(seen.bindings) == 10 * changes
    assert len({b.uid for b in seen.bindings}) == 10 * changes
    for bound in seen.bindings:
        assert bound.node == ("a" if bound.generation == 1 else "ab"[bound.generation % 2])
