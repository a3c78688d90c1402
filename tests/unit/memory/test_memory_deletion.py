import asyncio
from collections.abc import Callable

import pytest

from moorage.clock import VirtualClock
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import Conflict, Forbidden, Invalid, NotFound
from moorage.watch.api_resources import NAMESPACES, NODES, PODS, Resource
from moorage.watch.api_server import Raw

AddPod = Callable[..., Raw]


def delete(
    cluster: MemoryCluster,
    name: str = "web",
    grace: int | None = None,
    uid: str = "",
    resource: Resource = PODS,
) -> None:
    asyncio.run(cluster.delete(resource, "default", name, uid=uid, grace_period_seconds=grace))


def events_since(cluster: MemoryCluster, version: int, resource: Resource = PODS) -> list[str]:
    """The types of what happened; nothing more can happen meanwhile."""
    history = cluster.registry.store.table(resource).history
    positions = range(history.after(version), history.end)
    return [history.at(position, version).type for position in positions]


def pod(cluster: MemoryCluster, name: str = "web") -> Raw | None:
    try:
        return cluster.read(PODS, "default", name)
    except NotFound:
        return None


def test_a_pod_on_no_node_goes_at_once(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod()
    version = cluster.resource_version

    delete(cluster, grace=60)

    assert pod(cluster) is None
    assert events_since(cluster, version) == ["MODIFIED", "DELETED"]


def test_a_pod_on_a_node_lingers_for_its_grace_period(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod(nodeName="n")

    delete(cluster)

    lingering = pod(cluster)
    assert lingering is not None
    metadata = lingering["metadata"]
    assert metadata["deletionTimestamp"] == "2023-11-14T22:13:50Z"
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert metadata["generation"] == 2


@pytest.mark.parametrize(
    ("grace", "spec_grace", "want"),
    [
        pytest.param(7, 30, 7, id="the period asked for counts"),
        pytest.param(None, 12, 12, id="else the pod's own"),
        pytest.param(-4, 30, 1, id="a negative one is a second"),
        pytest.param(0, 30, None, id="none means at once"),
        pytest.param(None, 0, None, id="a pod may have none itself"),
    ],
)
def test_grace_period(
    cluster: MemoryCluster, add_pod: AddPod, grace: int | None, spec_grace: int, want: int | None
) -> None:
    add_pod(nodeName="n", terminationGracePeriodSeconds=spec_grace)

    delete(cluster, grace=grace)

    found = pod(cluster)
    assert (found and found["metadata"]["deletionGracePeriodSeconds"]) == want


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_goes_at_once(
    cluster: MemoryCluster, add_pod: AddPod, phase: str
) -> None:
    add_pod(nodeName="n")
    asyncio.run(cluster.patch_pod_status("default", "web", {"status": {"phase": phase}}, ""))

    delete(cluster)

    assert pod(cluster) is None


def test_a_grace_period_under_way_is_shortened_but_never_extended(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod(nodeName="n")
    delete(cluster, grace=30)
    version = cluster.resource_version

    delete(cluster, grace=60)
    delete(cluster)
    assert cluster.resource_version == version

    delete(cluster, grace=10)
    shortened = pod(cluster)
    assert shortened is not None
    assert shortened["metadata"]["deletionGracePeriodSeconds"] == 10
    assert shortened["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:30Z"
    assert shortened["metadata"]["generation"] == 2


def test_a_period_shortened_into_the_past_leaves_a_second(
    cluster: MemoryCluster, clock: VirtualClock, add_pod: AddPod
) -> None:
    add_pod(nodeName="n")
    delete(cluster, grace=30)
    clock.advance(20.0)

    delete(cluster, grace=5)

    shortened = pod(cluster)
    assert shortened is not None
    assert shortened["metadata"]["deletionGracePeriodSeconds"] == 1
    assert shortened["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:40Z"


def test_a_terminating_pod_goes_when_no_grace_is_left(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod(nodeName="n")
    delete(cluster)
    version = cluster.resource_version

    delete(cluster, grace=0)

    assert pod(cluster) is None
    assert events_since(cluster, version) == ["MODIFIED", "DELETED"]


def test_only_the_pod_meant_is_deleted(cluster: MemoryCluster, add_pod: AddPod) -> None:
    stored = add_pod()

    with pytest.raises(Conflict) as refusal:
        delete(cluster, uid="other")

    assert refusal.value.message == (
        'Operation cannot be fulfilled on Pod "web": the UID in the precondition (other) does not '
        f"match the UID in record ({stored['metadata']['uid']}). The object might have been "
        "deleted and then recreated"
    )
    assert pod(cluster) == stored
    delete(cluster, uid=stored["metadata"]["uid"])
    assert pod(cluster) is None


def test_what_is_not_there_is_not_found(cluster: MemoryCluster) -> None:
    with pytest.raises(NotFound, match='pods "web" not found'):
        delete(cluster)


def finalize(cluster: MemoryCluster, name: str, finalizers: list[str], resource: Resource) -> None:
    change = {"metadata": {"finalizers": finalizers}}
    asyncio.run(cluster.patch(resource, "default", name, change))


def test_finalizers_keep_an_object_until_the_last_is_taken_away(cluster: MemoryCluster) -> None:
    cluster.add(NODES, {"metadata": {"name": "n", "finalizers": ["a", "b"]}})
    delete(cluster, "n", resource=NODES)
    delete(cluster, "n", resource=NODES)

    assert "deletionTimestamp" in cluster.read(NODES, "", "n")["metadata"]
    finalize(cluster, "n", ["b"], NODES)
    assert [node.name for node in cluster.objects(NODES)] == ["n"]
    version = cluster.resource_version
    finalize(cluster, "n", [], NODES)
    assert cluster.objects(NODES) == []
    assert events_since(cluster, version, NODES) == ["DELETED"]


def test_finalizers_do_not_hold_an_object_nobody_deleted(cluster: MemoryCluster) -> None:
    cluster.add(NODES, {"metadata": {"name": "n", "finalizers": ["a"]}})

    finalize(cluster, "n", [], NODES)

    assert [node.name for node in cluster.objects(NODES)] == ["n"]


def test_no_finalizer_is_added_to_what_is_being_deleted(cluster: MemoryCluster) -> None:
    cluster.add(NODES, {"metadata": {"name": "n", "finalizers": ["a"]}})
    delete(cluster, "n", resource=NODES)

    with pytest.raises(Invalid, match="no new finalizers can be added"):
        finalize(cluster, "n", ["a", "b"], NODES)


def test_a_pod_with_finalizers_outlives_its_grace_period(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod(metadata={"finalizers": ["a"]}, nodeName="n")
    delete(cluster)
    delete(cluster, grace=0)

    assert pod(cluster) is not None
    finalize(cluster, "web", [], PODS)
    assert pod(cluster) is None


def test_a_finalizer_taken_away_within_the_grace_period_does_not_end_the_pod(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod(metadata={"finalizers": ["a"]}, nodeName="n")
    delete(cluster)

    finalize(cluster, "web", [], PODS)

    assert pod(cluster) is not None


def test_a_namespace_takes_its_objects_with_it(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod("a", metadata={"namespace": "team"})
    add_pod("b", metadata={"namespace": "team"}, nodeName="n")
    add_pod("c", metadata={"namespace": "team-2"})

    delete(cluster, "team", resource=NAMESPACES)

    assert [each.key for each in cluster.objects(PODS)] == ["team-2/c", "team/b"]
    assert cluster.read(NAMESPACES, "", "team")["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden, match="because it is being terminated"):
        add_pod("d", metadata={"namespace": "team"})
    asyncio.run(cluster.delete(PODS, "team", "b", grace_period_seconds=0))
    assert "team" not in [namespace.name for namespace in cluster.objects(NAMESPACES)]


def test_an_empty_namespace_goes_at_once(cluster: MemoryCluster) -> None:
    cluster.add(NAMESPACES, {"metadata": {"name": "team"}})

    delete(cluster, "team", resource=NAMESPACES)

    assert [namespace.name for namespace in cluster.objects(NAMESPACES)] == ["default"]


def test_a_namespace_with_a_finalizer_waits_for_it(cluster: MemoryCluster) -> None:
    cluster.add(NAMESPACES, {"metadata": {"name": "team", "finalizers": ["a"]}})
    delete(cluster, "team", resource=NAMESPACES)

    assert cluster.read(NAMESPACES, "", "team")["status"]["phase"] == "Terminating"
    finalize(cluster, "team", [], NAMESPACES)
    assert [namespace.name for namespace in cluster.objects(NAMESPACES)] == ["default"]


def test_the_default_namespace_is_immortal(cluster: MemoryCluster) -> None:
    with pytest.raises(Forbidden, match="this namespace may not be deleted"):
        delete(cluster, "default", resource=NAMESPACES)
