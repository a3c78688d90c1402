"""Groups of pods on the embedded cluster: all of a group runs, or none of it does."""

import itertools
from typing import Any

import pytest

from moorage.observe.records import Result
from moorage.testing import node, pod
from moorage.watch.api_resources import PODS
from tests.unit.gang.gang_world import (
    POD_GROUPS,
    GangWorld,
    group,
    member,
    members,
    settle,
)


def test_a_group_that_fits_is_bound_whole() -> None:
    world = GangWorld(node("a"), node("b"), group("train", 8), *members("train", 8))

    world.run()

    assert len(world.bound("train")) == 8
    assert world.status("train")["phase"] == "Scheduled"
    assert world.events("train", "Scheduled") == ["at least 8 pods of the group are bound"]
    assert world.scheduler.cache.assumed == set()


@pytest.mark.parametrize("seed", range(3))
def test_groups_share_all_of_their_nodes_or_none(seed: int) -> None:
    """Of equal nodes the first is taken, so that a group that leaves as a whole leaves the room
    of whole nodes."""
    nodes = [node(f"n{index}") for index in range(6)]
    pods = [each for name in "abcdef" for each in members(name, 3)]
    world = GangWorld(*nodes, *(group(name, 3) for name in "abcdef"), *pods, seed=seed)

    world.run()

    used = {frozenset(world.bound(name).values()) for name in "abcdef"}
    assert sorted(map(len, used)) == [3, 3]
    assert frozenset.intersection(*used) == frozenset()


def test_a_group_that_does_not_fit_holds_nothing() -> None:
    world = GangWorld(node("a"), group("train", 5), *members("train", 5), pod("small"))

    async def story(world: GangWorld) -> None:
        await settle(world)
        world.apply(pod("after").requesting(cpu="4"))
        await settle(world)

    world.run(story)

    assert set(world.bound()) == {"small", "after"}
    assert world.scheduler.cache.assumed == set()


def test_what_a_group_lacks_is_said_in_numbers() -> None:
    world = GangWorld(node("a"), node("b"), group("train", 6), *members("train", 6, cpu="1500m"))

    world.run()

    message = world.status("train")["conditions"][0]["message"]
    assert message == (
        "PodGroup default/train: 4 of the 6 pods needed fit. Pod default/train-4: 0/2 nodes are "
        "available: 2 Insufficient cpu. cpu: the 2 missing need 3, 1500m on one node; 2 is free "
        "on 2 nodes, at most 1 on one: 1 more is needed."
    )
    assert world.events("train", "FailedScheduling") == [message]
    assert world.condition("train-0")["message"] == message
    assert world.condition("train-0")["reason"] == "Unschedulable"
    assert world.results(Result.UNSCHEDULABLE)[0].message == message


def test_pods_wait_outside_the_queue_until_enough_of_them_exist() -> None:
    world = GangWorld(node("a"), group("train", 3), *members("train", 2))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.attempts == []
        assert world.bound() == {}
        assert world.events("train") == [
            "waiting for 1 more pod of PodGroup default/train: 2 of 3 exist"
        ]
        world.apply(member("train-2", "train"))
        await settle(world)

    world.run(story)

    assert len(world.bound("train")) == 3


def test_pods_of_a_group_that_does_not_exist_wait_for_it() -> None:
    world = GangWorld(node("a"), *members("train", 2))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.bound() == {}
        assert world.events("train-0") == ["waiting for PodGroup default/train to be created"]
        world.apply(group("train", 2))
        await settle(world)

    world.run(story)

    assert len(world.bound("train")) == 2


def test_pods_that_name_no_group_never_notice() -> None:
    world = GangWorld(node("a"), group("train", 3), pod("web"))

    world.run()

    assert world.bound() == {"web": "a"}


@pytest.mark.parametrize(
    ("labels", "spec"),
    [
        pytest.param({"scheduling.x-k8s.io/pod-group": "g"}, {}, id="scheduler-plugins' label"),
        pytest.param({"pod-group.scheduling.sigs.k8s.io": "g"}, {}, id="the older label"),
        pytest.param({}, {"schedulingGroup": {"podGroupName": "g"}}, id="Kubernetes' own field"),
    ],
)
def test_a_pod_names_its_group_in_any_dialect(labels: dict[str, str], spec: Any) -> None:
    pods = [pod(f"g-{i}").labelled(labels).requesting(cpu="1").with_spec(**spec) for i in (0, 1)]
    world = GangWorld(node("a").offering(cpu="1"), group("g", 2), *pods)

    world.run()

    assert world.bound() == {}
    assert "1 of the 2 pods needed fit" in world.status("g")["conditions"][0]["message"]


@pytest.mark.parametrize(
    ("api_version", "spec"),
    [
        pytest.param("scheduling.k8s.io/v1alpha1", {"minMember": 2}, id="with minMember"),
        pytest.param(
            "scheduling.k8s.io/v1beta1",
            {"schedulingPolicy": {"gang": {"minCount": 2}}},
            id="with a scheduling policy",
        ),
    ],
)
def test_a_group_is_read_in_kubernetes_own_dialects(api_version: str, spec: Any) -> None:
    raw = {**group("g", 0), "apiVersion": api_version, "spec": spec}
    world = GangWorld(node("a").offering(cpu="1"), raw, *members("g", 2))

    world.run()

    assert world.bound() == {}


def test_the_basic_policy_schedules_pod_by_pod() -> None:
    raw = {**group("g", 0), "spec": {"schedulingPolicy": {"basic": {}}}}
    world = GangWorld(node("a").offering(cpu="1"), raw, *members("g", 2))

    world.run()

    assert len(world.bound("g")) == 1
    assert world.events("g") == []


@pytest.mark.parametrize(
    "policy", [{"gang": {"minCount": 2}}, {"basic": {}}], ids=["gang", "basic"]
)
def test_pods_of_kubernetes_own_groups_have_one_priority(policy: Any) -> None:
    raw = {**group("g", 0), "spec": {"schedulingPolicy": policy}}
    odd = [member("odd", "g").prioritised(5), *members("g", 2)]
    world = GangWorld(node("a").offering(cpu="4"), raw, *odd)
    why = (
        "all pods in a single pod group should have the same priority as the pod group's priority, "
        "got 5 and 0"
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.bound() == {}
        for name in ("g-0", "g-1", "odd"):
            told = world.condition(name)
            assert (told["reason"], told["message"]) == ("SchedulerError", why)
        assert world.events("g", "InvalidPodGroup") == [why]
        await world.cluster.delete(PODS, "default", "odd")
        await settle(world)

    world.run(story)

    assert set(world.bound()) == {"g-0", "g-1"}


def test_two_groups_that_cannot_both_run_run_one_after_the_other() -> None:
    """Each needs 60 % of the cluster; their pods come in turns."""
    pods = [obj for pair in zip(members("a", 6), members("b", 6), strict=True) for obj in pair]
    nodes = [node(f"n{i}").offering(cpu="2") for i in range(5)]
    world = GangWorld(*nodes, group("a", 6), group("b", 6), *pods)

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert (len(world.bound("a")), len(world.bound("b"))) == (6, 0)
        await world.finish("a")
        await settle(world)

    world.run(story)

    assert (len(world.bound("a")), len(world.bound("b"))) == (0, 6)


def test_groups_are_served_by_priority_then_by_who_came_first() -> None:
    """Both wait; when there is room for one, it is not the one whose last pod came first."""
    world = GangWorld(
        node("a").offering(cpu="2").cordoned(),
        group("late", 2),
        group("early", 2),
        group("high", 2),
        member("early-0", "early"),
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        world.apply(*members("late", 2))
        await world.clock.sleep(1)
        world.apply(member("early-1", "early"))
        await world.clock.sleep(60)
        world.apply(*[p.prioritised(5) for p in members("high", 2)])
        await world.clock.sleep(60)
        world.apply(node("a").offering(cpu="2"))
        await settle(world)
        assert set(world.bound()) == {"high-0", "high-1"}
        await world.finish("high")
        await settle(world)
        assert set(world.bound()) == {"early-0", "early-1"}
        await world.finish("early")
        await settle(world)

    world.run(story)

    assert set(world.bound()) == {"late-0", "late-1"}


def test_small_pods_pass_a_group_that_waits() -> None:
    world = GangWorld(node("a"), group("train", 5), *members("train", 5))

    async def story(world: GangWorld) -> None:
        await settle(world)
        world.apply(*[pod(f"web-{i}").requesting(cpu="1") for i in range(4)])
        await settle(world)

    world.run(story)

    assert len(world.bound("web")) == 4


def test_pods_beyond_the_minimum_run_where_they_fit() -> None:
    world = GangWorld(node("a"), group("train", 3), *members("train", 6))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert len(world.bound("train")) == 4
        world.apply(node("b").offering(cpu="1"))
        await settle(world)

    world.run(story)

    assert len(world.bound("train")) == 5


def test_a_lost_pod_of_a_group_that_runs_is_replaced_by_itself() -> None:
    world = GangWorld(node("a"), group("train", 4), *members("train", 4))

    async def story(world: GangWorld) -> None:
        await settle(world)
        for name in ("train-0", "train-1"):
            await world.cluster.delete(PODS, "default", name, grace_period_seconds=0)
        await settle(world)
        world.apply(member("train-4", "train"))
        await settle(world)

    world.run(story)

    assert set(world.bound()) == {"train-2", "train-3", "train-4"}


def test_a_group_that_has_ended_starts_again_as_a_whole() -> None:
    world = GangWorld(node("a"), group("train", 3), *members("train", 3))

    async def story(world: GangWorld) -> None:
        await settle(world)
        await world.finish("train")
        await settle(world)
        world.apply(*[member(f"again-{i}", "train") for i in range(2)])
        await settle(world)
        assert world.bound() == {}
        world.apply(member("again-2", "train"))
        await settle(world)

    world.run(story)

    assert len(world.bound("again")) == 3


def test_a_large_pod_is_placed_before_small_ones_take_its_room() -> None:
    small = [member(f"small-{i}", "mixed", cpu="1") for i in range(4)]
    world = GangWorld(
        node("a").offering(cpu="4"),
        node("b").offering(cpu="4"),
        group("mixed", 5),
        *small,
        member("large", "mixed", cpu="4"),
    )

    world.run()

    assert len(world.bound()) == 5


def test_resources_asked_for_as_a_whole_must_be_there() -> None:
    world = GangWorld(
        node("a"),
        group("train", 2, minResources={"cpu": "6", "memory": "1Gi"}),
        *members("train", 2),
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.bound() == {}
        assert world.status("train")["conditions"][0]["message"] == (
            "PodGroup default/train: 0 of the 2 pods needed fit. minResources asks for 6 cpu, "
            "4 is free on 1 nodes: 2 more is needed."
        )
        world.apply(node("b"))
        await settle(world)

    world.run(story)

    assert len(world.bound()) == 2


def test_a_group_not_scheduled_in_time_is_told_so() -> None:
    world = GangWorld(
        node("a").offering(cpu="1"),
        group("train", 2, scheduleTimeoutSeconds=20),
        *members("train", 2),
    )

    world.run()

    (note,) = world.events("train", "ScheduleTimeout")
    assert note.startswith("not scheduled within 20 s: PodGroup default/train: 1 of the 2 pods")


class TestBadInput:
    def test_a_minimum_of_zero_is_named_and_pods_go_one_by_one(self) -> None:
        world = GangWorld(node("a").offering(cpu="1"), group("g", 0), *members("g", 2))

        world.run()

        assert len(world.bound("g")) == 1
        assert world.events("g", "InvalidPodGroup") == [
            "minMember is 0: it must be at least 1. Until then the pods of the group are "
            "scheduled one by one"
        ]

    def test_two_names_for_one_pod_are_named_until_one_is_left(self) -> None:
        both = {"pod-group.scheduling.sigs.k8s.io": "b"}
        world = GangWorld(
            node("a"), group("a", 1), group("b", 1), member("torn", "a").labelled(both)
        )

        async def story(world: GangWorld) -> None:
            await settle(world)
            assert world.bound() == {}
            assert world.events("torn") == ["the pod names 2 pod groups, a and b: it can be in one"]
            raw = await world.cluster.get(PODS, "default", "torn")
            del raw["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io"]
            await world.cluster.update(PODS, raw)
            await settle(world)

        world.run(story)

        assert world.bound() == {"torn": "a"}

    def test_a_group_deleted_while_it_waits_leaves_its_pods_waiting_for_it(self) -> None:
        world = GangWorld(node("a"), group("train", 5), *members("train", 5))

        async def story(world: GangWorld) -> None:
            await settle(world)
            await world.cluster.delete(POD_GROUPS, "default", "train")
            await settle(world)
            for index in range(5):
                assert world.events(f"train-{index}")[-1] == (
                    "waiting for PodGroup default/train to be created"
                )
            world.apply(node("b"))
            await settle(world)
            assert world.bound() == {}
            world.apply(group("train", 5))
            await settle(world)

        world.run(story)

        assert len(world.bound("train")) == 5

    def test_a_pod_that_no_longer_names_a_group_is_scheduled_by_itself(self) -> None:
        world = GangWorld(node("a"), group("train", 3), member("train-0", "train"))

        async def story(world: GangWorld) -> None:
            await settle(world)
            raw = await world.cluster.get(PODS, "default", "train-0")
            raw["metadata"]["labels"] = {}
            await world.cluster.update(PODS, raw)
            await settle(world)

        world.run(story)

        assert world.bound() == {"train-0": "a"}

    def test_a_smaller_minimum_lets_a_group_go(self) -> None:
        world = GangWorld(node("a"), group("train", 3), *members("train", 2))

        async def story(world: GangWorld) -> None:
            await settle(world)
            world.apply(group("train", 2))
            await settle(world)

        world.run(story)

        assert len(world.bound("train")) == 2


def test_a_pod_behind_a_scheduling_gate_does_not_count_yet() -> None:
    world = GangWorld(
        node("a"),
        group("train", 2),
        member("train-0", "train"),
        member("train-1", "train").gated("x"),
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.bound() == {}
        assert world.attempts == []
        raw = await world.cluster.get(PODS, "default", "train-1")
        raw["spec"]["schedulingGates"] = []
        await world.cluster.update(PODS, raw)
        await settle(world)

    world.run(story)

    assert len(world.bound()) == 2


def test_groups_can_be_switched_off() -> None:
    world = GangWorld(
        node("a").offering(cpu="1"),
        group("train", 2),
        *members("train", 2),
        args={"GangScheduling": {"enabled": False}},
    )

    world.run()

    assert len(world.bound()) == 1


def test_a_failing_group_backs_off_longer_each_time() -> None:
    world = GangWorld(node("a"), group("train", 9), *members("train", 9))

    async def story(world: GangWorld) -> None:
        for index in range(300):
            await world.clock.sleep(0.5)
            world.apply(node("a").offering(cpu=f"{4000 + index}m"))

    world.run(story)

    times = [attempt.time for attempt in world.attempts]
    pauses = [round(later - earlier) for earlier, later in itertools.pairwise(times)]
    assert pauses[:6] == [1, 2, 4, 8, 16, 30]


def test_a_group_of_256_on_100_nodes_is_bound_whole() -> None:
    nodes = [node(f"n{i}").offering(cpu="4") for i in range(100)]
    world = GangWorld(*nodes, group("large", 256), *members("large", 256))

    world.run()

    assert len(world.bound("large")) == 256
