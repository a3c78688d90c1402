from typing import Any

import pytest

from moorage.api.cluster_objects import Service
from moorage.api.meta import KubeObject, ObjectMeta
from moorage.api.node import Node, NodeCondition, NodeSpec, NodeStatus
from moorage.api.pod import (
    Pod,
    PodCondition,
    PodSchedulingGate,
    PodSpec,
    PodStatus,
    Toleration,
)
from moorage.api.pod_spec import Container, ResourceRequirements
from moorage.api.storage import CSINode, StorageClass
from moorage.api.taints import Taint
from moorage.framework.events import Action, Resource
from moorage.queue import change_events


def node(labels: dict[str, str] | None = None, **fields: Any) -> Node:
    meta = ObjectMeta(name="n1", labels=labels or {}, annotations=fields.pop("annotations", {}))
    spec = {k: fields.pop(k) for k in ("unschedulable", "taints") if k in fields}
    return Node(metadata=meta, spec=NodeSpec(**spec), status=NodeStatus(**fields))


def pod(labels: dict[str, str] | None = None, **fields: Any) -> Pod:
    cpu, status = fields.pop("cpu", "1"), fields.pop("status", PodStatus())
    requests = ResourceRequirements(requests={"cpu": cpu, **fields.pop("requests", {})})
    spec = PodSpec(containers=(Container(name="c", resources=requests),), **fields)
    return Pod(metadata=ObjectMeta(name="p", labels=labels or {}), spec=spec, status=status)


def names(old: KubeObject | None, new: KubeObject | None) -> list[str]:
    return [event.name for event in change_events.events_of_change(old, new)]


def condition(status: str, message: str = "") -> tuple[NodeCondition, ...]:
    return (NodeCondition(type="Ready", status=status, message=message),)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, node(), ["NodeAdd"], id="added"),
        pytest.param(node(), None, ["NodeDelete"], id="deleted"),
        pytest.param(node(), node(), [], id="updated in nothing that scheduling reads"),
        pytest.param(
            node(allocatable={"cpu": "1"}),
            node(allocatable={"cpu": "2"}),
            ["NodeUpdateNodeAllocatable"],
            id="offers more",
        ),
        pytest.param(
            node(allocatable={"cpu": "1"}),
            node(allocatable={"cpu": "1000m"}),
            [],
            id="offers the same in other words",
        ),
        pytest.param(node(), node({"a": "b"}), ["NodeUpdateNodeLabel"], id="labelled"),
        pytest.param(
            node(taints=(Taint(key="a", effect="NoSchedule"),)),
            node(),
            ["NodeUpdateNodeTaint"],
            id="rid of a taint",
        ),
        pytest.param(
            node(unschedulable=True), node(), ["NodeUpdateNodeTaint"], id="opened for scheduling"
        ),
        pytest.param(node(), node(unschedulable=True), [], id="closed for scheduling"),
        pytest.param(
            node(conditions=condition("False")),
            node(conditions=condition("True")),
            ["NodeUpdateNodeCondition"],
            id="ready now",
        ),
        pytest.param(
            node(conditions=condition("True", "ok")),
            node(conditions=condition("True", "still ok")),
            [],
            id="heartbeat",
        ),
        pytest.param(
            node(), node(annotations={"a": "b"}), ["NodeUpdateNodeAnnotation"], id="annotated"
        ),
        pytest.param(
            node(),
            node(declared_features=("X",)),
            ["NodeUpdateNodeDeclaredFeature"],
            id="able to do more",
        ),
        pytest.param(
            node(allocatable={"cpu": "1"}, unschedulable=True),
            node({"a": "b"}, allocatable={"cpu": "2"}, taints=(Taint(key="a"),)),
            ["NodeUpdateNodeTaint", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel"],
            id="changed in many ways: each once",
        ),
    ],
)
def test_a_node(old: Node | None, new: Node | None, want: list[str]) -> None:
    assert names(old, new) == want


def on_n1(labels: dict[str, str] | None = None, **fields: Any) -> Pod:
    return pod(labels, node_name="n1", **fields)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, on_n1(), ["AssignedPodAdd"], id="added on a node"),
        pytest.param(None, pod(), ["UnscheduledPodAdd"], id="added without a node"),
        pytest.param(pod(), on_n1(), ["AssignedPodAdd"], id="bound"),
        pytest.param(on_n1(), None, ["AssignedPodDelete"], id="deleted from its node"),
        pytest.param(pod(), None, [], id="deleted while it waited"),
        pytest.param(pod(), pod({"a": "b"}), [], id="updated while it waits"),
        pytest.param(on_n1(), on_n1({"a": "b"}), ["AssignedPodUpdatePodLabel"], id="labelled"),
        pytest.param(
            on_n1(), on_n1(cpu="500m"), ["AssignedPodUpdatePodScaleDown"], id="scaled down"
        ),
        pytest.param(on_n1(), on_n1(cpu="2"), ["AssignedPodUpdatePodScaleUp"], id="scaled up"),
        pytest.param(on_n1(), on_n1(cpu="1000m"), ["AssignedPodUpdate"], id="respelled"),
        pytest.param(
            on_n1(),
            on_n1(cpu="2", requests={"memory": "1Gi"}),
            ["AssignedPodUpdatePodScaleUp"],
            id="asking for something new",
        ),
        pytest.param(
            on_n1(requests={"memory": "1Gi"}),
            on_n1(cpu="2"),
            ["AssignedPodUpdatePodScaleDown", "AssignedPodUpdatePodScaleUp"],
            id="asking for less of one and more of another",
        ),
        pytest.param(
            on_n1(),
            on_n1(status=PodStatus(conditions=(PodCondition(type="Ready", status="True"),))),
            ["AssignedPodUpdate"],
            id="updated in no special way",
        ),
    ],
)
def test_a_pod_to_others(old: Pod | None, new: Pod | None, want: list[str]) -> None:
    assert names(old, new) == want


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(
            pod(scheduling_gates=(PodSchedulingGate(name="a"),)),
            pod(),
            [Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED],
            id="rid of its last gate",
        ),
        pytest.param(
            pod(scheduling_gates=(PodSchedulingGate(name="a"), PodSchedulingGate(name="b"))),
            pod(scheduling_gates=(PodSchedulingGate(name="a"),)),
            [Action.UPDATE],
            id="rid of one of its gates",
        ),
        pytest.param(
            pod(),
            pod(tolerations=(Toleration(operator="Exists"),)),
            [Action.UPDATE_POD_TOLERATION],
            id="more tolerant",
        ),
        pytest.param(pod(), pod({"a": "b"}), [Action.UPDATE_POD_LABEL], id="labelled"),
        pytest.param(pod(), pod(cpu="1m"), [Action.UPDATE_POD_SCALE_DOWN], id="more modest"),
        pytest.param(pod(), pod(), [Action.UPDATE], id="updated in no special way"),
    ],
)
def test_a_waiting_pod_to_itself(old: Pod, new: Pod, want: list[Action]) -> None:
    events = change_events.events_of_pod_update(old, new)

    assert [event.action for event in events] == want
    assert {event.resource for event in events} == {Resource.TARGET_POD}


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, StorageClass(), ["storage.k8s.io/StorageClassAdd"], id="added"),
        pytest.param(CSINode(), CSINode(), ["storage.k8s.io/CSINodeUpdate"], id="updated"),
        pytest.param(CSINode(), None, ["storage.k8s.io/CSINodeDelete"], id="deleted"),
        pytest.param(None, Service(), [], id="of a kind that no plugin hears of"),
    ],
)
def test_another_object(old: KubeObject | None, new: KubeObject | None, want: list[str]) -> None:
    assert names(old, new) == want


def nominated(where: str) -> Pod:
    return pod(priority=5, status=PodStatus(nominated_node_name=where))


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(nominated("n1"), nominated("n2"), True, id="goes elsewhere"),
        pytest.param(nominated("n1"), nominated(""), True, id="loses it"),
        pytest.param(nominated("n1"), None, True, id="is deleted"),
        pytest.param(nominated("n1"), nominated("n1"), False, id="keeps it"),
        pytest.param(nominated(""), nominated("n1"), False, id="has none yet"),
    ],
)
def test_a_nomination_is_given_up_when_the_pod(old: Pod, new: Pod | None, want: bool) -> None:
    assert change_events.gives_up_nomination(old, new) is want


@pytest.mark.parametrize(("priority", "want"), [(4, False), (5, True), (6, True)])
def test_pods_of_no_higher_priority_are_chosen(priority: int, want: bool) -> None:
    assert change_events.has_priority_at_most(priority)(nominated("")) is want
