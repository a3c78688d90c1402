"""CompositePodGroups: enough of their groups are placed at once, or none."""

import pytest

from moorage.testing import NodeBuilder, PodBuilder, node
from moorage.watch.api_resources import RESOURCES
from tests.unit.gang.composite_groups import RACK, ZONE, composite, leaf, packed, workers
from tests.unit.gang.gang_world import GangWorld, Raw, settle
from tests.unit.preemption.preemption_world import low

COMPOSITES = RESOURCES["compositepodgroups"]
GROUPS = RESOURCES["podgroups"]


def counts(world: GangWorld) -> dict[str, int]:
    """How many pods of each group are on nodes."""
    found: dict[str, int] = {}
    for name in world.bound():
        group = name.rpartition("-")[0]
        found[group] = found.get(group, 0) + 1
    return found


def alone(cpu: str = "20") -> NodeBuilder:
    return node("n1").offering(cpu=cpu)


def two_of(groups: int | None, cpus: tuple[str, ...], each: int | None = 2) -> list[Raw]:
    """A composite group, and a group with two pods for each of these sizes."""
    names = [f"g{i}" for i in range(len(cpus))]
    pods = [p for name, cpu in zip(names, cpus, strict=True) for p in workers(name, 2, cpu)]
    return [composite("root", groups), *(leaf(name, each, "root") for name in names), *pods]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("groups", "cpus", "each", "want"),
    [
        pytest.param(2, ("1", "1"), 2, {"g0": 2, "g1": 2}, id="all fit"),
        pytest.param(2, ("1", "100"), 2, {}, id="one of two needed does not fit"),
        pytest.param(2, ("1", "100", "1"), 2, {"g0": 2, "g2": 2}, id="one is not needed"),
        pytest.param(None, ("1", "100"), 2, {"g0": 2}, id="each goes by itself"),
        pytest.param(None, ("100", "100"), None, {}, id="none fits"),
        pytest.param(2, ("1", "1", "9"), None, {"g0": 2, "g1": 2, "g2": 1}, id="basic groups"),
        pytest.param(3, ("1", "1"), 2, {}, id="a group is missing"),
        pytest.param(1, ("9", "9"), 2, {"g0": 2}, id="the first that fits"),
    ],
)
def test_a_composite_group(
    groups: int | None, cpus: tuple[str, ...], each: int | None, want: dict[str, int]
) -> None:
    world = GangWorld(alone(), *two_of(groups, cpus, each))

    world.run()

    assert counts(world) == want


def test_a_tree_of_three_levels() -> None:
    """The root needs two: `a` has two of its three, `b` goes one by one, `c` lacks one of two."""
    objects: list[Raw | PodBuilder] = [
        composite("root", 2),
        composite("a", 2, "root"),
        composite("b", None, "root"),
        composite("c", 2, "root"),
    ]
    sizes = {"a1": "1", "a2": "1", "a3": "100", "b1": "1", "b2": "1", "c1": "1", "c2": "100"}
    for name, cpu in sizes.items():
        basic = name == "b1"
        objects += [leaf(name, None if basic else 3, name[0]), *workers(name, 3, cpu)]
    world = GangWorld(alone(), *objects)

    world.run()

    assert counts(world) == {"a1": 3, "a2": 3, "b1": 3, "b2": 3}
    assert "too few pods fit" in world.condition("c1-0")["message"]
    assert world.status("a1")["phase"] == "Scheduled"
    assert world.status("c1")["phase"] == "Pending"


def test_pods_wait_until_their_composite_group_is_there() -> None:
    group, *pods = [leaf("g", 2, "root"), *workers("g", 2)]
    world = GangWorld(alone(), group, *pods)

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.bound() == {}
        said = world.condition("g-0")["message"]
        assert said == "waiting for CompositePodGroup default/root to be created"
        world.apply(composite("root", 1))
        await settle(world)

    world.run(story)

    assert counts(world) == {"g": 2}


def test_pods_wait_for_the_pods_of_other_groups() -> None:
    world = GangWorld(
        alone(), composite("root", 2), leaf("a", 2, "root"), leaf("b", 2, "root"), *workers("a", 2)
    )

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert world.bound() == {}
        said = world.condition("a-0")["message"]
        assert "CompositePodGroup default/root: 1 of the 2 groups needed have theirs" in said
        world.apply(*workers("b", 2))
        await settle(world)

    world.run(story)

    assert counts(world) == {"a": 2, "b": 2}


def test_groups_that_come_later_join_as_their_policy_says() -> None:
    world = GangWorld(alone(), composite("root", None), leaf("a", None, "root"), *workers("a", 2))

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert counts(world) == {"a": 2}
        world.apply(composite("sub", 2, "root"), leaf("b", None, "sub"), *workers("b", 2))
        await settle(world)
        assert counts(world) == {"a": 2}
        world.apply(leaf("c", None, "sub"), *workers("c", 2))
        await settle(world)

    world.run(story)

    assert counts(world) == {"a": 2, "b": 2, "c": 2}


def test_a_composite_group_that_is_deleted_holds_up_its_pods() -> None:
    world = GangWorld(alone("1"), composite("root", 1), leaf("g", 2, "root"), *workers("g", 2))

    async def story(world: GangWorld) -> None:
        await settle(world)
        await world.cluster.delete(COMPOSITES, "default", "root")
        world.apply(node("n2"))
        await settle(world)

    world.run(story)

    assert world.bound() == {}
    assert "waiting for CompositePodGroup default/root" in world.condition("g-0")["message"]


def racks() -> list[NodeBuilder]:
    """Two zones of two racks of two nodes of one core."""
    return [
        node(f"{zone}{rack}{i}").offering(cpu="1").labelled({ZONE: zone, RACK: f"{zone}{rack}"})
        for zone in "xy"
        for rack in "12"
        for i in "ab"
    ]


def test_a_composite_group_is_packed_in_a_zone_and_its_groups_in_racks() -> None:
    world = GangWorld(
        *racks(),
        composite("root", 2, **packed(ZONE)),
        leaf("g", 2, "root", **packed(RACK)),
        leaf("h", 2, "root", **packed(RACK)),
        *workers("g", 2),
        *workers("h", 2),
    )

    world.run()

    places = world.bound()
    assert len(places) == 4
    assert len({place[0] for place in places.values()}) == 1
    assert all(len({places[f"{g}-{i}"][:2] for i in range(2)}) == 1 for g in "gh")


@pytest.mark.parametrize(("pods", "want"), [(2, 4), (3, 0)])
def test_a_zone_holds_all_of_it_or_nothing_is_placed(pods: int, want: int) -> None:
    world = GangWorld(
        *racks(),
        composite("root", 2, **packed(ZONE)),
        *(leaf(name, pods, "root") for name in "gh"),
        *(p for name in "gh" for p in workers(name, pods)),
    )

    world.run()

    assert len(world.bound()) == want


def test_the_zone_that_holds_more_pods_is_taken() -> None:
    world = GangWorld(
        node("x1").offering(cpu="2").labelled({ZONE: "x"}),
        node("y1").offering(cpu="4").labelled({ZONE: "y"}),
        composite("root", 1, **packed(ZONE)),
        *(leaf(name, 2, "root") for name in "gh"),
        *(p for name in "gh" for p in workers(name, 2)),
    )

    world.run()

    assert set(world.bound().values()) == {"y1"}
    assert len(world.bound()) == 4


def test_it_makes_room_for_itself() -> None:
    world = GangWorld(
        alone("4"),
        *(low(f"low-{i}", "n1") for i in range(4)),
        composite("root", 2, priority=100),
        *(leaf(name, 2, "root", priority=100) for name in "gh"),
        *(p for name in "gh" for p in workers(name, 2, priority=100)),
    )

    world.run()

    assert counts(world) == {"g": 2, "h": 2}


def test_one_that_may_not_preempt_waits() -> None:
    world = GangWorld(
        alone("4"),
        *(low(f"low-{i}", "n1") for i in range(4)),
        composite("root", 2, priority=100, preemptionPolicy="Never"),
        *(leaf(name, 2, "root", priority=100) for name in "gh"),
        *(p for name in "gh" for p in workers(name, 2, priority=100)),
    )

    world.run()

    assert counts(world) == {"low": 4}


ALL: Raw = {"disruptionMode": {"all": {}}}


@pytest.mark.parametrize(
    ("root", "below", "stay"),
    [
        pytest.param({}, {}, 3, id="pod by pod"),
        pytest.param({}, ALL, 2, id="a group as a whole"),
        pytest.param(ALL, {}, 0, id="a composite group as a whole"),
    ],
)
@pytest.mark.parametrize("by", ["a pod", "a group"])
def test_its_pods_leave_as_it_says(root: Raw, below: Raw, stay: int, by: str) -> None:
    world = GangWorld(
        alone("4"),
        composite("root", 2, **root),
        *(leaf(name, 2, "root", **below) for name in "gh"),
        *(p.with_spec(terminationGracePeriodSeconds=0) for name in "gh" for p in workers(name, 2)),
    )
    vip = workers("vip", 1, priority=100)[0]
    if by == "a pod":
        vip = vip.with_spec(schedulingGroup=None)

    async def story(world: GangWorld) -> None:
        await settle(world)
        assert counts(world) == {"g": 2, "h": 2}
        world.apply(leaf("vip", 1, priority=100), vip)
        await settle(world)

    world.run(story)

    assert len(world.bound("vip")) == 1
    assert len(world.bound()) - 1 == stay


@pytest.mark.parametrize("level", ["root", "leaf"])
def test_pods_join_no_others_of_which_the_zone_is_unclear(level: str) -> None:
    nodes = [node(f"{zone}{i}").labelled({ZONE: zone}) for zone in "ab" for i in range(2)]
    above, beneath = (packed(ZONE), {}) if level == "root" else ({}, packed(ZONE))
    tree = composite("root", 1, **above), leaf("g", 3, "root", **beneath)
    first, second, third = workers("g", 3)
    world = GangWorld(*nodes, *tree, first.on("a0"), second.on("b0"), third)

    world.run()

    told = world.condition("g-2")
    assert world.bound("g-2") == {}
    assert told["reason"] == "SchedulerError"
    assert told["message"].endswith("more than 1 domain found for pod group: a, b")


@pytest.mark.parametrize(
    ("free", "minimum"), [(1, None), (0, 1)], ids=["one group fits", "none does"]
)
def test_room_is_made_for_groups_that_a_tree_is_whole_without(
    free: int, minimum: int | None
) -> None:
    nodes = [node(f"n{i}").offering(cpu="1") for i in range(2)]
    lows = [low(f"low-{i}", f"n{i}") for i in range(2 - free)]
    pods = [each.prioritised(100) for name in "ab" for each in workers(name, 1)]
    tree = composite("root", minimum), leaf("a", 1, "root"), leaf("b", 1, "root")
    world = GangWorld(*nodes, *lows, *tree, *pods)

    world.run()

    assert set(world.bound()) == {"a-0", "b-0"}
