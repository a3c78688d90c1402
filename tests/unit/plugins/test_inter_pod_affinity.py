"""InterPodAffinity: what it decides, case by case."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from moorage.api.cluster_objects import Namespace
from moorage.api.decode import decode_as
from moorage.api.node import HOSTNAME_LABEL, ZONE_LABEL, Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import SKIP, Rejection, unresolvable, unschedulable
from moorage.plugins.inter_pod_affinity.plugin import (
    AFFINITY_MISMATCH,
    ANTI_AFFINITY_MISMATCH,
    EXISTING_ANTI_AFFINITY_MISMATCH,
    InterPodAffinity,
)

FAR = unresolvable(AFFINITY_MISMATCH)
NEAR = unschedulable(ANTI_AFFINITY_MISMATCH)
REPELLED = unschedulable(EXISTING_ANTI_AFFINITY_MISMATCH)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node(name: str, zone: str | None = "x") -> Node:
    labels = {HOSTNAME_LABEL: name} | ({} if zone is None else {ZONE_LABEL: zone})
    return decode_as({"metadata": {"name": name, "labels": labels}}, Node)


def term(app: str = "web", key: str = ZONE_LABEL, **fields: Any) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key} | fields


def near(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def away(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def wishes(kind: str, weight: int, wished: dict[str, Any]) -> dict[str, Any]:
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": wished}]}}


def pod(
    name: str,
    *,
    on: str = "",
    app: str = "web",
    namespace: str = "shop",
    affinity: dict[str, Any] | None = None,
    gone: bool = False,
) -> Pod:
    metadata: dict[str, Any] = {"name": name, "uid": name, "namespace": namespace}
    metadata["labels"] = {"app": app}
    if gone:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return decode_as({"metadata": metadata, "spec": {"nodeName": on, "affinity": affinity}}, Pod)


def cluster(*objects: Node | Pod | Namespace) -> Cache:
    cache = Cache()
    for each in objects:
        if isinstance(each, Node):
            cache.put_node(each)
        elif isinstance(each, Pod):
            cache.put_pod(each)
        else:
            cache.objects.put(each)
    return cache


def namespace(name: str, **labels: str) -> Namespace:
    return decode_as({"metadata": {"name": name, "labels": labels}}, Namespace)


def cycle_of(cache: Cache, new: Pod) -> Cycle:
    return Cycle(cache, cache.info(new))


def refused(cache: Cache, new: Pod, plugin: InterPodAffinity | None = None) -> dict[str, Rejection]:
    plugin, cycle = plugin or InterPodAffinity(), cycle_of(cache, new)
    if plugin.pre_filter(cycle, new) is SKIP:
        return {}
    return judged(plugin, cycle)


def judged(plugin: InterPodAffinity, cycle: Cycle) -> dict[str, Rejection]:
    out = np.zeros(cycle.table.rows, dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, Nodes.all(cycle.table), out)
    found = {name: int(out[row]) for name, row in cycle.table.row_of.items()}
    return {n: plugin.rejection(cycle, cycle.pod, code) for n, code in found.items() if code}


NODES = (node("n0", "x"), node("n1", "x"), node("n2", "y"), node("n3", None))


@pytest.mark.parametrize(
    ("there", "new", "want"),
    [
        pytest.param(
            pod("p", on="n0"),
            pod("new", app="db", affinity=near(term())),
            {"n2": FAR, "n3": FAR},
            id="affinity asks for the zone where a pod is",
        ),
        pytest.param(
            pod("p", on="n0"),
            pod("new", affinity=away(term())),
            {"n0": NEAR, "n1": NEAR},
            id="anti-affinity keeps away from the zone where a pod is",
        ),
        pytest.param(
            pod("p", on="n0"),
            pod("new", affinity=away(term(key=HOSTNAME_LABEL))),
            {"n0": NEAR},
            id="or from the node only",
        ),
        pytest.param(
            pod("p", on="n0", app="db", affinity=away(term())),
            pod("new"),
            {"n0": REPELLED, "n1": REPELLED},
            id="a pod that is there keeps others away",
        ),
        pytest.param(
            pod("p", on="n0", affinity=away(term(key=HOSTNAME_LABEL))),
            pod("new", affinity=away(term(key=HOSTNAME_LABEL))),
            {"n0": NEAR},
            id="where both keep away, the incoming pod's reason is given",
        ),
        pytest.param(
            pod("p", on="n0", affinity=away(term())),
            pod("new", affinity={**near(term(app="none")), **away(term())}),
            dict.fromkeys(("n0", "n1", "n2", "n3"), FAR),
            id="and affinity comes before either",
        ),
        pytest.param(
            pod("p", on="n0", app="db"),
            pod("new", affinity=near(term())),
            {"n3": FAR},
            id="the first pod of a series may go wherever the label is",
        ),
        pytest.param(
            pod("p", on="n3"),
            pod("new", affinity=near(term())),
            {"n3": FAR},
            id="a pod outside of any zone does not make it the second",
        ),
        pytest.param(
            pod("p", on="n0"),
            pod("new", affinity=near(term(), term(key=HOSTNAME_LABEL))),
            {"n1": FAR, "n2": FAR, "n3": FAR},
            id="every topology that is asked for must hold the pod",
        ),
        pytest.param(
            pod("p", on="n0"),
            pod("new", app="db", affinity=near(term(), term(app="db"))),
            dict.fromkeys(("n0", "n1", "n2", "n3"), FAR),
            id="one pod must meet all affinity terms",
        ),
        pytest.param(
            pod("p", on="n0", gone=True),
            pod("new", affinity=away(term())),
            {"n0": NEAR, "n1": NEAR},
            id="a pod being deleted still counts",
        ),
        pytest.param(
            pod("p", on="n0", namespace="other"),
            pod("new", affinity=away(term())),
            {},
            id="terms mean the pod's own namespace",
        ),
        pytest.param(
            pod("p", on="n0", namespace="other"),
            pod("new", affinity=away(term(namespaces=["other"]))),
            {"n0": NEAR, "n1": NEAR},
            id="or those they name",
        ),
        pytest.param(
            pod("p", on="n0", namespace="other"),
            pod("new", affinity=away(term(namespaceSelector={"matchLabels": {"env": "prod"}}))),
            {"n0": NEAR, "n1": NEAR},
            id="or those they select",
        ),
        pytest.param(
            pod("p", on="n0", namespace="unknown"),
            pod("new", affinity=away(term(namespaceSelector={}))),
            {"n0": NEAR, "n1": NEAR},
            id="an empty namespace selector means all, known or not",
        ),
        pytest.param(
            pod(
                "p",
                on="n0",
                namespace="other",
                affinity=away(
                    term(
                        namespaceSelector={
                            "matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]
                        }
                    )
                ),
            ),
            pod("new", namespace="unknown"),
            {"n0": REPELLED, "n1": REPELLED},
            id="to pods that are there, an unknown namespace has no labels",
        ),
        pytest.param(
            pod("p", on="n0"),
            pod("new", affinity=away(term(matchLabelKeys=["none"]))),
            {"n0": NEAR, "n1": NEAR},
            id="matchLabelKeys are the API server's business",
        ),
    ],
)
def test_filter(there: Pod, new: Pod, want: dict[str, Rejection]) -> None:
    cache = cluster(*NODES, namespace("other", env="prod"), namespace("shop"), there)

    assert want == refused(cache, new)


def test_a_pod_that_nobody_minds_is_not_filtered() -> None:
    cache = cluster(*NODES, pod("p", on="n0", app="db", affinity=away(term("cache"))))
    new = pod("new")

    assert InterPodAffinity().pre_filter(cycle_of(cache, new), new) is SKIP


def test_a_pod_that_minds_from_outside_of_its_topology_minds_nobody() -> None:
    cache = cluster(*NODES, pod("p", on="n3", affinity=away(term())))
    new = pod("new")

    assert InterPodAffinity().pre_filter(cycle_of(cache, new), new) is SKIP


def test_terms_that_cannot_be_parsed_refuse_the_pod() -> None:
    wrong = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["x"]}]}
    bad = pod("new", affinity=away(term(labelSelector=wrong)))
    cache = cluster(*NODES)

    assert InterPodAffinity().pre_filter(cycle_of(cache, bad), bad) == unresolvable(
        'parsing pod: requiredAntiAffinityTerms: "Like" is not a valid label selector operator'
    )


def test_a_pod_that_is_there_keeps_the_terms_that_can_be_parsed() -> None:
    wrong = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["x"]}]}
    there = pod("p", on="n0", affinity={**near(term(labelSelector=wrong)), **away(term())})

    assert refused(cluster(*NODES, there), pod("new")) == {"n0": REPELLED, "n1": REPELLED}


def test_a_trial_is_seen_with_the_terms_it_brings() -> None:
    cache = cluster(*NODES, pod("p", on="n0"))
    plugin, cycle = InterPodAffinity(), cycle_of(cache, pod("new", affinity=away(term())))
    plugin.pre_filter(cycle, cycle.pod)
    there = cache.pod("p")
    assert there is not None

    with cache.trial():
        cache.displace(there)
        assert judged(plugin, cycle) == {}
        cache.place_on(2, cache.info(pod("q", app="db", affinity=away(term()))))
        assert judged(plugin, cycle) == {"n2": REPELLED}
    assert judged(plugin, cycle) == {"n0": NEAR, "n1": NEAR}


def test_namespaces_are_looked_up_when_they_change() -> None:
    chosen = term(namespaceSelector={"matchLabels": {"env": "prod"}})
    cache = cluster(*NODES, namespace("other"), pod("p", on="n0", namespace="other"))
    plugin, shared = InterPodAffinity(), dict[str, Any]()

    def refusals() -> int:
        new = pod("new", affinity=away(chosen))
        cycle = Cycle(cache, cache.info(new), shared=shared)
        plugin.pre_filter(cycle, new)
        return len(judged(plugin, cycle))

    assert refusals() == 0
    cache.objects.put(namespace("other", env="prod"))
    assert refusals() == 2


def scores(cache: Cache, new: Pod, plugin: InterPodAffinity | None = None) -> list[int] | None:
    plugin, cycle = plugin or InterPodAffinity(), cycle_of(cache, new)
    nodes = Nodes.all(cache.table)
    if plugin.pre_score(cycle, new, nodes) is SKIP:
        return None
    out = np.zeros(nodes.count, dtype=np.int64)
    plugin.score_all(cycle, new, nodes, out)
    plugin.normalize(cycle, new, nodes, out)
    found: list[int] = out.tolist()
    return found


DEAF = InterPodAffinity(ignore_preferred_terms_of_existing_pods=True)


@pytest.mark.parametrize(
    ("there", "new", "plugin", "want"),
    [
        pytest.param(
            [pod("p", on="n0")],
            pod("new", affinity=wishes("podAffinity", 7, term())),
            InterPodAffinity(),
            [100, 100, 0, 0],
            id="the zone that the pod wishes for scores highest",
        ),
        pytest.param(
            [pod("p", on="n0")],
            pod("new", affinity=wishes("podAntiAffinity", 7, term())),
            InterPodAffinity(),
            [0, 0, 100, 100],
            id="the zone that it shuns scores lowest",
        ),
        pytest.param(
            [pod("p", on="n0", affinity=wishes("podAffinity", 7, term()))],
            pod("new"),
            InterPodAffinity(),
            [100, 100, 0, 0],
            id="wishes of pods that are there count as well",
        ),
        pytest.param(
            [pod("p", on="n0", affinity=wishes("podAntiAffinity", 7, term()))],
            pod("new"),
            DEAF,
            None,
            id="unless they are ignored",
        ),
        pytest.param(
            [pod("p", on="n0", app="db", affinity=wishes("podAntiAffinity", 7, term()))],
            pod("new", affinity=wishes("podAffinity", 7, term("none"))),
            DEAF,
            [0, 0, 100, 100],
            id="which they are only for pods without wishes",
        ),
        pytest.param(
            [
                pod("p", on="n0", affinity=near(term())),
                pod("q", on="n2", affinity=wishes("podAffinity", 3, term())),
            ],
            pod("new"),
            InterPodAffinity(hard_pod_affinity_weight=4),
            [100, 100, 75, 0],
            id="required affinity of pods that are there weighs as configured",
        ),
        pytest.param(
            [pod("p", on="n0", affinity=near(term()))],
            pod("new"),
            InterPodAffinity(hard_pod_affinity_weight=0),
            None,
            id="or not at all",
        ),
        pytest.param(
            [pod("p", on="n0"), pod("q", on="n1"), pod("r", on="n2")],
            pod("new", affinity=wishes("podAffinity", 1, term(key=HOSTNAME_LABEL))),
            InterPodAffinity(),
            [100, 100, 100, 0],
            id="nodes score alone where the topology is the hostname",
        ),
        pytest.param(
            [pod("p", on="n0", app="db")],
            pod("new", affinity=wishes("podAffinity", 1, term())),
            InterPodAffinity(),
            None,
            id="nothing is scored where nobody is meant",
        ),
    ],
)
def test_score(
    there: list[Pod], new: Pod, plugin: InterPodAffinity, want: list[int] | None
) -> None:
    assert want == scores(cluster(*NODES, *there), new, plugin)


def test_several_topologies_add_up() -> None:
    both = {
        "podAffinity": {
            PREFERRED: [
                {"weight": 2, "podAffinityTerm": term()},
                {"weight": 1, "podAffinityTerm": term(key=HOSTNAME_LABEL)},
            ]
        }
    }

    assert scores(cluster(*NODES, pod("p", on="n0")), pod("new", affinity=both)) == [100, 66, 0, 0]


def test_arguments_are_read_as_kube_scheduler_writes_them() -> None:
    args = {"hardPodAffinityWeight": 5, "ignorePreferredTermsOfExistingPods": True}

    assert msgspec.convert(args, InterPodAffinity) == InterPodAffinity(
        hard_pod_affinity_weight=5, ignore_preferred_terms_of_existing_pods=True
    )


class Unread(list[dict[str, PodInfo]]):
    """Pods by row that nobody may walk."""

    def __iter__(self) -> Iterator[dict[str, PodInfo]]:
        raise AssertionError("an attempt walked all pods")


def test_an_attempt_does_not_walk_all_pods() -> None:
    cache = cluster(*NODES, pod("p", on="n0", affinity=away(term("db"))))
    new = pod("new", affinity={**away(term()), **wishes("podAffinity", 1, term("cache"))})
    refused(cache, new)
    cache.table.pods = Unread(cache.table.pods)
    cache.put_pod(pod("q", on="n2", affinity=away(term())))

    assert refused(cache, new) == {"n0": NEAR, "n1": NEAR, "n2": NEAR}
    assert scores(cache, new) is None
