import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import Conflict, Forbidden, NotFound, ServerError, TooManyRequests
from moorage.watch.api_resources import POD_DISRUPTION_BUDGETS, PODS
from moorage.watch.api_server import Raw

AddPod = Callable[..., Raw]


def evict(cluster: MemoryCluster, **options: Any) -> None:
    asyncio.run(cluster.evict("default", "web", **options))


def budget(cluster: MemoryCluster, name: str = "b", selector: Any = (), **status: Any) -> None:
    chosen = {"matchLabels": {"app": "web"}} if selector == () else selector
    cluster.apply(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": chosen},
            "status": {"disruptionsAllowed": 0, **status},
        }
    )


def status_of(cluster: MemoryCluster, name: str = "b") -> Raw:
    status: Raw = cluster.read(POD_DISRUPTION_BUDGETS, "default", name)["status"]
    return status


@pytest.fixture
def running(cluster: MemoryCluster, add_pod: AddPod) -> Raw:
    """A ready pod on a node."""
    add_pod(metadata={"labels": {"app": "web"}}, nodeName="n")
    Kubelet(cluster).run("default", "web")
    return cluster.read(PODS, "default", "web")


def is_terminating(cluster: MemoryCluster) -> bool:
    return "deletionTimestamp" in cluster.read(PODS, "default", "web")["metadata"]


def test_a_pod_under_no_budget_is_evicted(cluster: MemoryCluster, running: Raw) -> None:
    evict(cluster)

    pod = cluster.read(PODS, "default", "web")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    target = pod["status"]["conditions"][-1]
    assert (target["type"], target["reason"]) == ("DisruptionTarget", "EvictionByEvictionAPI")


def test_a_budget_is_spent(cluster: MemoryCluster, running: Raw) -> None:
    budget(cluster, disruptionsAllowed=1)

    evict(cluster)

    assert is_terminating(cluster)
    assert status_of(cluster)["disruptionsAllowed"] == 0
    assert status_of(cluster)["disruptedPods"] == {"web": "2023-11-14T22:13:20Z"}


def test_a_spent_budget_refuses_and_nothing_changes(cluster: MemoryCluster, running: Raw) -> None:
    budget(cluster, desiredHealthy=2, currentHealthy=2)
    version = cluster.resource_version

    with pytest.raises(TooManyRequests) as refusal:
        evict(cluster)

    assert refusal.value.message == (
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    assert refusal.value.causes == (
        "The disruption budget b needs 2 healthy pods and has 2 currently",
    )
    assert cluster.resource_version == version


def test_a_budget_not_yet_looked_at_asks_to_come_back(cluster: MemoryCluster, running: Raw) -> None:
    budget(cluster, disruptionsAllowed=5, observedGeneration=0)

    with pytest.raises(TooManyRequests) as refusal:
        evict(cluster)
    assert refusal.value.retry_after == 10.0


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"disruptionsAllowed": -1}, id="fewer than none is allowed"),
        pytest.param(
            {"disruptionsAllowed": 5, "disruptedPods": {f"p{n}": "t" for n in range(2001)}},
            id="too many evictions are unconfirmed",
        ),
    ],
)
def test_eviction_is_forbidden_when(cluster: MemoryCluster, running: Raw, status: Raw) -> None:
    budget(cluster, **status)

    with pytest.raises(Forbidden):
        evict(cluster)
    assert not is_terminating(cluster)


def test_as_many_evictions_may_be_unconfirmed_as_a_real_server_allows(
    cluster: MemoryCluster, running: Raw
) -> None:
    budget(cluster, disruptionsAllowed=5, disruptedPods={f"p{n}": "t" for n in range(2000)})

    evict(cluster)

    assert is_terminating(cluster)


@pytest.mark.parametrize(
    ("selector", "falls_under"),
    [
        pytest.param({"matchLabels": {"app": "db"}}, False, id="other labels are not selected"),
        pytest.param({}, True, id="an empty selector selects every pod"),
        pytest.param(None, False, id="no selector selects none"),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "Like"}]},
            False,
            id="a broken selector selects none",
        ),
    ],
)
def test_which_pods_fall_under_a_budget(
    cluster: MemoryCluster, running: Raw, selector: Any, falls_under: bool
) -> None:
    budget(cluster, selector=selector)

    if falls_under:
        with pytest.raises(TooManyRequests):
            evict(cluster)
    else:
        evict(cluster)
    assert is_terminating(cluster) != falls_under


def test_a_budget_of_another_namespace_is_not_asked(cluster: MemoryCluster, running: Raw) -> None:
    cluster.apply(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "other"},
            "spec": {"selector": {}},
        }
    )

    evict(cluster)

    assert is_terminating(cluster)


def test_two_budgets_for_one_pod_are_an_error(cluster: MemoryCluster, running: Raw) -> None:
    budget(cluster, "a", disruptionsAllowed=1)
    budget(cluster, "b", disruptionsAllowed=1)

    with pytest.raises(ServerError, match="more than one PodDisruptionBudget"):
        evict(cluster)


def test_a_pending_pod_is_evicted_whatever_its_budget(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod(metadata={"labels": {"app": "web"}})
    budget(cluster)

    evict(cluster)

    assert cluster.objects(PODS) == []


@pytest.mark.parametrize(
    ("status", "policy", "goes"),
    [
        pytest.param(
            {"desiredHealthy": 1, "currentHealthy": 1}, None, True, id="enough others are healthy"
        ),
        pytest.param(
            {"desiredHealthy": 2, "currentHealthy": 1}, None, False, id="too few are healthy"
        ),
        pytest.param(
            {"desiredHealthy": 2, "currentHealthy": 1},
            "AlwaysAllow",
            True,
            id="its budget always lets unhealthy pods go",
        ),
    ],
)
def test_an_unready_pod_goes_uncounted_when(
    cluster: MemoryCluster, running: Raw, status: Raw, policy: str | None, goes: bool
) -> None:
    change = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    asyncio.run(cluster.patch_pod_status("default", "web", change, ""))
    budget(cluster, **status)
    spec = {"spec": {"unhealthyPodEvictionPolicy": policy}}
    asyncio.run(cluster.patch(POD_DISRUPTION_BUDGETS, "default", "b", spec))

    if goes:
        evict(cluster)
    else:
        with pytest.raises(TooManyRequests):
            evict(cluster)
    assert is_terminating(cluster) == goes
    assert "disruptedPods" not in status_of(cluster)


def test_only_the_pod_meant_is_evicted(cluster: MemoryCluster, running: Raw) -> None:
    budget(cluster, disruptionsAllowed=1)

    with pytest.raises(Conflict, match="does not match the UID in record"):
        evict(cluster, uid="other")
    assert status_of(cluster)["disruptionsAllowed"] == 1


def test_a_pod_that_is_not_there_is_not_found(cluster: MemoryCluster) -> None:
    with pytest.raises(NotFound):
        evict(cluster)
