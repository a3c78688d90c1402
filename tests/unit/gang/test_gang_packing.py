"""Groups that are to be packed into one zone or rack."""

from typing import Any

import pytest

from moorage.testing import NodeBuilder, node, pod
from tests.unit.gang.gang_world import GangWorld, annotated, group, member, members, settle

ZONE = "topology.kubernetes.io/zone"
RACK = "example.com/rack"


def zone(name: str, nodes: int, cpu: str = "2") -> list[NodeBuilder]:
    return [node(f"{name}{i}").in_zone(name).offering(cpu=cpu) for i in range(nodes)]


def zones_of(world: GangWorld, prefix: str = "train") -> set[str]:
    return {name.rstrip("0123456789") for name in world.bound(prefix).values()}


REQUIRED = annotated(group("train", 4), required_topology=ZONE)
PREFERRED = annotated(group("train", 4), preferred_topology=ZONE)


def test_a_required_topology_keeps_a_group_together() -> None:
    world = GangWorld(*zone("a", 3), *zone("b", 3), REQUIRED, *members("train", 4))

    world.run()

    assert len(world.bound("train")) == 4
    assert len(zones_of(world)) == 1


def test_kubernetes_own_constraint_is_a_requirement() -> None:
    spec: dict[str, Any] = {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "schedulingConstraints": {"topology": [{"key": ZONE}]},
    }
    own = {**group("train", 0), "spec": spec}
    small = GangWorld(*zone("a", 1), *zone("b", 1), own, *members("train", 4))
    large = GangWorld(*zone("a", 2), *zone("b", 1), own, *members("train", 4))

    small.run()
    large.run()

    assert small.bound() == {}
    assert len(large.bound("train")) == 4
    assert zones_of(large) == {"a"}


def test_the_tightest_domain_that_fits_is_taken() -> None:
    world = GangWorld(
        *zone("large", 9), *zone("fits", 2), *zone("small", 1), REQUIRED, *members("train", 4)
    )

    world.run()

    assert zones_of(world) == {"fits"}


def test_a_group_that_fits_in_no_single_domain_waits_and_says_which_comes_closest() -> None:
    world = GangWorld(*zone("a", 1), *zone("b", 1, cpu="3"), REQUIRED, *members("train", 4))

    world.run()

    assert world.bound() == {}
    message = world.status("train")["conditions"][0]["message"]
    assert message == (
        f"PodGroup default/train: 3 of the 4 pods needed fit in {ZONE}=b. cpu: the 4 needed ask "
        "for 4, 3 is free there on 1 nodes: 1 more is needed."
    )


def test_room_that_comes_while_a_group_backs_off_is_not_overlooked() -> None:
    """No pod was tried, so no plugin but the group's own can tell that a node is of use."""
    world = GangWorld(*zone("a", 1), REQUIRED, *members("train", 4))

    async def story(world: GangWorld) -> None:
        await world.clock.sleep(0.5)
        world.apply(*zone("b", 2))
        await settle(world)

    world.run(story)

    assert zones_of(world) == {"b"}


def test_a_domain_with_room_in_sum_but_not_for_each_pod_is_passed_over() -> None:
    taken = [pod(f"t{i}").requesting(cpu="1").on(f"a{i}") for i in range(4)]
    spread = [p.listening(80) for p in members("train", 4)]
    world = GangWorld(
        *zone("a", 4), *taken, *zone("b", 1, cpu="4"), *zone("c", 4, cpu="9"), REQUIRED, *spread
    )

    world.run()

    assert zones_of(world) == {"a"}


def test_a_preferred_topology_is_given_up_for_room() -> None:
    world = GangWorld(*zone("a", 1), *zone("b", 1), PREFERRED, *members("train", 4))

    world.run()

    assert len(world.bound("train")) == 4
    assert zones_of(world) == {"a", "b"}


def test_a_preferred_topology_is_kept_where_it_can_be() -> None:
    world = GangWorld(*zone("a", 2), *zone("b", 4), PREFERRED, *members("train", 4))

    world.run()

    assert zones_of(world) == {"a"}


def test_pods_beyond_the_minimum_go_elsewhere_where_the_preferred_zone_is_full() -> None:
    world = GangWorld(*zone("a", 2), *zone("b", 1), PREFERRED, *members("train", 6))

    world.run()

    assert len(world.bound("train")) == 6


def test_a_rack_is_preferred_within_a_zone_that_is_required() -> None:
    nodes = [
        node(f"{z}-{r}").in_zone(z).labelled({RACK: f"{z}{r}"}).offering(cpu=cpu)
        for z, r, cpu in [("a", "1", "2"), ("a", "2", "2"), ("b", "1", "3"), ("b", "2", "1")]
    ]
    packed = annotated(group("train", 3), required_topology=ZONE, preferred_topology=RACK)
    world = GangWorld(*nodes, packed, *members("train", 3))

    world.run()

    assert set(world.bound("train").values()) == {"b-1"}


def test_nodes_without_the_label_are_in_no_domain() -> None:
    world = GangWorld(node("bare").offering(cpu="9"), REQUIRED, *members("train", 4))

    world.run()

    assert world.bound() == {}
    message = world.status("train")["conditions"][0]["message"]
    assert message.endswith("No node has the label that it is to be packed by.")


@pytest.mark.parametrize("room", [1, 3])
def test_pods_that_come_later_join_those_that_run(room: int) -> None:
    world = GangWorld(*zone("a", 2), REQUIRED, *members("train", 4))

    async def story(world: GangWorld) -> None:
        await settle(world)
        await world.finish("train-0")
        world.apply(*zone("b", room, cpu="8"))
        await settle(world)
        world.apply(member("train-9", "train"))
        await settle(world)

    world.run(story)

    assert zones_of(world) == {"a"}
