"""NodeResourcesFit: pods that request more resources than a verdict has bits."""

from moorage.cycle.attempt import Decision, Unschedulable
from moorage.framework.verdicts import Code
from moorage.testing import Cluster, node, pod
from moorage.testing.builders import NodeBuilder

NAMES = [f"example.com/device-{index:02}" for index in range(40)]
WIDE = pod("wide").requesting(dict.fromkeys(NAMES, "2"))


def offering(name: str, **others: str) -> NodeBuilder:
    """A node with two of each device, but for those that are named by their number."""
    devices = dict.fromkeys(NAMES, "2")
    for key, amount in others.items():
        devices[NAMES[int(key.removeprefix("device"))]] = amount
    return node(name).offering(devices)


def test_only_a_node_that_has_all_of_them_is_taken() -> None:
    short = [offering(f"short-{index}", **{f"device{index}": "1"}) for index in range(40)]
    cluster = Cluster(*short, offering("whole"))

    decided = cluster.attempt(WIDE)

    assert isinstance(decided, Decision)
    assert (decided.node, decided.feasible) == ("whole", 1)


def test_each_resource_in_short_supply_is_a_reason_and_what_no_eviction_frees_is_known() -> None:
    holds_some = pod("holds").requesting({NAMES[38]: "1"}).prioritised(-1).on("busy")
    cluster = Cluster(
        offering("busy"),
        offering("small", device3="1", device39="0"),
        offering("full").offering(pods="0"),
        holds_some,
    )

    refused = cluster.attempt(WIDE)

    assert isinstance(refused, Unschedulable)
    found = {
        name: refused.diagnosis.rejection(cluster.cache.table.row_of[name])
        for name in ("busy", "small", "full")
    }
    assert {name: (why.code, set(why.reasons)) for name, why in found.items() if why} == {
        "busy": (Code.UNSCHEDULABLE, {f"Insufficient {NAMES[38]}"}),
        "small": (Code.UNRESOLVABLE, {f"Insufficient {NAMES[3]}", f"Insufficient {NAMES[39]}"}),
        "full": (Code.UNSCHEDULABLE, {"Too many pods"}),
    }


def test_room_is_made_for_it() -> None:
    victim = pod("victim").requesting({NAMES[38]: "1"}).prioritised(-1).on("busy")
    cluster = Cluster(offering("busy"), offering("small", device39="0"), victim)

    refused = cluster.attempt(WIDE.prioritised(10))

    assert isinstance(refused, Unschedulable)
    assert refused.nominated is not None
    assert refused.nominated.node == "busy"
    assert [pod.name for pod in refused.nominated.victims] == ["victim"]
