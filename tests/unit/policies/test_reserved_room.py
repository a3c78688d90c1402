"""Room that stays free for those that it is reserved for."""

import pytest

from moorage.api.affinity import NodeSelectorRequirement
from moorage.api.meta import LabelSelector
from moorage.policies.reserved_room import RESERVED, Reservation, ReservedRoom
from moorage.testing import Cluster, PodBuilder, node, pod
from tests.unit.policies import waking
from tests.unit.policies.asking import faults, refusals, world

URGENT = Reservation("urgent", {"cpu": "2"}, min_priority=1000)
TAKEN = RESERVED.format("urgent")


def asking(cpu: str, name: str = "p", priority: int = 0) -> PodBuilder:
    return pod(name).requesting(cpu=cpu).prioritised(priority)


def test_others_leave_the_room_free() -> None:
    """A node of four cores, two of which are reserved."""
    cluster = world(ReservedRoom(reservations=(URGENT,)), node("a").offering(cpu="4"))

    assert refusals(cluster, asking("2")) == {}
    assert refusals(cluster, asking("2100m")) == {"a": TAKEN}
    assert refusals(cluster, asking("4", priority=1000)) == {}


def test_what_they_have_taken_is_no_longer_kept() -> None:
    cluster = world(ReservedRoom(reservations=(URGENT,)), node("a").offering(cpu="4"))
    cluster.add(asking("1500m", "first", priority=2000).on("a"))

    assert refusals(cluster, asking("2")) == {}
    assert refusals(cluster, asking("2100m")) == {"a": TAKEN}


def test_an_urgent_pod_finds_its_room_after_a_crowd() -> None:
    """Without the reservation it would not."""
    kept = Cluster(node("a").offering(cpu="4"), plugins=[ReservedRoom(reservations=(URGENT,))])
    plain = Cluster(node("a").offering(cpu="4"))
    for cluster in (kept, plain):
        for number in range(4):
            cluster.place(asking("1", f"crowd-{number}"))

    assert kept.place(asking("2", "urgent", priority=1000)) == "a"
    assert plain.place(asking("2", "urgent", priority=1000)) is None


def test_percentages_labels_namespaces_and_some_nodes_only() -> None:
    nodes = (NodeSelectorRequirement(key="pool", operator="In", values=("web",)),)
    chosen = LabelSelector(match_labels={"team": "web"})
    part = Reservation("web", {"cpu": "50%"}, nodes, chosen, ("shop",))
    both = (node("a").offering(cpu="4").labelled(pool="web"), node("b").offering(cpu="4"))
    cluster = world(ReservedRoom(reservations=(part,)), *both)

    assert refusals(cluster, asking("3")) == {"a": RESERVED.format("web")}
    assert refusals(cluster, asking("3").labelled(team="web")) == {}
    assert refusals(cluster, pod("p", "shop").requesting(cpu="3")) == {}


def test_arguments_that_make_no_sense_are_refused() -> None:
    given = [{"name": "x", "resources": {"cpu": "much"}, "nodes": [], "namespaces": []}]

    assert faults(ReservedRoom, reservations=given) == [
        "reservations[0].resources.cpu: 'much' is neither a quantity nor a percentage",
        "reservations[0].pods: nobody is named: pods, namespaces or minPriority",
    ]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(asking("2").labelled(team="web"), id="the room is for it by a new label"),
        pytest.param(asking("1500m"), id="it asks for less"),
        pytest.param(asking("1", "there").on("a"), id="a pod on the node asks for less"),
    ],
)
def test_a_pod_that_leaves_the_room_free_after_a_change_is_tried_again(change: PodBuilder) -> None:
    """Of four cores one is reserved and one and a half are taken: two are too many."""
    args = {
        "reservations": [
            {
                "name": "web",
                "resources": {"cpu": "1"},
                "pods": {"matchLabels": {"team": "web"}},
            }
        ]
    }
    there: list[waking.Object] = [
        node("a").offering(cpu="4"),
        asking("1500m", "there").on("a"),
        asking("2"),
    ]

    assert waking.places("p", "ReservedRoom", args, there, change) == ["", "a"]
