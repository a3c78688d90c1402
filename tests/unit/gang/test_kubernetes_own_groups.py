"""Kubernetes' own groups where they differ from those of scheduler-plugins."""

from typing import Any

import pytest

from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_resources import NODES, PODS
from tests.unit.gang.gang_world import GangWorld, Raw, group, member, members, settle
from tests.unit.preemption.preemption_world import low

ZONE = "topology.kubernetes.io/zone"
IN_ONE_ZONE: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": ZONE}]}}
ALL: dict[str, Any] = {"disruptionMode": {"all": {}}}


def own(minimum: int | None, **spec: Any) -> Raw:
    """A gang of so many, or with None of the basic policy."""
    policy = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    return {**group("g", 0), "spec": {"schedulingPolicy": policy, **spec}}


def workers(count: int, name: str = "g", priority: int = 0) -> list[PodBuilder]:
    named = {"schedulingGroup": {"podGroupName": "g"}}
    made = (pod(f"{name}-{i}").requesting(cpu="1").with_spec(**named) for i in range(count))
    return [each.prioritised(priority) for each in made]


def zones(**sizes: int) -> list[NodeBuilder]:
    """Nodes for one pod: so many in each zone."""
    return [
        node(f"{zone}{i}").offering(cpu="1").labelled({ZONE: zone})
        for zone, size in sizes.items()
        for i in range(size)
    ]


@pytest.mark.parametrize("minimum", [None, 1], ids=["basic", "gang"])
@pytest.mark.parametrize("preemptor", ["pod", "group"])
def test_whoever_says_all_leaves_as_a_whole(minimum: int | None, preemptor: str) -> None:
    there = [each.on("a") for each in workers(2)]
    vip = pod("vip").requesting(cpu="1").prioritised(100)
    wanted: list[Any] = [vip]
    if preemptor == "group":
        wanted = [vip.labelled({"scheduling.x-k8s.io/pod-group": "vips"}), group("vips", 1)]
    world = GangWorld(node("a").offering(cpu="2"), own(minimum, **ALL), *there, *wanted)

    world.run()

    assert world.bound() == {"vip": "a"}


@pytest.mark.parametrize("minimum", [None, 2], ids=["basic", "gang"])
def test_the_zone_is_taken_where_most_pods_fit(minimum: int | None) -> None:
    world = GangWorld(*zones(a=2, b=3, c=2, d=2), own(minimum, **IN_ONE_ZONE), *workers(3), seed=1)

    world.run()

    assert set(world.bound("g").values()) == {"b0", "b1", "b2"}


def test_a_pod_beyond_the_minimum_joins_those_that_are_being_bound() -> None:
    world = GangWorld(*zones(a=2, b=2), own(2, **IN_ONE_ZONE), *workers(3))

    world.run()

    assert len(world.bound("g")) == 2
    assert len({name[0] for name in world.bound("g").values()}) == 1


def test_a_basic_group_waits_where_no_node_has_its_label() -> None:
    bare = GangWorld(node("bare"), own(None, **IN_ONE_ZONE), *workers(2))
    zoned = GangWorld(node("bare").labelled({ZONE: "a"}), own(None, **IN_ONE_ZONE), *workers(2))

    bare.run()
    zoned.run()

    assert bare.bound() == {}
    assert len(zoned.bound()) == 2


@pytest.mark.parametrize(
    ("minimum", "homes", "why"),
    [
        (3, ("a0", "b0"), "more than 1 domain found for pod group: a, b"),
        (None, ("a0", "b0"), "more than 1 domain found for pod group: a, b"),
        (2, ("bare",), "no topology domain found for pod default/x-0"),
    ],
    ids=["a gang in two zones", "a basic group in two zones", "a gang in none"],
)
def test_pods_join_no_others_of_which_the_zone_is_unclear(
    minimum: int | None, homes: tuple[str, ...], why: str
) -> None:
    there = [each.on(home) for each, home in zip(workers(len(homes), "x"), homes, strict=True)]
    bare = node("bare").offering(cpu="1")
    world = GangWorld(*zones(a=2, b=2), bare, own(minimum, **IN_ONE_ZONE), *there, *workers(1))

    world.run()

    told, said = world.condition("g-0"), world.status("g")["conditions"][0]
    assert world.bound("g") == {}
    for each in (told, said):
        assert each["reason"] == "SchedulerError"
        assert each["message"] == f"cannot determine domain for already scheduled pods: {why}"


def test_the_condition_tells_of_attempts_only() -> None:
    world = GangWorld(node("a"), own(3), *workers(2))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(100)

    world.run(story)

    assert world.status("g").get("conditions", []) == []
    assert world.events("g", "IncompletePodGroup")


@pytest.mark.parametrize(("new", "bound"), [(1, 0), (2, 2)], ids=["too few", "enough"])
def test_lost_pods_are_replaced_when_there_are_enough(new: int, bound: int) -> None:
    world = GangWorld(node("a").offering(cpu="9"), own(3), *workers(3))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert len(world.bound("g")) == 3
        for lost in ("g-0", "g-1"):
            await world.cluster.delete(PODS, "default", lost)
        await settle(world)
        world.apply(*workers(new, "new"))
        await settle(world)

    world.run(story)

    assert len(world.bound("new")) == bound


def test_pods_that_are_leaving_their_nodes_count() -> None:
    world = GangWorld(node("a").offering(cpu="9"), own(2), *workers(2), stopping=20.0)

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(1)
        for leaving in ("g-0", "g-1"):
            await world.cluster.delete(PODS, "default", leaving)
        world.apply(*workers(1, "new"))
        await world.clock.sleep(5)
        assert len(world.bound("new")) == 1

    world.run(story)


@pytest.mark.parametrize(
    ("nodes", "minimum", "victims"),
    [
        pytest.param(2, 1, 2, id="none of them fits"),
        pytest.param(3, 2, 1, id="the fewest fit"),
    ],
)
def test_room_is_made_for_pods_beyond_the_minimum(nodes: int, minimum: int, victims: int) -> None:
    world = GangWorld(
        *zones(a=nodes),
        *[low(f"low-{i}", f"a{i}") for i in range(victims)],
        own(minimum),
        *workers(3, priority=100),
    )

    world.run()

    assert len(world.bound("g")) == nodes
    assert world.bound("low") == {}


def test_room_is_made_in_the_zone_where_most_pods_fit() -> None:
    world = GangWorld(
        *zones(a=1, b=2),
        *[low(f"low-{name}", name) for name in ("a0", "b0", "b1")],
        own(None, **IN_ONE_ZONE),
        *workers(2, priority=100),
    )

    world.run()

    assert set(world.bound("g").values()) == {"b0", "b1"}
    assert set(world.bound("low")) == {"low-a0"}


def test_every_pod_of_a_group_that_runs_is_tried_when_its_zone_grows() -> None:
    there = [each.on(home) for each, home in zip(workers(2, "x"), ("a0", "a1"), strict=True)]
    other = node("b0").offering(cpu="2").labelled({ZONE: "b"})
    world = GangWorld(*zones(a=2), other, own(2, **IN_ONE_ZONE), *there, *workers(2))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.bound("g") == {}
        await world.cluster.patch(NODES, "", "b0", {"metadata": {"labels": {ZONE: "a"}}})
        await settle(world)

    world.run(story)

    assert world.bound("g") == {"g-0": "b0", "g-1": "b0"}


@pytest.mark.parametrize("after", [0.5, 30.0], ids=["while it backs off", "later"])
def test_a_gang_is_tried_again_when_somebody_else_has_bound_a_pod_of_it(after: float) -> None:
    nodes = [node("full").offering(cpu="1"), node("b").offering(cpu="2")]
    world = GangWorld(*nodes, low("low", "full"), own(3), *workers(3))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(after)
        assert world.bound("g") == {}
        uid = world.cluster.read(PODS, "default", "g-0")["metadata"]["uid"]
        await world.cluster.bind("default", "g-0", uid, "full")
        await settle(world)

    world.run(story)

    assert world.bound("g") == {"g-0": "full", "g-1": "b", "g-2": "b"}


@pytest.mark.parametrize("deleted", [False, True], ids=["loses its gate", "is deleted"])
@pytest.mark.parametrize("minimum", [None, 2], ids=["basic", "gang"])
def test_a_group_waits_for_each_pod_behind_a_gate(minimum: int | None, deleted: bool) -> None:
    """Also for one that it does not need, as kube-scheduler does."""
    gates = {"schedulingGates": [{"name": "example.com/wait"}]}
    gated = [each.with_spec(**gates) for each in workers(1, "gated")]
    world = GangWorld(node("a").offering(cpu="9"), own(minimum), *gated, *workers(2))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.bound() == {}
        told = world.condition("g-0")["message"]
        assert told == "waiting for 1 pod of PodGroup default/g to lose scheduling gates"
        if deleted:
            await world.cluster.delete(PODS, "default", "gated-0")
        else:
            change = {"spec": {"schedulingGates": None}}
            await world.cluster.patch(PODS, "default", "gated-0", change)
        await world.clock.sleep(0.5)

    world.run(story)

    assert set(world.bound()) == {"g-0", "g-1"} | (set() if deleted else {"gated-0"})


def test_a_group_of_scheduler_plugins_waits_for_no_gate_that_it_can_do_without() -> None:
    gates = {"schedulingGates": [{"name": "example.com/wait"}]}
    gated = member("gated-0", "train").with_spec(**gates)
    world = GangWorld(node("a").offering(cpu="9"), group("train", 2), gated, *members("train", 2))

    world.run()

    assert set(world.bound()) == {"train-0", "train-1"}


@pytest.mark.parametrize("minimum", [None, 2], ids=["basic", "gang"])
@pytest.mark.parametrize("odd", ["gated", "unlike"])
def test_pods_that_were_ready_before_one_that_holds_them_up_go_on_after_it(
    odd: str, minimum: int | None
) -> None:
    gates = {"schedulingGates": [{"name": "example.com/wait"}]}
    [last] = workers(1, "odd", priority=100 if odd == "unlike" else 0)
    world = GangWorld(node("a").offering(cpu="9"))

    async def story(world: GangWorld) -> None:
        await settle(world)
        world.apply(own(minimum, priority=0), *workers(2))
        world.apply(last.with_spec(**gates) if odd == "gated" else last)
        await settle(world)
        assert world.bound() == {}
        await world.cluster.delete(PODS, "default", "odd-0")
        await settle(world)

    world.run(story)

    assert set(world.bound()) == {"g-0", "g-1"}
