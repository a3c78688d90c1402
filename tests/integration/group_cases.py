"""Cases of Kubernetes' own groups, to be put to both schedulers."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tests.integration.making import Raw, node, pod, priority_class

API: Final = "scheduling.k8s.io/v1beta1"
COMPOSITE_API: Final = "scheduling.k8s.io/v1alpha3"
SCHEDULER: Final = "default-scheduler"
ZONE: Final = "topology.kubernetes.io/zone"


class Deed(NamedTuple):
    """Something that is done to an object that is there: a request, and where it goes."""

    method: str
    path: str
    body: Raw | None = None


class Case(NamedTuple):
    """What is there at first, what comes once that is placed, and how many are to be placed.

    With `before`, what comes then comes once so many are placed and all is quiet.
    """

    first: tuple[Raw, ...]
    then: tuple[Raw | Deed, ...]
    placed: int
    before: int | None = None


def group(name: str, minimum: int | None, **spec: Any) -> Raw:
    """A PodGroup: a gang of so many, or with None of the basic policy."""
    policy = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    return {
        "apiVersion": API,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def members(name: str, count: int, *, of: str = "", **spec: Any) -> list[Raw]:
    """Pods of a group, each of which fills a node of one core."""
    found = []
    for index in range(count):
        made = pod(f"{name}-{index}", scheduler=SCHEDULER, cpu="1", **spec)
        made["spec"]["schedulingGroup"] = {"podGroupName": of or name}
        found.append(made)
    return found


def nodes(count: int, zones: int = 1) -> list[Raw]:
    return [node(f"n{i}", cpu="1", labels={ZONE: f"z{i % zones}"}) for i in range(count)]


def deletion(pod: str, grace: int = 0) -> Deed:
    """A pod is deleted; where it is given time, it stays until that is over."""
    return Deed("DELETE", f"/api/v1/namespaces/default/pods/{pod}?gracePeriodSeconds={grace}")


def minimum_of(name: str, count: int) -> Deed:
    """The minimum of a gang is changed."""
    policy = {"schedulingPolicy": {"gang": {"minCount": count}}}
    return Deed("PATCH", f"/apis/{API}/namespaces/default/podgroups/{name}", {"spec": policy})


def zones(**sizes: int) -> list[Raw]:
    """Nodes of one core: so many in each zone."""
    return [
        node(f"{zone}{i}", cpu="1", labels={ZONE: zone})
        for zone, size in sizes.items()
        for i in range(size)
    ]


def on_node(name: str, node: str, of: str) -> list[Raw]:
    """A pod of a group that somebody has put on a node."""
    return members(name, 1, of=of, nodeName=node)


def case(*first: Raw | list[Raw], then: Sequence[Raw | Deed] = (), placed: int) -> Case:
    """A case of objects that come first, and others that come then."""
    flat = [obj for part in first for obj in (part if isinstance(part, list) else [part])]
    return Case(tuple(flat), tuple(then), placed)


IN_ONE_ZONE: Final[dict[str, Any]] = {"schedulingConstraints": {"topology": [{"key": ZONE}]}}
GATES: Final = {"schedulingGates": [{"name": "example.com/wait"}]}
LOW, HIGH, POLITE = "low", "high", "polite"
CLASSES: Final = [
    priority_class(LOW, 100),
    priority_class(HIGH, 1000),
    {**priority_class(POLITE, 1000), "preemptionPolicy": "Never"},
]


def _preempted(mode: str, minimum: int) -> Case:
    """A gang of two on both nodes, and a gang of one that is more important."""
    victims = group("victims", 2, priorityClassName=LOW, disruptionMode={mode: {}})
    important = group("important", minimum, priorityClassName=HIGH)
    return case(
        *CLASSES,
        nodes(2),
        victims,
        members("victims", 2, priorityClassName=LOW),
        then=[important, *members("important", minimum, priorityClassName=HIGH)],
        placed=2,
    )


def _over_low_pods(name: str, priority: str, **spec: Any) -> Case:
    """Two nodes that pods of low priority fill, and a gang of two that comes then."""
    low = [pod(f"low-{i}", scheduler=SCHEDULER, cpu="1", priorityClassName=LOW) for i in range(2)]
    gang = group(name, 2, priorityClassName=priority, **spec)
    comes = [gang, *members(name, 2, priorityClassName=priority)]
    return case(*CLASSES, nodes(2), low, then=comes, placed=2)


def _whole(name: str, count: int) -> list[Raw]:
    """A group of low priority that is disrupted as a whole, and its pods."""
    made = group(name, count, priorityClassName=LOW, disruptionMode={"all": {}})
    return [made, *members(name, count, priorityClassName=LOW)]


def _important(cpu: str) -> list[Raw]:
    """A pod of no group that is more important."""
    return [pod("high-0", scheduler=SCHEDULER, cpu=cpu, priorityClassName=HIGH)]


LOW_POD: Final = pod("low-0", scheduler=SCHEDULER, cpu="1", priorityClassName=LOW)

CASES: Final = {
    "a gang that fits is placed": case(nodes(3), group("g", 3), members("g", 3), placed=3),
    "a gang that lacks pods waits": case(nodes(3), group("g", 3), members("g", 2), placed=0),
    "a gang that does not fit waits": case(nodes(2), group("g", 3), members("g", 3), placed=0),
    "more pods than the minimum are placed where they fit": case(
        nodes(3), group("g", 2), members("g", 3), placed=3
    ),
    "more pods than fit leave the minimum": case(
        nodes(2), group("g", 2), members("g", 2), then=members("late", 1, of="g"), placed=2
    ),
    "a pod that comes later joins": case(
        nodes(3), group("g", 2), members("g", 2), then=members("late", 1, of="g"), placed=3
    ),
    "the basic policy places pods one by one": case(
        nodes(2), group("g", None), members("g", 3), placed=2
    ),
    "the basic policy places no pod that does not fit": case(
        node("small", cpu="500m"), group("g", None), members("g", 2), placed=0
    ),
    "pods without their group wait": case(nodes(2), members("g", 2), placed=0),
    "a gated pod does not count": case(
        nodes(2), group("g", 2), members("g", 1), members("gated", 1, of="g", **GATES), placed=0
    ),
    "a gang in one zone": case(
        nodes(4, zones=2), group("g", 2, **IN_ONE_ZONE), members("g", 2), placed=2
    ),
    "a gang that no zone holds waits": case(
        nodes(4, zones=2), group("g", 3, **IN_ONE_ZONE), members("g", 3), placed=0
    ),
    "a group that may be disrupted pod by pod loses one": _preempted("single", 1),
    "a group that is disrupted as a whole loses all": _preempted("all", 1)._replace(placed=1),
    "a gang evicts a gang": _preempted("all", 2),
    "a pod evicts the group of which fewer pods leave": case(
        *CLASSES, nodes(4), _whole("wide", 3), _whole("narrow", 1), then=_important("1"), placed=4
    ),
    "pods of a group leave a node together": case(
        *CLASSES,
        node("large", cpu="3"),
        _whole("pair", 2),
        LOW_POD,
        then=_important("2"),
        placed=2,
    ),
    "a pod of no group leaves before one of a group": case(
        *CLASSES,
        node("large", cpu="2"),
        group("single", 1, priorityClassName=LOW, disruptionMode={"single": {}}),
        members("single", 1, priorityClassName=LOW),
        LOW_POD,
        then=_important("1"),
        placed=2,
    ),
    "a gang evicts pods": _over_low_pods("important", HIGH),
    "a gang that may not preempt waits": _over_low_pods("polite", POLITE, preemptionPolicy="Never"),
    "a gang whose pods are not of its priority waits": case(
        *CLASSES,
        nodes(2),
        group("g", 2, priorityClassName=LOW),
        members("g", 1, priorityClassName=LOW),
        members("other", 1, of="g", priorityClassName=HIGH),
        placed=0,
    ),
    "a basic group whose pods are not of its priority waits": case(
        *CLASSES, nodes(2), group("g", None), members("g", 2, priorityClassName=HIGH), placed=0
    ),
    "a gang whose pods differ in whether they may preempt waits": case(
        *CLASSES,
        nodes(2),
        group("g", 2, priorityClassName=HIGH),
        members("g", 1, priorityClassName=HIGH),
        members("other", 1, of="g", priorityClassName=POLITE),
        placed=0,
    ),
    "a gang of no higher priority waits": _over_low_pods("equal", LOW),
}


def _unlike(*cpus: str) -> list[Raw]:
    """Pods of one gang that ask for different amounts, in the order in which they come."""
    found = members("g", len(cpus))
    for made, cpu in zip(found, cpus, strict=True):
        made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return found


BEYOND: Final = {
    "a small pod that comes first leaves the large node to the large pod": case(
        node("large", cpu="2"), node("small", cpu="1"), group("g", 2), _unlike("1", "2"), placed=2
    ),
    "of three sizes each finds its node": case(
        [node(f"n{cores}", cpu=str(cores)) for cores in (1, 2, 3)],
        group("g", 3),
        _unlike("1", "2", "3"),
        placed=3,
    ),
}
"""Gangs of unlike pods: for these upstream promises nothing, and places none of them."""


def _low(count: int) -> list[Raw]:
    """Pods of low priority, each of which fills a node."""
    return [
        pod(f"low-{i}", scheduler=SCHEDULER, cpu="1", priorityClassName=LOW) for i in range(count)
    ]


def _high(minimum: int | None, count: int, **spec: Any) -> list[Raw]:
    """A group of high priority, which comes when its pods are all there."""
    made = group("g", minimum, priorityClassName=HIGH, **spec)
    return [*members("g", count, priorityClassName=HIGH), made]


_BASIC_VICTIMS: Final[tuple[Raw | list[Raw], ...]] = (
    *CLASSES,
    nodes(2),
    group("v", None, priorityClassName=LOW, disruptionMode={"all": {}}),
    members("v", 2, priorityClassName=LOW),
)

STORIES: Final = {
    "a basic group that is disrupted as a whole loses all to a pod": case(
        *_BASIC_VICTIMS, then=_important("1"), placed=1
    ),
    "a basic group that is disrupted as a whole loses all to a gang": case(
        *_BASIC_VICTIMS, then=_high(1, 1), placed=1
    ),
    "a gang goes to the zone where most of its pods fit": case(
        zones(a=2, b=3), members("g", 3), group("g", 2, **IN_ONE_ZONE), placed=3
    ),
    "a basic group goes to the zone where most of its pods fit": case(
        zones(a=1, b=3, c=1, d=1), members("g", 3), group("g", None, **IN_ONE_ZONE), placed=3
    ),
    "a basic group waits where no node has its label": case(
        node("bare", cpu="4"), members("g", 2), group("g", None, **IN_ONE_ZONE), placed=0
    ),
    "a pod that comes when its zone is full waits": case(
        zones(a=2),
        group("g", 2, **IN_ONE_ZONE),
        members("g", 2),
        then=[*zones(b=2), *members("late", 1, of="g")],
        placed=2,
    ),
    "a gang that runs in two zones is not placed": case(
        zones(a=2, b=2),
        group("g", 3, **IN_ONE_ZONE),
        on_node("x", "a0", "g"),
        on_node("y", "b0", "g"),
        members("g", 1),
        placed=2,
    ),
    "a basic group that runs in two zones is not placed": case(
        zones(a=2, b=2),
        group("g", None, **IN_ONE_ZONE),
        on_node("x", "a0", "g"),
        on_node("y", "b0", "g"),
        members("g", 1),
        placed=2,
    ),
    "a gang that runs in no zone is not placed": case(
        zones(a=2),
        node("bare", cpu="1"),
        group("g", 2, **IN_ONE_ZONE),
        on_node("x", "bare", "g"),
        members("g", 1),
        placed=1,
    ),
    "one new pod for two that were lost waits": case(
        nodes(4),
        group("g", 3),
        members("g", 3),
        then=[deletion("g-0"), deletion("g-1"), *members("new", 1, of="g")],
        placed=1,
    ),
    "two new pods for two that were lost are placed": case(
        nodes(4),
        group("g", 3),
        members("g", 3),
        then=[deletion("g-0"), deletion("g-1"), *members("new", 2, of="g")],
        placed=3,
    ),
    "pods that are leaving count": case(
        nodes(3),
        group("g", 2),
        members("g", 2),
        then=[deletion("g-0", 30), deletion("g-1", 30), *members("new", 1, of="g")],
        placed=3,
    ),
    "a pod waits where the minimum was raised": case(
        nodes(4),
        group("g", 2),
        members("g", 2),
        then=[minimum_of("g", 4), *members("late", 1, of="g")],
        placed=2,
    ),
    "a gang makes room for more pods than the minimum": case(
        *CLASSES, nodes(2), _low(2), then=_high(1, 3), placed=2
    ),
    "room is made for a pod that its gang is whole without": case(
        *CLASSES, nodes(3), _low(1), then=_high(2, 3), placed=3
    ),
    "a basic group makes room in the zone where most of its pods fit": case(
        *CLASSES, zones(a=2, b=1), _low(3), then=_high(None, 2, **IN_ONE_ZONE), placed=3
    ),
}
"""Cases in which groups change, run in part, or have pods beyond their minimum."""
