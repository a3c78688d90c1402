"""What one object may cost an attempt, in processor time, however large it is."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.cycle import attempt
from moorage.plugins.pod_topology_spread.spread_constraints import HARD, SOFT
from moorage.testing import Cluster, node
from tests.fuzz.time_limit import time_limit

SECONDS = 4.0
"""Far above what is measured (0.9 s at most, on 1,000 nodes), far below what would hurt."""
VALUES = [f"v{number}" for number in range(10_000)]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node_affinity(operator: str) -> dict[str, Any]:
    expression = {"key": "disk", "operator": operator, "values": VALUES}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def anti_affinity(*selectors: dict[str, Any]) -> dict[str, Any]:
    host = "kubernetes.io/hostname"
    terms = [{"topologyKey": host, "labelSelector": selector} for selector in selectors]
    return {"podAntiAffinity": {REQUIRED: terms}}


def made_up(key: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": ["x"]}


def terms(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    made = [{"matchExpressions": expressions} for expressions in terms]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": made}}}


def spread(unsatisfiable: str) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "x"}}
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": unsatisfiable,
            "labelSelector": selector,
        }
        for key in VALUES[:1000]
    ]


def container(number: int) -> dict[str, Any]:
    ports = [{"hostPort": 1 + number, "containerPort": 1}]
    requests = {"cpu": "1m"}
    return {"name": f"c{number}", "ports": ports, "resources": {"requests": requests}}


IN_VALUES = {"matchExpressions": [{"key": "app", "operator": "In", "values": VALUES}]}
SPECS: dict[str, Callable[[], dict[str, Any]]] = {
    "a node selector with 10,000 values": lambda: {"affinity": node_affinity("In")},
    "10,000 values that a node must not have": lambda: {"affinity": node_affinity("NotIn")},
    "10,000 labels that a node must have": lambda: {"nodeSelector": dict.fromkeys(VALUES, "x")},
    "anti-affinity to 10,000 values": lambda: {"affinity": anti_affinity(IN_VALUES)},
    "1,000 terms of anti-affinity": lambda: {
        "affinity": anti_affinity(*({"matchLabels": {"app": v}} for v in VALUES[:1000]))
    },
    "5,000 tolerations": lambda: {
        "tolerations": [{"key": v, "operator": "Exists"} for v in VALUES[:5000]]
    },
    "1,000 containers with ports": lambda: {"containers": [container(n) for n in range(1000)]},
    "1,000 claims": lambda: {
        "volumes": [{"name": v, "persistentVolumeClaim": {"claimName": v}} for v in VALUES[:1000]]
    },
    "10,000 node selector terms": lambda: {"affinity": terms(*([made_up(v)] for v in VALUES))},
    "10,000 expressions": lambda: {"affinity": terms([made_up(v, "NotIn") for v in VALUES])},
    "10,000 preferred node terms": lambda: {
        "affinity": {
            "nodeAffinity": {
                PREFERRED: [
                    {"weight": 1, "preference": {"matchExpressions": [made_up(v)]}} for v in VALUES
                ]
            }
        }
    },
    "10,000 preferred pod terms": lambda: {
        "affinity": {
            "podAffinity": {
                PREFERRED: [
                    {
                        "weight": 1,
                        "podAffinityTerm": {
                            "topologyKey": "kubernetes.io/hostname",
                            "labelSelector": {"matchLabels": {"app": v}},
                        },
                    }
                    for v in VALUES
                ]
            }
        }
    },
    "1,000 spread constraints of as many keys": lambda: {"topologySpreadConstraints": spread(HARD)},
    "1,000 of them that are wishes": lambda: {"topologySpreadConstraints": spread(SOFT)},
    "a pattern where a value belongs": lambda: {"nodeSelector": {"disk": "(a+)+$" * 1000}},
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_an_attempt_at_a_large_pod_is_short(spec: Callable[[], dict[str, Any]]) -> None:
    spend_on({"metadata": {"name": "p", "namespace": "default", "uid": "p"}, "spec": spec()})


def test_256_kilobytes_of_labels_are_no_burden() -> None:
    labels = {value: "x" * 60 for value in VALUES[:4000]}
    spend_on({"metadata": {"name": "p", "namespace": "default", "uid": "p", "labels": labels}})


def spend_on(raw: dict[str, Any]) -> None:
    text = msgspec.json.encode(raw)
    cluster = Cluster(*(node(f"n{number}") for number in range(1000)))
    with time_limit(SECONDS):
        attempt.run(cluster.profile, cluster.cycle(decode_as(text, Pod)))


def test_keys_that_a_pod_makes_up_leave_nothing_behind() -> None:
    cluster = Cluster(*(node(f"n{number}").labelled(disk="ssd") for number in range(10)))
    spec = SPECS["10,000 node selector terms"]()
    raw = {"metadata": {"name": "p", "namespace": "default", "uid": "p"}, "spec": spec}

    attempt.run(cluster.profile, cluster.cycle(decode_as(msgspec.json.encode(raw), Pod)))

    assert len(cluster.cache.table._labels) < 10
