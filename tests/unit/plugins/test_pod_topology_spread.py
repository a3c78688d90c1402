"""PodTopologySpread: what it decides, case by case."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from moorage.api.decode import decode_as, decode_object
from moorage.api.node import HOSTNAME_LABEL, ZONE_LABEL, Node
from moorage.api.pod import Pod
from moorage.api.selectors import SelectorError
from moorage.cache.cache import Cache
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import SKIP, unresolvable, unschedulable
from moorage.plugins.pod_topology_spread.plugin import MISMATCH, MISSING_LABEL, PodTopologySpread
from moorage.plugins.pod_topology_spread.spread_score import natural_log

WEB = {"matchLabels": {"app": "web"}}
GONE = "2026-01-01T00:00:00Z"


def node(name: str, zone: str | None = "x", **spec: Any) -> Node:
    labels = {HOSTNAME_LABEL: name} | ({} if zone is None else {ZONE_LABEL: zone})
    return decode_as({"metadata": {"name": name, "labels": labels}, "spec": spec}, Node)


def pod(name: str, *, on: str = "", app: str = "web", gone: bool = False, **spec: Any) -> Pod:
    metadata: dict[str, Any] = {"name": name, "uid": name, "namespace": "shop"}
    metadata |= {"labels": {"app": app}} | ({"deletionTimestamp": GONE} if gone else {})
    return decode_as({"metadata": metadata, "spec": {"nodeName": on, **spec}}, Pod)


def constraint(**fields: Any) -> dict[str, Any]:
    given = {"maxSkew": 1, "topologyKey": ZONE_LABEL, "whenUnsatisfiable": "DoNotSchedule"}
    return given | {"labelSelector": WEB} | fields


def spreading(*constraints: dict[str, Any], **spec: Any) -> Pod:
    return pod("new", topologySpreadConstraints=list(constraints), **spec)


def cluster(*objects: Node | Pod) -> Cache:
    cache = Cache()
    for each in objects:
        if isinstance(each, Node):
            cache.put_node(each)
        else:
            cache.put_pod(each)
    return cache


def cycle_of(cache: Cache, new: Pod, shared: dict[str, Any] | None = None) -> Cycle:
    return Cycle(cache, cache.info(new), shared=shared)


def refused(cache: Cache, new: Pod, plugin: PodTopologySpread | None = None) -> dict[str, str]:
    """Node -> reason, of the nodes that are refused."""
    plugin, cycle = plugin or PodTopologySpread(), cycle_of(cache, new)
    if plugin.pre_filter(cycle, new) is SKIP:
        return {}
    return judged(plugin, cycle)


def judged(plugin: PodTopologySpread, cycle: Cycle) -> dict[str, str]:
    out = np.zeros(cycle.table.rows, dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, Nodes.all(cycle.table), out)
    found = {name: int(out[row]) for name, row in cycle.table.row_of.items()}
    return {
        name: plugin.rejection(cycle, cycle.pod, code).message
        for name, code in found.items()
        if code
    }


@pytest.fixture
def skewed() -> Cache:
    """One web pod in zone x, none in y; n2 is in no zone."""
    return cluster(node("n0", "x"), node("n1", "y"), node("n2", None), pod("p", on="n0"))


@pytest.mark.parametrize(
    ("new", "want"),
    [
        pytest.param(
            spreading(constraint()),
            {"n0": MISMATCH, "n2": MISSING_LABEL},
            id="the fuller zone and nodes without a zone are refused",
        ),
        pytest.param(
            spreading(constraint(maxSkew=2)), {"n2": MISSING_LABEL}, id="a larger skew is allowed"
        ),
        pytest.param(
            spreading(constraint(labelSelector={"matchLabels": {"app": "db"}})),
            {"n2": MISSING_LABEL},
            id="pods that are not selected do not count, nor does the pod itself",
        ),
        pytest.param(
            spreading(constraint(maxSkew=2, minDomains=3)),
            {"n2": MISSING_LABEL},
            id="with too few domains the least is taken as none",
        ),
        pytest.param(
            spreading(constraint(topologyKey=HOSTNAME_LABEL), constraint()),
            {"n0": MISMATCH, "n2": MISSING_LABEL},
            id="the first unmet constraint gives the reason",
        ),
        pytest.param(
            spreading(constraint(labelSelector={})),
            {"n2": MISSING_LABEL},
            id="an empty selector counts nobody",
        ),
        pytest.param(
            spreading(constraint(whenUnsatisfiable="ScheduleAnyway")),
            {},
            id="soft constraints refuse nothing",
        ),
        pytest.param(
            spreading(constraint(), nodeSelector={ZONE_LABEL: "x"}),
            {"n2": MISSING_LABEL},
            id="only nodes that the pod's node selector selects make domains",
        ),
        pytest.param(
            spreading(constraint(nodeAffinityPolicy="Ignore"), nodeSelector={ZONE_LABEL: "x"}),
            {"n0": MISMATCH, "n2": MISSING_LABEL},
            id="unless the constraint ignores node affinity",
        ),
        pytest.param(
            spreading(constraint(matchLabelKeys=["app"], labelSelector={})),
            {"n0": MISMATCH, "n2": MISSING_LABEL},
            id="matchLabelKeys add the pod's own labels to the selector",
        ),
    ],
)
def test_filter(skewed: Cache, new: Pod, want: dict[str, str]) -> None:
    assert want == refused(skewed, new)


def test_min_domains_refuses_where_the_least_would_allow() -> None:
    """One web pod in each of two zones: with a third zone asked for, the least is 0."""
    pods = [pod(f"p{i}", on=f"n{i % 2}") for i in range(2)]
    cache = cluster(node("n0", "x"), node("n1", "y"), *pods)

    assert refused(cache, spreading(constraint(minDomains=2))) == {}
    assert refused(cache, spreading(constraint(minDomains=3))) == {"n0": MISMATCH, "n1": MISMATCH}


def test_tainted_nodes_make_no_domain_where_taints_are_honoured() -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    cache = cluster(node("n0", "x"), node("n1", "y", taints=[taint]), pod("p", on="n0"))
    honouring = constraint(nodeTaintsPolicy="Honor")

    assert refused(cache, spreading(constraint())) == {"n0": MISMATCH}
    assert refused(cache, spreading(honouring)) == {}
    assert refused(cache, spreading(honouring, tolerations=[{"operator": "Exists"}])) == {
        "n0": MISMATCH
    }


def test_codes_say_whether_preemption_may_help(skewed: Cache) -> None:
    plugin, cycle = PodTopologySpread(), cycle_of(skewed, spreading(constraint()))
    plugin.pre_filter(cycle, cycle.pod)
    out = np.zeros(3, dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, Nodes.all(skewed.table), out)

    verdicts = [plugin.rejection(cycle, cycle.pod, int(code)) for code in out[[0, 2]]]
    assert verdicts == [unschedulable(MISMATCH), unresolvable(MISSING_LABEL)]


def test_a_selector_that_is_none_stops_the_attempt(skewed: Cache) -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["w"]}]}
    hard = spreading(constraint(labelSelector=broken))
    soft = spreading(constraint(labelSelector=broken, whenUnsatisfiable="ScheduleAnyway"))
    nodes = Nodes.all(skewed.table)

    with pytest.raises(SelectorError, match="not a valid label selector operator"):
        PodTopologySpread().pre_filter(cycle_of(skewed, hard), hard)
    assert PodTopologySpread().pre_filter(cycle_of(skewed, soft), soft) is SKIP
    with pytest.raises(SelectorError):
        PodTopologySpread().pre_score(cycle_of(skewed, soft), soft, nodes)


def info(cache: Cache, uid: str) -> PodInfo:
    found = cache.pod(uid)
    assert found is not None
    return found


def test_a_trial_takes_off_a_pod_being_deleted_though_it_was_not_counted() -> None:
    """As kube-scheduler's RemovePod does; rolled back, it is as before."""
    gone = pod("gone", on="n0", gone=True)
    cache = cluster(node("n0", "x"), node("n1", "y"), pod("p", on="n0"), gone)
    plugin, cycle = PodTopologySpread(), cycle_of(cache, spreading(constraint()))
    plugin.pre_filter(cycle, cycle.pod)

    assert judged(plugin, cycle) == {"n0": MISMATCH}
    with cache.trial():
        cache.displace(info(cache, "gone"))
        assert judged(plugin, cycle) == {}
        cache.displace(info(cache, "p"))
        assert judged(plugin, cycle) == {"n1": MISMATCH}
    assert judged(plugin, cycle) == {"n0": MISMATCH}


def test_a_trial_takes_off_a_pod_that_an_empty_selector_did_not_count() -> None:
    cache = cluster(node("n0", "x"), node("n1", "y"), pod("p", on="n0"))
    plugin, cycle = PodTopologySpread(), cycle_of(cache, spreading(constraint(labelSelector={})))
    plugin.pre_filter(cycle, cycle.pod)

    assert judged(plugin, cycle) == {}
    with cache.trial():
        cache.displace(info(cache, "p"))
        assert judged(plugin, cycle) == {"n1": MISMATCH}
        cache.place_on(0, cache.info(pod("q", app="db")))
        assert judged(plugin, cycle) == {}
    assert judged(plugin, cycle) == {}


def scores(
    cache: Cache,
    new: Pod,
    plugin: PodTopologySpread | None = None,
    shared: dict[str, Any] | None = None,
) -> list[int] | None:
    plugin, cycle = plugin or PodTopologySpread(), cycle_of(cache, new, shared)
    nodes = Nodes.all(cache.table)
    if plugin.pre_score(cycle, new, nodes) is SKIP:
        return None
    out = np.zeros(nodes.count, dtype=np.int64)
    plugin.score_all(cycle, new, nodes, out)
    plugin.normalize(cycle, new, nodes, out)
    found: list[int] = out.tolist()
    return found


SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")


def test_the_emptier_zone_scores_higher_and_nodes_without_a_zone_nothing(skewed: Cache) -> None:
    skewed.put_pod(pod("q", on="n0"))
    skewed.put_pod(pod("r", on="n1"))

    assert scores(skewed, spreading(SOFT)) == [33, 100, 0]


def test_all_nodes_score_full_where_nothing_is_to_be_spread() -> None:
    cache = cluster(node("n0", "x"), node("n1", "y"))

    assert scores(cache, spreading(SOFT)) == [100, 100]


REPLICA_SET = {
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": WEB},
}


def owned(kind: str, api_version: str = "apps/v1", controller: bool = True) -> Pod:
    owner = {"apiVersion": api_version, "kind": kind, "name": "web", "controller": controller}
    return decode_as(
        {
            "metadata": {
                "name": "new",
                "uid": "new",
                "namespace": "shop",
                "labels": {"app": "web"},
                "ownerReferences": [owner],
            }
        },
        Pod,
    )


@pytest.mark.parametrize(
    ("kind", "raw", "new", "spreads"),
    [
        pytest.param("ReplicaSet", REPLICA_SET, owned("ReplicaSet"), True, id="replica set"),
        pytest.param("StatefulSet", REPLICA_SET, owned("StatefulSet"), True, id="stateful set"),
        pytest.param(
            "ReplicationController",
            REPLICA_SET | {"spec": {"selector": {"app": "web"}}},
            owned("ReplicationController", "v1"),
            True,
            id="replication controller",
        ),
        pytest.param(
            "Service",
            REPLICA_SET | {"spec": {"selector": {"app": "web"}}},
            pod("new"),
            True,
            id="service",
        ),
        pytest.param(
            "Service",
            REPLICA_SET | {"spec": {"selector": {"app": "db"}}},
            pod("new"),
            False,
            id="a service that does not select the pod is none of its own",
        ),
        pytest.param(
            "ReplicaSet",
            REPLICA_SET,
            owned("ReplicaSet", controller=False),
            False,
            id="an owner that is not the controller does not count",
        ),
        pytest.param(
            "ReplicaSet",
            REPLICA_SET,
            owned("ReplicaSet", "extensions/v1beta1"),
            False,
            id="nor does an owner of another API group",
        ),
    ],
)
def test_pods_without_constraints_spread_with_their_own_kind(
    kind: str, raw: dict[str, Any], new: Pod, spreads: bool
) -> None:
    cache = cluster(node("n0", "x"), node("n1", "y"), *(pod(f"p{i}", on="n0") for i in range(5)))
    cache.objects.put(decode_object(raw, kind))
    found = scores(cache, new)

    assert (found is not None and found[0] < found[1]) is spreads


def test_system_defaults_score_nodes_without_a_zone_by_hostname_alone() -> None:
    pods = [pod(f"p{i}", on="n0") for i in range(5)]
    cache = cluster(node("n0", "x"), node("n1", None), *pods)
    cache.objects.put(decode_object(REPLICA_SET, "ReplicaSet"))
    listed = PodTopologySpread(
        defaulting_type="List", default_constraints=PodTopologySpread().defaults
    )

    assert scores(cache, owned("ReplicaSet")) == [10, 100]
    assert scores(cache, owned("ReplicaSet"), listed) == [100, 0]


def test_an_empty_zone_and_no_zone_are_one_domain_to_system_defaults() -> None:
    pods = [pod(f"p{i}", on="n0") for i in range(5)]
    cache = cluster(node("n0", "x"), node("n1", ""), node("n2", None), *pods)
    cache.objects.put(decode_object(REPLICA_SET, "ReplicaSet"))

    assert scores(cache, owned("ReplicaSet")) == [9, 80, 100]
    cache.put_pod(pod("q", on="n2"))
    assert scores(cache, owned("ReplicaSet")) == [19, 85, 100]


def test_default_selectors_follow_their_objects() -> None:
    cache = cluster(node("n0", "x"), node("n1", "y"), *(pod(f"p{i}", on="n0") for i in range(5)))
    shared = dict[str, Any]()
    new = owned("ReplicaSet")

    def found() -> list[int] | None:
        return scores(cache, new, shared=shared)

    assert found() is None
    cache.objects.put(decode_object(REPLICA_SET, "ReplicaSet"))
    assert found() == [30, 100]
    other = REPLICA_SET | {"spec": {"selector": {"matchLabels": {"app": "db"}}}}
    cache.objects.put(decode_object(other, "ReplicaSet"))
    assert found() == [100, 100]
    cache.objects.remove(decode_object(REPLICA_SET, "ReplicaSet"))
    assert found() is None
    service = decode_object(REPLICA_SET | {"spec": {"selector": {"app": "web"}}}, "Service")
    cache.objects.put(service)
    assert found() == [30, 100]


def test_default_constraints_may_be_hard() -> None:
    default = msgspec.convert(
        {
            "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": ZONE_LABEL, "whenUnsatisfiable": "DoNotSchedule"}
            ],
            "defaultingType": "List",
        },
        PodTopologySpread,
    )
    cache = cluster(node("n0", "x"), node("n1", "y"), pod("p", on="n0"))
    cache.objects.put(decode_object(REPLICA_SET, "ReplicaSet"))

    assert refused(cache, owned("ReplicaSet"), default) == {"n0": MISMATCH}
    assert refused(cache, pod("new"), default) == {}


@pytest.mark.parametrize(
    ("number", "bits"),
    [
        (2, "0x1.62e42fefa39efp-1"),
        (3, "0x1.193ea7aad030ap+0"),
        (14, "0x1.51cca16d7bba8p+1"),
        (176, "0x1.4ae935b3cb89ep+2"),
        (299, "0x1.6cd411481a020p+2"),
    ],
)
def test_logarithms_are_those_of_go_to_the_last_bit(number: int, bits: str) -> None:
    assert natural_log(number).hex() == bits


class Unread(list[dict[str, PodInfo]]):
    """Pods by row that nobody may walk."""

    def __iter__(self) -> Iterator[dict[str, PodInfo]]:
        raise AssertionError("an attempt walked all pods")


def test_an_attempt_does_not_walk_all_pods(skewed: Cache) -> None:
    plugin, new = PodTopologySpread(), spreading(constraint(), SOFT)
    refused(skewed, new, plugin)
    skewed.table.pods = Unread(skewed.table.pods)
    skewed.put_pod(pod("q", on="n1"))

    assert refused(skewed, new, plugin) == {"n2": MISSING_LABEL}
    assert scores(skewed, new, plugin) == [100, 100, 0]
