"""What one object may cost an attempt, in processor time, however large it is."""

from typing import Any

import msgspec
import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.cycle import attempt
from moorage.testing import Cluster, node
from tests.fuzz.time_limit import time_limit

SECONDS = 2.0
"""Far above what is measured (0.12 s at most, on 1,000 nodes), far below what would hurt."""
VALUES = [f"v{number}" for number in range(10_000)]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node_affinity(operator: str) -> dict[str, Any]:
    expression = {"key": "disk", "operator": operator, "values": VALUES}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def anti_affinity(*selectors: dict[str, Any]) -> dict[str, Any]:
    host = "kubernetes.io/hostname"
    terms = [{"topologyKey": host, "labelSelector": selector} for selector in selectors]
    return {"podAntiAffinity": {REQUIRED: terms}}


def container(number: int) -> dict[str, Any]:
    ports = [{"hostPort": 1 + number, "containerPort": 1}]
    requests = {"cpu": "1m"}
    return {"name": f"c{number}", "ports": ports, "resources": {"requests": requests}}


IN_VALUES = {"matchExpressions": [{"key": "app", "operator": "In", "values": VALUES}]}
SPECS: dict[str, dict[str, Any]] = {
    "a node selector with 10,000 values": {"affinity": node_affinity("In")},
    "10,000 values that a node must not have": {"affinity": node_affinity("NotIn")},
    "10,000 labels that a node must have": {"nodeSelector": dict.fromkeys(VALUES, "x")},
    "anti-affinity to 10,000 values": {"affinity": anti_affinity(IN_VALUES)},
    "1,000 terms of anti-affinity": {
        "affinity": anti_affinity(*({"matchLabels": {"app": v}} for v in VALUES[:1000]))
    },
    "5,000 tolerations": {"tolerations": [{"key": v, "operator": "Exists"} for v in VALUES[:5000]]},
    "1,000 containers with ports": {"containers": [container(n) for n in range(1000)]},
    "1,000 claims": {
        "volumes": [{"name": v, "persistentVolumeClaim": {"claimName": v}} for v in VALUES[:1000]]
    },
    "a pattern where a value belongs": {"nodeSelector": {"disk": "(a+)+$" * 1000}},
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_an_attempt_at_a_large_pod_is_short(spec: dict[str, Any]) -> None:
    spend_on({"metadata": {"name": "p", "namespace": "default", "uid": "p"}, "spec": spec})


def test_256_kilobytes_of_labels_are_no_burden() -> None:
    labels = {value: "x" * 60 for value in VALUES[:4000]}
    spend_on({"metadata": {"name": "p", "namespace": "default", "uid": "p", "labels": labels}})


def spend_on(raw: dict[str, Any]) -> None:
    text = msgspec.json.encode(raw)
    cluster = Cluster(*(node(f"n{number}") for number in range(1000)))
    with time_limit(SECONDS):
        attempt.run(cluster.profile, cluster.cycle(decode_as(text, Pod)))
