"""Groups that make room for themselves, and groups that have to leave."""

from typing import Any

import pytest

from moorage.api.pod import Pod
from moorage.framework.events import Hint
from moorage.framework.queued_pod import QueuedPod
from moorage.gang.group import Group
from moorage.gang.place import GangPlacer
from moorage.gang.plugin import GangScheduling
from moorage.gang.trial import Trial
from moorage.testing import node, pod
from tests.unit.gang.gang_world import (
    GangWorld,
    annotated,
    group,
    member,
    running,
    settle,
    vips,
)
from tests.unit.preemption.preemption_world import budget, low, names

ZONE = "topology.kubernetes.io/zone"


def test_a_group_evicts_pods_of_lower_priority_and_takes_their_place() -> None:
    world = GangWorld(
        node("a"), *[low(f"low-{i}", "a") for i in range(4)], group("vip", 4), *vips(4)
    )

    world.run()

    assert len(world.bound("vip")) == 4
    assert world.bound("low") == {}
    assert any(
        "4 pods are evicted to make room for it, 0 groups among them" in attempt.message
        for attempt in world.attempts
    )
    assert {each.pod for each in world.evictions} == {f"default/low-{i}" for i in range(4)}
    assert {(e.by, e.what, e.node) for e in world.evictions} == {("default/vip", "podgroup", "a")}


def test_pods_that_wait_for_victims_are_not_asked_one_by_one_as_each_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    hint = GangScheduling.after_more_room

    def counted(self: GangScheduling, pod: Pod, old: Any, new: Any) -> Hint:
        asked.append(pod.name)
        return hint(self, pod, old, new)

    monkeypatch.setattr(GangScheduling, "after_more_room", counted)
    lows = [low(f"low-{i}", "a", "500m") for i in range(8)]
    world = GangWorld(node("a"), *lows, group("vip", 4), *vips(4))

    world.run()

    assert len(world.bound("vip")) == 4
    assert len(asked) < len(lows)


def test_pods_with_labels_of_their_own_are_one_question_as_each_victim_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    class_hint = GangScheduling.may_use_room

    def counted(self: GangScheduling, pod: Pod, old: Any, new: Any) -> Hint:
        asked.append(pod.name)
        return class_hint(self, pod, old, new)

    monkeypatch.setattr(GangScheduling, "may_use_room", counted)
    lows = [low(f"low-{i}", "a", "500m") for i in range(8)]
    named = {"schedulingGroup": {"podGroupName": "vip"}}
    waiting = [
        pod(f"vip-{i}")
        .with_spec(**named)
        .labelled({"index": str(i)})
        .requesting(cpu="1")
        .prioritised(100)
        for i in range(4)
    ]
    world = GangWorld(node("a"), *lows, group("vip", 4), *waiting)

    world.run()

    assert len(world.bound("vip")) == 4
    assert 0 < len(asked) < 2 * len(lows)


def test_each_of_many_groups_looks_for_victims_once_though_nodes_are_promised_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []
    imagine = GangPlacer.imagine

    def counted(
        self: GangPlacer, of: Group, pods: list[QueuedPod], by_quota: bool, at_least: int = 0
    ) -> Trial | None:
        tried.append(of.key)
        return imagine(self, of, pods, by_quota, at_least)

    monkeypatch.setattr(GangPlacer, "imagine", counted)
    nodes = [node(f"n{i}").offering(cpu="1") for i in range(12)]
    lows = [low(f"low-{i}", f"n{i}", grace=30) for i in range(12)]
    gangs = [f"vip{i}" for i in range(4)]
    groups = [group(of, 3) for of in gangs]
    unlike = [p.labelled({"index": str(i)}) for of in gangs for i, p in enumerate(vips(3, of=of))]
    world = GangWorld(*nodes, *lows, *groups, *unlike, stopping=10.0)

    world.run()

    assert len(world.bound("vip")) == 12
    assert sorted(tried) == [f"default/{of}" for of in gangs]


def test_room_that_is_promised_to_another_is_not_given_back_to_victims() -> None:
    async def story(world: GangWorld) -> None:
        cache = world.scheduler.cache
        awaited = pod("awaited").requesting(cpu="500m").prioritised(200).build()
        cache.nominations.put(cache.info(awaited), "a")
        world.apply(*vips(1, "400m"))
        await settle(world)

    world = GangWorld(node("a").offering(cpu="1"), low("low-0", "a", "400m"), group("vip", 1))

    world.run(story)

    assert world.bound("vip") == {"vip-0": "a"}
    assert {each.pod for each in world.evictions} == {"default/low-0"}


def test_whom_a_group_can_do_without_makes_nobody_leave_beside_promised_nodes() -> None:
    world = GangWorld(
        *[node(name).offering(cpu="1") for name in "ab"],
        low("first", "a", "400m"),
        low("second", "b").prioritised(1),
    )

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        cache = world.scheduler.cache
        awaited = pod("awaited").requesting(cpu="200m").prioritised(100).build()
        cache.nominations.put(cache.info(awaited), "a")
        small = member("small", "vip", "700m").prioritised(100)
        world.apply(*vips(1, "900m"), small, group("vip", 1))
        await settle(world)

    world.run(story)

    assert world.bound() == {"small": "a", "second": "b"}


def test_no_more_are_evicted_than_needed() -> None:
    lows = [low(f"low-{n}-{i}", n) for n in "abc" for i in range(2)]
    world = GangWorld(*[node(n).offering(cpu="3") for n in "abc"], *lows, group("vip", 5), *vips(5))

    world.run()

    assert len(world.bound("vip")) == 5
    assert len(world.bound("low")) == 4


def test_the_least_important_leave() -> None:
    lows = [low(f"low-{i}", "a", priority=i) for i in range(4)]
    world = GangWorld(node("a"), *lows, group("vip", 2), *vips(2))

    world.run()

    assert set(world.bound("low")) == {"low-2", "low-3"}


def test_another_group_leaves_as_a_whole() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        node("b").offering(cpu="2"),
        group("batch", 3),
        *running("batch", {"a": 2, "b": 1}),
        group("vip", 2),
        *vips(2),
    )

    world.run()

    assert len(world.bound("vip")) == 2
    assert world.bound("batch") == {}
    assert not [name for name in names(world) if name.startswith("batch")]


def test_single_pods_leave_before_a_group_of_the_same_priority_does() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        node("b").offering(cpu="2"),
        group("batch", 2),
        *running("batch", {"a": 2}),
        low("lone-0", "b"),
        low("lone-1", "b"),
        group("vip", 2),
        *vips(2),
    )

    world.run()

    assert len(world.bound("vip")) == 2
    assert len(world.bound("batch")) == 2


def test_a_group_with_one_pod_of_the_same_priority_is_not_evicted() -> None:
    batch = running("batch", {"a": 2})
    world = GangWorld(
        node("a").offering(cpu="2"),
        group("batch", 2),
        batch[0],
        batch[1].prioritised(100),
        group("vip", 1),
        *vips(1),
    )

    world.run()

    assert world.bound("vip") == {}
    assert len(world.bound("batch")) == 2


def test_a_pod_of_no_group_takes_the_whole_group_of_its_victim_with_it() -> None:
    """What is left would be of no use, and in the way."""
    world = GangWorld(
        node("a").offering(cpu="2"),
        node("b").offering(cpu="2"),
        group("batch", 3),
        *running("batch", {"a": 2, "b": 1}),
        pod("vip").requesting(cpu="2").prioritised(100),
        pod("web").requesting(cpu="1").prioritised(200).on("b"),
    )

    world.run()

    assert set(world.bound()) == {"vip", "web"}


def test_but_not_where_enough_of_it_is_left() -> None:
    world = GangWorld(
        node("a").offering(cpu="3"),
        group("batch", 2),
        *running("batch", {"a": 3}),
        pod("vip").requesting(cpu="1").prioritised(100),
    )

    world.run()

    assert len(world.bound("batch")) == 2


def test_kubernetes_own_groups_may_be_disrupted_one_by_one() -> None:
    own: dict[str, Any] = {
        **group("batch", 0),
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    world = GangWorld(
        node("a").offering(cpu="2"), own, *running("batch", {"a": 2}), group("vip", 1), *vips(1)
    )

    world.run()

    assert len(world.bound("vip")) == 1
    assert len(world.bound("batch")) == 1


def test_unless_they_say_all() -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"all": {}}}
    world = GangWorld(
        node("a").offering(cpu="2"),
        {**group("batch", 0), "spec": spec},
        *running("batch", {"a": 2}),
        group("vip", 1),
        *vips(1),
    )
    assert len(world.bound("batch")) == 2

    world.run()

    assert set(world.bound()) == {"vip-0"}


def test_nobody_is_evicted_where_that_does_not_help() -> None:
    world = GangWorld(node("a"), low("low", "a"), group("vip", 5), *vips(5))

    world.run()

    assert set(world.bound()) == {"low"}
    assert world.status("vip")["conditions"][0]["message"].endswith(
        "preemption: no eviction of pods of lower priority makes room for it."
    )


@pytest.mark.parametrize(
    ("how", "left"),
    [
        pytest.param("nobody", {"vip-0", "vip-1"}, id="it may"),
        pytest.param("pod", {"low"}, id="its pods may not"),
        pytest.param("group", {"low"}, id="it may not"),
    ],
)
def test_a_group_that_may_not_preempt_does_not(how: str, left: set[str]) -> None:
    spec: dict[str, Any] = {"preemptionPolicy": "Never"}
    written = group("vip", 2, **(spec if how == "group" else {}))
    pods = [p.with_spec(**(spec if how == "pod" else {})) for p in vips(2)]
    world = GangWorld(node("a").offering(cpu="2"), low("low", "a"), written, *pods)

    world.run()

    assert set(world.bound()) == left
    assert world.attempts


def test_while_victims_leave_the_room_is_promised_and_the_group_waits() -> None:
    lows = [low(f"low-{i}", "a", grace=30) for i in range(2)]
    world = GangWorld(node("a").offering(cpu="2"), *lows, group("vip", 2), *vips(2), stopping=20)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        attempts = len(world.attempts)
        assert world.scheduler.cache.nominations.nodes() == ["a"]
        world.apply(pod("thief").requesting(cpu="1").prioritised(100))
        await world.clock.sleep(10)
        assert [a.pod for a in world.attempts[attempts:]] == ["default/thief"]
        await settle(world)

    world.run(story)

    assert set(world.bound()) == {"vip-0", "vip-1"}


def test_a_group_that_does_not_fit_after_all_keeps_no_room_for_itself() -> None:
    lows = [low(f"low-{i}", "ab"[i // 2], grace=30) for i in range(4)]
    nodes = [node(name).offering(cpu="2") for name in "ab"]
    world = GangWorld(*nodes, *lows, group("vip", 4), *vips(4), stopping=20)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(5)
        promised = world.scheduler.cache.nominations
        assert sorted(promised.nodes()) == ["a", "b"]
        world.apply(node("a").offering(cpu="2").cordoned(), pod("next").requesting(cpu="2"))
        await world.clock.sleep(25)
        assert promised.nodes() == []

    world.run(story)

    assert world.bound() == {"next": "b"}


def test_a_budget_is_respected_where_others_can_leave() -> None:
    world = GangWorld(
        node("a").offering(cpu="2"),
        low("web-0", "a").labelled(app="web"),
        low("other", "a", priority=50),
        budget("web", 0, "web"),
        group("vip", 1),
        *vips(1),
    )

    world.run()

    assert "web-0" in world.bound()
    assert "other" not in world.bound()


def test_the_young_are_spared() -> None:
    young = low("young", "a")
    young.raw["status"]["startTime"] = "1970-01-01T00:16:00Z"
    world = GangWorld(
        node("a").offering(cpu="1"),
        young,
        group("vip", 1),
        *vips(1),
        args={"DefaultPreemption": {"minimumRuntimeSeconds": 3600}},
    )

    world.run()

    assert set(world.bound()) == {"young"}


def test_room_is_made_within_one_domain() -> None:
    nodes = [node(f"{z}{i}").in_zone(z).offering(cpu="1") for z in "ab" for i in range(2)]
    lows = [low("low-a0", "a0"), low("low-b0", "b0", priority=5), low("low-b1", "b1", priority=5)]
    packed = annotated(group("vip", 2), required_topology=ZONE)
    world = GangWorld(*nodes, *lows, packed, *vips(2))

    world.run()

    assert set(world.bound("vip").values()) == {"a0", "a1"}
    assert set(world.bound("low")) == {"low-b0", "low-b1"}


def test_a_large_group_finds_its_victims_quickly() -> None:
    nodes = [node(f"n{i}").offering(cpu="4") for i in range(100)]
    lows = [low(f"low-{i}", f"n{i % 100}", cpu="1") for i in range(400)]
    world = GangWorld(*nodes, *lows, group("vip", 200), *vips(200))

    world.run()

    assert len(world.bound("vip")) == 200
    assert len(world.bound("low")) == 200
