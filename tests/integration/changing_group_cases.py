"""Cases of groups that change while they wait, or make room; to be put to both schedulers."""

from typing import Any, Final

from tests.integration.composite_cases import below, composite
from tests.integration.group_cases import (
    API,
    CLASSES,
    COMPOSITE_API,
    GATES,
    HIGH,
    IN_ONE_ZONE,
    LOW,
    POLITE,
    SCHEDULER,
    ZONE,
    Deed,
    case,
    deletion,
    group,
    members,
    minimum_of,
    nodes,
    on_node,
    zones,
)
from tests.integration.making import Raw, node, pod

PODS: Final = "/api/v1/namespaces/default/pods"
GROUPS: Final = f"/apis/{API}/namespaces/default/podgroups"
COMPOSITES: Final = f"/apis/{COMPOSITE_API}/namespaces/default/compositepodgroups"
_SAME_HOST: Final[dict[str, Any]] = {"topologyKey": "kubernetes.io/hostname"}
_SELECTOR: Final[dict[str, Any]] = {"labelSelector": {"matchLabels": {"app": "g"}}}
APART: Final[dict[str, Any]] = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{**_SELECTOR, **_SAME_HOST}]
    }
}
SPREAD: Final[dict[str, Any]] = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    **_SELECTOR,
}
NO_CLAIM: Final[dict[str, Any]] = {
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
}


def _gone(path: str) -> list[Deed]:
    """A group is deleted, and the controller that holds it back lets go."""
    return [Deed("DELETE", path), Deed("PATCH", path, {"metadata": {"finalizers": None}})]


def _bound(pod: str, node: str) -> Deed:
    """Somebody else binds a pod."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"kind": "Node", "name": node},
    }
    return Deed("POST", f"{PODS}/{pod}/binding", body)


def _ungated(pod: str) -> Deed:
    return Deed("PATCH", f"{PODS}/{pod}", {"spec": {"schedulingGates": None}})


def _labelled(pods: list[Raw]) -> list[Raw]:
    for made in pods:
        made["metadata"]["labels"]["app"] = "g"
    return pods


def _low(count: int, grace: int = 0) -> list[Raw]:
    """Pods of low priority, each of which fills a node; with a grace period they never leave."""
    return [
        pod(
            f"low-{i}",
            scheduler=SCHEDULER,
            cpu="1",
            priorityClassName=LOW,
            terminationGracePeriodSeconds=grace,
        )
        for i in range(count)
    ]


def _of_priority(name: str, minimum: int, count: int, priority: str, **spec: Any) -> list[Raw]:
    made = group(name, minimum, priorityClassName=priority, **spec)
    return [made, *members(name, count, priorityClassName=priority)]


_GATED: Final[tuple[list[Raw], ...]] = (
    nodes(3),
    members("gated", 1, of="g", **GATES),
    members("g", 2),
)
_WAITING_TREE: Final[tuple[Raw | list[Raw], ...]] = (
    nodes(1),
    composite("root", 2),
    below("a", 1),
    below("b", 1),
    members("a", 1),
    members("b", 1),
)
_RUNNING_TREE: Final[tuple[Raw | list[Raw], ...]] = (nodes(4), *_WAITING_TREE[1:])

CHANGES: Final = {
    "a gang waits for a pod behind a gate that it does not need": case(
        *_GATED, group("g", 2), placed=0
    ),
    "a basic group waits for a pod behind a gate": case(*_GATED, group("g", None), placed=0),
    "a gang goes on when the gate is gone": case(
        *_GATED, group("g", 2), then=[_ungated("gated-0")], placed=3
    )._replace(before=0),
    "the minimum is lowered to the pods that are there": case(
        nodes(3), group("g", 3), members("g", 2), then=[minimum_of("g", 2)], placed=2
    )._replace(before=0),
    "the minimum is lowered to the pods that fit": case(
        nodes(2), group("g", 3), members("g", 3), then=[minimum_of("g", 2)], placed=2
    )._replace(before=0),
    "a group that is deleted while it waits is not placed": case(
        nodes(1),
        group("g", 2),
        members("g", 2),
        then=[*_gone(f"{GROUPS}/g"), *zones(more=1)],
        placed=0,
    )._replace(before=0),
    "somebody else binds a pod of a gang that waits": case(
        node("full", cpu="1"),
        node("free", cpu="2"),
        pod("there-0", scheduler=SCHEDULER, cpu="1", nodeName="full"),
        group("g", 3),
        members("g", 3),
        then=[_bound("g-0", "full")],
        placed=4,
    )._replace(before=1),
    "pods of another scheduler do not count": case(
        nodes(3),
        group("g", 2),
        members("g", 1),
        members("o", 1, of="g", schedulerName="other"),
        placed=0,
    ),
    "a pod joins one that somebody has put on a node": case(
        nodes(3), group("g", 2), on_node("x", "n0", "g"), members("g", 1), placed=2
    ),
    "labels of scheduler-plugins mean nothing": case(
        *CLASSES,
        nodes(3),
        group("g", 1),
        [
            {**made, "metadata": {**made["metadata"], "labels": {label: "x"}}}
            for made, label in zip(
                [*members("g", 1), *_low(2)],
                ("scheduling.x-k8s.io/pod-group",) * 2 + ("pod-group.scheduling.sigs.k8s.io",),
                strict=True,
            )
        ],
        placed=3,
    ),
    "pods of a gang that shun each other find nodes of their own": case(
        [node(f"n{i}", cpu="4") for i in range(3)],
        group("g", 3),
        _labelled(members("g", 3, affinity=APART)),
        placed=3,
    ),
    "a gang whose pods shun each other waits for one node more": case(
        [node(f"n{i}", cpu="4") for i in range(2)],
        group("g", 3),
        _labelled(members("g", 3, affinity=APART)),
        placed=0,
    ),
    "a gang that cannot be spread waits": case(
        zones(a=1, b=3),
        group("g", 4),
        _labelled(members("g", 4, topologySpreadConstraints=[SPREAD])),
        placed=0,
    ),
    "a gang waits for the claim of a pod that it needs": case(
        nodes(3), group("g", 3), members("g", 2), members("odd", 1, of="g", **NO_CLAIM), placed=0
    ),
    "a gang comes before there are nodes": case(
        group("g", 2), members("g", 2), then=nodes(2), placed=2
    )._replace(before=0),
    "a small gang passes a large one": case(
        nodes(2),
        group("large", 3),
        members("large", 3),
        then=[group("small", 2), *members("small", 2)],
        placed=2,
    )._replace(before=0),
    "all pods of a gang are lost and made anew": case(
        nodes(2),
        group("g", 2),
        members("g", 2),
        then=[deletion("g-0"), deletion("g-1"), *members("new", 2, of="g")],
        placed=2,
    ),
    "a gang that would not fit evicts nobody": case(
        *CLASSES, nodes(2), _low(2), then=_of_priority("g", 3, 3, HIGH), placed=2
    ),
    "a gang waits for victims that do not leave": case(
        *CLASSES, nodes(2), _low(2, grace=30), then=_of_priority("g", 2, 2, HIGH), placed=2
    ),
    "no gang of the same priority takes the room that another waits for": case(
        *CLASSES,
        nodes(2),
        _low(2, grace=30),
        then=[*_of_priority("g", 2, 2, HIGH), *_of_priority("k", 1, 1, HIGH)],
        placed=2,
    ),
    "a gang that may not preempt waits as a whole": case(
        *CLASSES,
        nodes(2),
        _low(2),
        then=_of_priority("p", 2, 2, POLITE, preemptionPolicy="Never"),
        placed=2,
    ),
    "late pods go where the zone of their gang has grown": case(
        zones(a=2),
        group("g", 2, **IN_ONE_ZONE),
        members("g", 2),
        then=[*members("late", 2, of="g"), node("a2", cpu="2", labels={ZONE: "a"})],
        placed=4,
    ),
    "a group of a tree comes late": case(
        nodes(4),
        composite("root", 2),
        below("a", 1),
        members("a", 1),
        then=[below("b", 1), *members("b", 1)],
        placed=2,
    )._replace(before=0),
    "a tree that is deleted while it waits is not placed": case(
        *_WAITING_TREE, then=[Deed("DELETE", f"{COMPOSITES}/root"), *zones(more=1)], placed=0
    )._replace(before=0),
    "a tree lacks a group that is deleted": case(
        *_WAITING_TREE, then=[*_gone(f"{GROUPS}/b"), *zones(more=1)], placed=0
    )._replace(before=0),
    "a tree of which a group has lost its pods takes no more": case(
        *_RUNNING_TREE, then=[deletion("a-0"), *members("late", 1, of="b")], placed=1
    ),
}
"""Groups whose pods, minimum, gates or objects are others by the time they are looked at."""
