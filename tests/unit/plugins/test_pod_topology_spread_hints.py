"""PodTopologySpread: which events let a refused pod try again."""

from typing import Any

import msgspec
import pytest

from moorage.api.affinity import TopologySpreadConstraint
from moorage.api.decode import decode_as
from moorage.api.node import ZONE_LABEL, Node
from moorage.api.pod import Pod
from moorage.framework.events import Action, ClusterEvent, Hint, HintFunction, Resource
from moorage.plugins.pod_topology_spread.plugin import PodTopologySpread


def pod(
    app: str = "web", on: str = "n0", namespace: str = "shop", nominated: str = "", **spec: Any
) -> Pod:
    metadata = {"name": app, "namespace": namespace, "labels": {"app": app}}
    status = {"nominatedNodeName": nominated}
    return decode_as(
        {"metadata": metadata, "spec": {"nodeName": on, **spec}, "status": status}, Pod
    )


def spreading(**fields: Any) -> Pod:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE_LABEL,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return pod(on="", topologySpreadConstraints=[constraint | fields])


def node(*taints: str, **labels: str) -> Node:
    spec = {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]}
    found = {ZONE_LABEL: labels["zone"]} if "zone" in labels else {}
    return decode_as({"metadata": {"name": "n0", "labels": found}, "spec": spec}, Node)


def hint_for(
    resource: Resource, action: Action, plugin: PodTopologySpread | None = None
) -> HintFunction:
    wanted = ClusterEvent(resource, action)
    found = [
        each.hint for each in (plugin or PodTopologySpread()).events() if each.event.matches(wanted)
    ]
    assert len(found) == 1
    assert found[0] is not None
    return found[0]


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, pod(), Hint.QUEUE, id="a selected pod came"),
        pytest.param(pod(), None, Hint.QUEUE, id="a selected pod went"),
        pytest.param(None, pod("db"), Hint.SKIP, id="another pod came"),
        pytest.param(pod("db"), None, Hint.SKIP, id="another pod went"),
        pytest.param(None, pod(namespace="x"), Hint.SKIP, id="a pod of another namespace came"),
        pytest.param(None, pod(on=""), Hint.SKIP, id="a pod on no node came"),
        pytest.param(None, pod(on="", nominated="n1"), Hint.QUEUE, id="a nominated pod came"),
        pytest.param(pod("db"), pod(), Hint.QUEUE, id="a pod became selected"),
        pytest.param(pod("db"), pod("x"), Hint.SKIP, id="a pod changed labels nobody selects"),
        pytest.param(pod(), pod(priority=3), Hint.SKIP, id="a pod changed otherwise"),
    ],
)
def test_after_assigned_pod_change(old: Pod | None, new: Pod | None, want: Hint) -> None:
    hint = hint_for(Resource.ASSIGNED_POD, Action.ADD)

    assert hint(spreading(), old, new) is want


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, node(zone="x"), Hint.QUEUE, id="a node in a zone came"),
        pytest.param(None, node(), Hint.SKIP, id="a node in no zone came"),
        pytest.param(node(zone="x"), None, Hint.QUEUE, id="a node in a zone went"),
        pytest.param(node(), None, Hint.SKIP, id="a node in no zone went"),
        pytest.param(node(), node(zone="x"), Hint.QUEUE, id="a node got a zone"),
        pytest.param(node(zone="x"), node(), Hint.QUEUE, id="a node lost its zone"),
        pytest.param(node(zone="x"), node(zone="y"), Hint.QUEUE, id="a node changed its zone"),
        pytest.param(node(zone="x"), node(zone="x"), Hint.SKIP, id="nothing that counts changed"),
        pytest.param(
            node("a", zone="x"), node(zone="x"), Hint.QUEUE, id="a node in a zone lost a taint"
        ),
        pytest.param(node("a"), node(), Hint.SKIP, id="a node in no zone lost a taint"),
    ],
)
def test_after_node_change(old: Node | None, new: Node | None, want: Hint) -> None:
    hint = hint_for(Resource.NODE, Action.ADD)

    assert hint(spreading(), old, new) is want


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({}, Hint.QUEUE, id="its zone counts no longer"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, Hint.SKIP, id="every node counts anyway"),
    ],
)
def test_a_node_in_a_zone_is_no_longer_one_that_the_pod_asks_for(
    fields: dict[str, str], want: Hint
) -> None:
    hint = hint_for(Resource.NODE, Action.UPDATE_NODE_LABEL)
    refused = spreading(**fields)
    asking = msgspec.structs.replace(
        refused, spec=msgspec.structs.replace(refused.spec, node_selector={"disk": "ssd"})
    )
    old, new = (
        decode_as({"metadata": {"name": "n0", "labels": {ZONE_LABEL: "x", "disk": disk}}}, Node)
        for disk in ("ssd", "hdd")
    )

    assert hint(asking, old, new) is want


TOLERANT = pod(on="", tolerations=[{"operator": "Exists"}])


@pytest.mark.parametrize(
    ("refused", "new", "want"),
    [
        pytest.param(
            spreading(nodeTaintsPolicy="Honor"),
            TOLERANT,
            Hint.QUEUE,
            id="tolerations matter where taints are honoured",
        ),
        pytest.param(spreading(), TOLERANT, Hint.SKIP, id="and not elsewhere"),
        pytest.param(
            spreading(), pod("db", on=""), Hint.QUEUE, id="the pod selects itself no more"
        ),
    ],
)
def test_after_target_pod_change(refused: Pod, new: Pod, want: Hint) -> None:
    hint = hint_for(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION)

    assert hint(refused, pod(on=""), new) is want


def test_what_a_hint_cannot_know_is_worth_an_attempt() -> None:
    """Selectors of hard defaults come from objects that hints do not see."""
    hard = TopologySpreadConstraint(
        topology_key=ZONE_LABEL, when_unsatisfiable="DoNotSchedule", max_skew=1
    )
    plugin = PodTopologySpread(defaulting_type="List", default_constraints=(hard,))

    assert hint_for(Resource.ASSIGNED_POD, Action.ADD, plugin)(pod(on=""), None, pod("db")) is (
        Hint.QUEUE
    )
    assert hint_for(Resource.ASSIGNED_POD, Action.ADD)(pod(on=""), None, pod("db")) is Hint.SKIP


def test_only_the_events_that_upstream_registers_are_heard() -> None:
    heard = {(each.event.resource, each.event.action) for each in PodTopologySpread().events()}

    assert heard == {
        (Resource.ASSIGNED_POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE),
        (Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION | Action.UPDATE_POD_LABEL),
        (
            Resource.NODE,
            Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
        ),
    }


def test_the_pod_selects_others_by_its_new_labels() -> None:
    """Neither its old labels nor its new ones are selected by then."""
    hint = hint_for(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
    old = spreading(matchLabelKeys=["hash"])
    metadata = msgspec.structs.replace(old.metadata, labels={"app": "db", "hash": "1"})
    new = msgspec.structs.replace(old, metadata=metadata)

    assert hint(new, old, new) is Hint.QUEUE
