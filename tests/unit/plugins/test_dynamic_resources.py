"""DynamicResources: pods without claims pass, pods with claims are refused."""

import asyncio

import numpy as np

from moorage.cache.node_view import Nodes
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.verdicts import SKIP, unresolvable
from moorage.plugins.dynamic_resources import UNSUPPORTED, DynamicResources
from moorage.testing import Cluster, node, pod

RULE = DynamicResources()
PLAIN = pod("web")
CLAIMING = pod("web").with_spec(resourceClaims=[{"name": "gpu", "resourceClaimName": "g"}])


def test_a_pod_without_claims_is_neither_filtered_nor_preferred() -> None:
    cluster = Cluster(node("a"), node("b"))
    cycle = cluster.cycle(PLAIN)
    scores = np.ones(2, dtype=np.int64)

    RULE.score_all(cycle, cycle.pod, Nodes.all(cluster.cache.table), scores)

    assert RULE.pre_enqueue(cycle.pod) is None
    assert RULE.pre_filter(cycle, cycle.pod) is SKIP
    assert scores.tolist() == [0, 0]


def test_a_pod_with_claims_is_refused_on_every_node_for_good() -> None:
    cluster = Cluster(node("a"))
    cycle = cluster.cycle(CLAIMING)

    assert RULE.pre_filter(cycle, cycle.pod) == unresolvable(UNSUPPORTED)
    assert cluster.why_not(CLAIMING).startswith(f"0/1 nodes are available: {UNSUPPORTED}.")


def test_a_filter_without_pre_filter_refuses_it_as_well() -> None:
    cluster = Cluster(node("a"))
    cycle, out = cluster.cycle(CLAIMING), np.zeros(1, dtype=np.int32)

    RULE.filter_all(cycle, cycle.pod, Nodes.all(cluster.cache.table), out)

    assert RULE.rejection(cycle, cycle.pod, int(out[0])) == unresolvable(UNSUPPORTED)


def test_there_is_nothing_to_take_back_and_nothing_to_say_about_it() -> None:
    cluster = Cluster(node("a"))
    cycle = cluster.cycle(PLAIN)

    assert RULE.post_filter(cycle, cycle.pod, Diagnosis(cluster.cache.table)).reasons == ()


def test_nothing_is_done_before_binding() -> None:
    cycle, here = Cluster(node("a")).cycle(PLAIN), node("a").build()

    assert RULE.pre_bind_pre_flight(cycle, cycle.pod, here) is SKIP
    asyncio.run(RULE.pre_bind(cycle, cycle.pod, here))
