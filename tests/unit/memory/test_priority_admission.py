from typing import Any

import pytest

from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import Forbidden
from moorage.watch.api_resources import PODS, PRIORITY_CLASSES
from moorage.watch.api_server import Raw


def add_class(cluster: MemoryCluster, name: str, value: int, **fields: Any) -> None:
    cluster.add(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value, **fields})


def admitted(cluster: MemoryCluster, **spec: Any) -> Raw:
    """The priority fields a pod comes out with."""
    spec = {"containers": [{"name": "c"}], **spec}
    pod = cluster.add(PODS, {"metadata": {"generateName": "p"}, "spec": spec})
    stored = cluster.read(PODS, pod.namespace, pod.name)["spec"]
    fields = ("priority", "preemptionPolicy", "priorityClassName")
    return {field: stored.get(field) for field in fields}


def outcome(priority: int, policy: str, name: str | None) -> Raw:
    return {"priority": priority, "preemptionPolicy": policy, "priorityClassName": name}


def test_without_any_class_priority_is_zero(cluster: MemoryCluster) -> None:
    assert admitted(cluster) == outcome(0, "PreemptLowerPriority", None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("system-cluster-critical", 2_000_000_000, id="cluster-critical is built in"),
        pytest.param("system-node-critical", 2_000_001_000, id="node-critical is built in"),
    ],
)
def test_system_classes(cluster: MemoryCluster, name: str, value: int) -> None:
    pod = admitted(cluster, priorityClassName=name)

    assert pod == outcome(value, "PreemptLowerPriority", name)


def test_a_class_gives_its_value_and_policy(cluster: MemoryCluster) -> None:
    add_class(cluster, "batch", -5, preemptionPolicy="Never")

    assert admitted(cluster, priorityClassName="batch") == outcome(-5, "Never", "batch")


def test_the_global_default_is_for_pods_that_name_no_class(cluster: MemoryCluster) -> None:
    add_class(cluster, "normal", 100, globalDefault=True)

    assert admitted(cluster) == outcome(100, "PreemptLowerPriority", "normal")


def test_a_class_made_later_counts_for_a_spec_seen_before(cluster: MemoryCluster) -> None:
    spec = {"containers": [{"name": "c"}]}
    before = cluster.add(PODS, {"metadata": {"name": "a"}, "spec": spec})
    add_class(cluster, "normal", 100, globalDefault=True)
    after = cluster.add(PODS, {"metadata": {"name": "b"}, "spec": spec})

    priorities = [
        cluster.read(PODS, "default", pod.name)["spec"]["priority"] for pod in (before, after)
    ]
    assert priorities == [0, 100]


def test_an_unknown_class_is_forbidden(cluster: MemoryCluster) -> None:
    with pytest.raises(Forbidden) as refusal:
        cluster.add(
            PODS,
            {
                "metadata": {"name": "web"},
                "spec": {"containers": [{"name": "c"}], "priorityClassName": "gold"},
            },
        )

    assert refusal.value.message == (
        'pods "web" is forbidden: no PriorityClass with name gold was found'
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"priority": 7},
            r"the integer value of priority \(7\) must not be provided in pod spec; priority "
            "admission controller computed 0 from the given PriorityClass name",
            id="a number of its own",
        ),
        pytest.param(
            {"preemptionPolicy": "Never"},
            r"the string value of PreemptionPolicy \(Never\) must not be provided",
            id="a policy of its own",
        ),
    ],
)
def test_a_pod_is_forbidden(cluster: MemoryCluster, spec: Raw, message: str) -> None:
    with pytest.raises(Forbidden, match=message):
        admitted(cluster, **spec)


def test_the_number_its_class_has_is_allowed(cluster: MemoryCluster) -> None:
    add_class(cluster, "high", 1000)

    assert admitted(cluster, priority=0)["priority"] == 0
    assert admitted(cluster, priorityClassName="high")["priority"] == 1000
    assert admitted(cluster, priorityClassName="high", priority=1000)["priority"] == 1000
    with pytest.raises(Forbidden, match="must not be provided"):
        admitted(cluster, priorityClassName="high", priority=0)


def test_a_second_global_default_is_forbidden(cluster: MemoryCluster) -> None:
    add_class(cluster, "normal", 100, globalDefault=True)

    with pytest.raises(Forbidden, match="PriorityClass normal is already marked as default"):
        add_class(cluster, "other", 50, globalDefault=True)
