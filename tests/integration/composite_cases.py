"""Cases of CompositePodGroups, to be put to both schedulers."""

from typing import Any, Final

from tests.integration.group_cases import (
    CLASSES,
    COMPOSITE_API,
    HIGH,
    IN_ONE_ZONE,
    LOW,
    POLITE,
    SCHEDULER,
    Case,
    case,
    group,
    members,
    nodes,
    on_node,
    zones,
)
from tests.integration.making import Raw, node, pod

WORKLOAD: Final = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
RACK: Final = "example.com/rack"
IN_ONE_RACK: Final[dict[str, Any]] = {"schedulingConstraints": {"topology": [{"key": RACK}]}}


def composite(name: str, groups: int | None, parent: str = "", **spec: Any) -> Raw:
    """A CompositePodGroup: a gang of so many groups, or with None of the basic policy."""
    policy = {"basic": {}} if groups is None else {"gang": {"minGroupCount": groups}}
    above = {"parentCompositePodGroupName": parent} if parent else {}
    return {
        "apiVersion": COMPOSITE_API,
        "kind": "CompositePodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **above, **WORKLOAD, **spec},
    }


def below(name: str, minimum: int | None, parent: str = "root", **spec: Any) -> Raw:
    """A PodGroup with a parent."""
    return group(name, minimum, parentCompositePodGroupName=parent, **WORKLOAD, **spec)


def _large(name: str, count: int) -> list[Raw]:
    """Pods that fit on no node."""
    return [
        {**made, "spec": {**made["spec"], "containers": [_asking(made, "100")]}}
        for made in members(name, count)
    ]


def _asking(made: Raw, cpu: str) -> Raw:
    container: Raw = made["spec"]["containers"][0]
    return {**container, "resources": {"requests": {"cpu": cpu}}}


def _racks() -> list[Raw]:
    """Two zones of two racks of two nodes of one core."""
    zones = ("x", "y")
    return [
        node(
            f"{zone}{rack}{i}",
            cpu="1",
            labels={"topology.kubernetes.io/zone": zone, RACK: f"{zone}{rack}"},
        )
        for zone in zones
        for rack in (1, 2)
        for i in (1, 2)
    ]


def _victims(root: Raw, leaf: Raw, *, placed: int) -> Case:
    """Two groups of two on four nodes, and a pod that is more important; which of equals leaves is
    nobody's to say, so that their pods are named alike."""
    low: dict[str, Any] = {"priorityClassName": LOW}
    pods = [*members("v", 2, of="a", **low), *members("v-more", 2, of="b", **low)]
    for index, made in enumerate(pods):
        made["metadata"]["name"] = f"v-{index}"
    return case(
        *CLASSES,
        nodes(4),
        composite("root", 2, **low, **root),
        below("a", 2, **low, **leaf),
        below("b", 2, **low, **leaf),
        pods,
        then=[
            group("important", 1, priorityClassName=HIGH),
            *members("important", 1, priorityClassName=HIGH),
        ],
        placed=placed,
    )


def _evicting(name: str, **spec: Any) -> Case:
    """Pods on two nodes, and a composite group of two groups of one."""
    high: dict[str, Any] = {"priorityClassName": name}
    return case(
        *CLASSES,
        nodes(2),
        [pod(f"low-{i}", scheduler=SCHEDULER, cpu="1", priorityClassName=LOW) for i in range(2)],
        then=[
            composite("root", 2, **high, **spec),
            below("a", 1, **high, **spec),
            below("b", 1, **high, **spec),
            *members("a", 1, **high),
            *members("b", 1, **high),
        ],
        placed=2,
    )


def _important_groups() -> list[Raw]:
    """Two groups of one pod each, which come when their pods are there."""
    high: dict[str, Any] = {"priorityClassName": HIGH}
    pods = [*members("a", 1, **high), *members("b", 1, **high)]
    return [*pods, below("a", 1, **high), below("b", 1, **high)]


ALL: Final[dict[str, Any]] = {"disruptionMode": {"all": {}}}

COMPOSITES: Final = {
    "a composite group that fits is placed": case(
        nodes(4),
        composite("root", 2),
        below("a", 2),
        below("b", 2),
        members("a", 2),
        members("b", 2),
        placed=4,
    ),
    "a composite group of which one group does not fit waits": case(
        nodes(3),
        composite("root", 2),
        below("a", 2),
        below("b", 2),
        members("a", 2),
        members("b", 2),
        placed=0,
    ),
    "a composite group runs without a group that it does not need": case(
        nodes(6),
        composite("root", 2),
        below("a", 2),
        below("b", 2),
        below("c", 2),
        members("a", 2),
        _large("b", 2),
        members("c", 2),
        placed=4,
    ),
    "a composite group that lacks pods of a group waits": case(
        nodes(4),
        composite("root", 2),
        below("a", 2),
        below("b", 2),
        members("a", 2),
        members("b", 1),
        placed=0,
    ),
    "a composite group of the basic policy places what fits": case(
        nodes(4),
        composite("root", None),
        below("a", 2),
        below("b", 2),
        members("a", 2),
        _large("b", 2),
        placed=2,
    ),
    "a composite gang of basic groups": case(
        nodes(3),
        composite("root", 2),
        below("a", None),
        below("b", None),
        members("a", 2),
        members("b", 1),
        placed=3,
    ),
    "groups without their composite group wait": case(
        nodes(2), below("a", 2), members("a", 2), placed=0
    ),
    "a tree of three levels": case(
        nodes(9),
        composite("root", 2),
        composite("x", 2, "root"),
        composite("y", None, "root"),
        composite("z", 2, "root"),
        below("x1", 2, "x"),
        below("x2", 2, "x"),
        below("y1", None, "y"),
        below("z1", 2, "z"),
        below("z2", 2, "z"),
        members("x1", 2),
        members("x2", 2),
        members("y1", 1),
        members("z1", 2),
        _large("z2", 2),
        placed=5,
    ),
    "a group that comes later joins its composite group": case(
        nodes(3),
        composite("root", None),
        below("a", 1),
        members("a", 1),
        then=[below("b", 2), *members("b", 2)],
        placed=3,
    ),
    "a branch that comes later and lacks a group waits": case(
        nodes(3),
        composite("root", None),
        below("a", 1),
        members("a", 1),
        then=[composite("x", 2, "root"), below("b", 1, "x"), *members("b", 1)],
        placed=1,
    ),
    "a composite group in one zone": case(
        nodes(8, zones=2),
        composite("root", 2, **IN_ONE_ZONE),
        below("a", 2),
        below("b", 2),
        members("a", 2),
        members("b", 2),
        placed=4,
    ),
    "a composite group that no zone holds waits": case(
        nodes(6, zones=2),
        composite("root", 2, **IN_ONE_ZONE),
        below("a", 2),
        below("b", 2),
        members("a", 2),
        members("b", 2),
        placed=0,
    ),
    "a composite group in one zone, its groups in racks": case(
        _racks(),
        composite("root", 2, **IN_ONE_ZONE),
        below("a", 2, **IN_ONE_RACK),
        below("b", 2, **IN_ONE_RACK),
        members("a", 2),
        members("b", 2),
        placed=4,
    ),
    "a group that no rack of the zone holds": case(
        _racks(),
        composite("root", 2, **IN_ONE_ZONE),
        below("a", 3, **IN_ONE_RACK),
        below("b", 1, **IN_ONE_RACK),
        members("a", 3),
        members("b", 1),
        placed=0,
    ),
    "a composite group evicts pods": _evicting(HIGH),
    "a composite group that may not preempt waits": _evicting(POLITE, preemptionPolicy="Never"),
    "a composite group makes room for a group that it is whole without": case(
        *CLASSES,
        nodes(2),
        [pod("low-0", scheduler=SCHEDULER, cpu="1", priorityClassName=LOW)],
        then=[*_important_groups(), composite("root", None, priorityClassName=HIGH)],
        placed=2,
    ),
    "a composite group that needs one group makes room for two": case(
        *CLASSES,
        nodes(2),
        [pod(f"low-{i}", scheduler=SCHEDULER, cpu="1", priorityClassName=LOW) for i in range(2)],
        then=[*_important_groups(), composite("root", 1, priorityClassName=HIGH)],
        placed=2,
    ),
    "a composite group that runs in two zones is not placed": case(
        zones(x=2, y=2),
        composite("root", 1, **IN_ONE_ZONE),
        below("a", 2),
        on_node("p", "x0", "a"),
        on_node("q", "y0", "a"),
        members("a", 1),
        placed=2,
    ),
    "a group below that runs in two zones is not placed": case(
        zones(x=2, y=2),
        composite("root", 1),
        below("a", 2, **IN_ONE_ZONE),
        on_node("p", "x0", "a"),
        on_node("q", "y0", "a"),
        members("a", 1),
        placed=2,
    ),
    "a composite group that may be disrupted pod by pod loses one": _victims({}, {}, placed=4),
    "a group below is disrupted as a whole": _victims({}, ALL, placed=3),
    "a composite group that is disrupted as a whole loses all": _victims(ALL, {}, placed=1),
}
"""By title."""
