"""InterPodAffinity: which events let a refused pod try again."""

from typing import Any

import msgspec
import pytest

from moorage.api.decode import decode_as
from moorage.api.node import ZONE_LABEL, Node
from moorage.api.pod import Pod
from moorage.cache import affinity_terms
from moorage.framework.events import Action, ClusterEvent, Hint, HintFunction, Resource
from moorage.plugins.inter_pod_affinity.plugin import InterPodAffinity

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def term(app: str = "web", operator: str = "In", key: str = ZONE_LABEL) -> dict[str, Any]:
    expression = {"key": "app", "operator": operator, "values": [app]}
    return {"labelSelector": {"matchExpressions": [expression]}, "topologyKey": key}


def pod(app: str = "web", on: str = "n0", nominated: str = "", **affinity: Any) -> Pod:
    rules = {kind: {REQUIRED: terms} for kind, terms in affinity.items()}
    metadata = {"name": app, "namespace": "shop", "labels": {"app": app}}
    status = {"nominatedNodeName": nominated}
    spec = {"nodeName": on, "affinity": rules}
    return decode_as({"metadata": metadata, "spec": spec, "status": status}, Pod)


def node(**labels: str) -> Node:
    found = {ZONE_LABEL: labels["zone"]} if "zone" in labels else {}
    return decode_as({"metadata": {"name": "n0", "labels": found}}, Node)


SEEKING = pod("new", on="", podAffinity=[term()])
SOCIAL = pod("web", on="", podAffinity=[term()])
SHUNNING = pod("new", on="", podAntiAffinity=[term()])
SEEKING_TWICE = pod("new", on="", podAffinity=[term(), term(key="rack")])
PARTICULAR = pod("new", on="", podAffinity=[term()], podAntiAffinity=[term("db")])
PLAIN = pod("new", on="")


def hint_for(resource: Resource, action: Action) -> HintFunction:
    wanted = ClusterEvent(resource, action)
    found = [each.hint for each in InterPodAffinity().events() if each.event.matches(wanted)]
    assert len(found) == 1
    assert found[0] is not None
    return found[0]


@pytest.mark.parametrize(
    ("refused", "old", "new", "want"),
    [
        pytest.param(SEEKING, None, pod(), Hint.QUEUE, id="a wanted pod came"),
        pytest.param(SEEKING, None, pod("db"), Hint.SKIP, id="another pod came"),
        pytest.param(SEEKING, None, pod(on=""), Hint.SKIP, id="a pod on no node came"),
        pytest.param(
            SEEKING, None, pod(on="", nominated="n1"), Hint.QUEUE, id="a nominated pod came"
        ),
        pytest.param(SEEKING, pod("db"), pod(), Hint.QUEUE, id="a pod became wanted"),
        pytest.param(SEEKING, pod(), pod(), Hint.SKIP, id="a wanted pod stayed wanted"),
        pytest.param(SEEKING, pod(), None, Hint.SKIP, id="a wanted pod went"),
        pytest.param(SOCIAL, pod(), None, Hint.QUEUE, id="one of the pod's own group went"),
        pytest.param(SOCIAL, pod(), pod("db"), Hint.QUEUE, id="one left the pod's own group"),
        pytest.param(SHUNNING, pod(), None, Hint.QUEUE, id="a shunned pod went"),
        pytest.param(SHUNNING, pod("db"), None, Hint.SKIP, id="another pod went"),
        pytest.param(SHUNNING, pod(), pod("db"), Hint.QUEUE, id="a pod is shunned no more"),
        pytest.param(SHUNNING, pod("db"), pod(), Hint.SKIP, id="a pod became shunned"),
        pytest.param(SHUNNING, None, pod(), Hint.SKIP, id="a shunned pod came"),
        pytest.param(
            PLAIN,
            pod(podAntiAffinity=[term("new")]),
            None,
            Hint.QUEUE,
            id="a pod that shunned the refused one went",
        ),
        pytest.param(
            PLAIN,
            pod(
                podAntiAffinity=[{**term("new"), "namespaceSelector": {"matchLabels": {"a": "b"}}}]
            ),
            None,
            Hint.QUEUE,
            id="a pod went that may have shunned pods in the refused one's namespace",
        ),
        pytest.param(
            pod("new", on="", podAffinity=[term(operator="Like")]),
            None,
            pod("db"),
            Hint.QUEUE,
            id="terms that cannot be parsed are worth an attempt",
        ),
    ],
)
def test_after_assigned_pod_change(
    refused: Pod, old: Pod | None, new: Pod | None, want: Hint
) -> None:
    assert hint_for(Resource.ASSIGNED_POD, Action.ADD)(refused, old, new) is want


@pytest.mark.parametrize(
    ("refused", "old", "new", "want"),
    [
        pytest.param(SEEKING, None, node(zone="x"), Hint.QUEUE, id="a node in a zone came"),
        pytest.param(SEEKING, None, node(), Hint.SKIP, id="a node in no zone came"),
        pytest.param(
            SEEKING_TWICE,
            None,
            node(zone="x"),
            Hint.QUEUE,
            id="a node in a zone and in no rack came, with whoever is on it",
        ),
        pytest.param(
            PARTICULAR, None, node(), Hint.QUEUE, id="any node came, to a pod that shuns, too"
        ),
        pytest.param(SEEKING, node(), node(zone="x"), Hint.QUEUE, id="a node got a zone"),
        pytest.param(SEEKING, node(zone="x"), node(zone="y"), Hint.QUEUE, id="a node moved"),
        pytest.param(
            SEEKING,
            node(zone="x"),
            node(),
            Hint.QUEUE,
            id="a node left its zone, and perhaps took one along that shunned the pod",
        ),
        pytest.param(SEEKING, node(zone="x"), node(zone="x"), Hint.SKIP, id="a node stayed"),
        pytest.param(SHUNNING, None, node(), Hint.QUEUE, id="any node came, to a shunning pod"),
        pytest.param(
            SHUNNING, node(zone="x"), node(), Hint.QUEUE, id="a node left the shunned zone"
        ),
        pytest.param(
            SHUNNING, node(), node(zone="x"), Hint.SKIP, id="a node without a zone was free before"
        ),
        pytest.param(
            SHUNNING, node(zone="x"), node(zone="y"), Hint.QUEUE, id="a node moved, when shunning"
        ),
        pytest.param(
            PLAIN, None, node(zone="x"), Hint.QUEUE, id="a node came, where nobody may shun the pod"
        ),
        pytest.param(
            PLAIN, node(), node(zone="x"), Hint.SKIP, id="a node got a zone, and left nobody behind"
        ),
    ],
)
def test_after_node_change(refused: Pod, old: Node | None, new: Node, want: Hint) -> None:
    assert hint_for(Resource.NODE, Action.ADD)(refused, old, new) is want


def test_new_labels_of_the_pod_itself_are_worth_an_attempt() -> None:
    hint = hint_for(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)

    assert hint(PLAIN, PLAIN, PLAIN) is Hint.QUEUE


def test_the_terms_of_a_pod_that_waits_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever a pod comes or goes, every pod that waits for others is asked about."""
    read: list[str] = []
    parse = affinity_terms.parse

    def counted(pod: Pod) -> affinity_terms.PodTerms:
        read.append(pod.name)
        return parse(pod)

    monkeypatch.setattr(affinity_terms, "parse", counted)
    waiting = [pod(name, on="", podAffinity=[term("db")]) for name in ("a", "b")]
    metadata = msgspec.structs.replace(waiting[0].metadata, namespace="other")
    elsewhere = msgspec.structs.replace(waiting[0], metadata=metadata)

    for each in [*waiting, elsewhere] * 3:
        assert affinity_terms.terms_of(each) == parse(each)

    assert read == ["a", "b", "a"]
    assert affinity_terms.terms_of(elsewhere) != affinity_terms.terms_of(waiting[0])
