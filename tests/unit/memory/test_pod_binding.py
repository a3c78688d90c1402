import asyncio
from collections.abc import Callable

import pytest

from moorage.clock import VirtualClock
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import ApiError, Conflict, NotFound, ServerError
from moorage.watch.api_resources import PODS
from moorage.watch.api_server import Raw

AddPod = Callable[..., Raw]


def bind(cluster: MemoryCluster, uid: str = "", node: str = "n1") -> None:
    asyncio.run(cluster.bind("default", "web", uid, node))


def read(cluster: MemoryCluster) -> Raw:
    return cluster.read(PODS, "default", "web")


def test_a_bound_pod_has_its_node_and_says_it_is_scheduled(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    pod = add_pod()

    bind(cluster, pod["metadata"]["uid"])

    bound = read(cluster)
    assert bound["spec"] == {**pod["spec"], "nodeName": "n1"}
    assert bound["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2023-11-14T22:13:20Z"}
    ]
    assert bound["metadata"]["generation"] == 1


def test_a_binding_adds_its_annotations_to_those_of_the_pod(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod(metadata={"annotations": {"kept": "1", "changed": "1"}})

    asyncio.run(cluster.bind("default", "web", "", "n1", {"changed": "2", "new": "2"}))

    want = {"kept": "1", "changed": "2", "new": "2"}
    assert read(cluster)["metadata"]["annotations"] == want
    (seen,) = cluster.objects(PODS)
    assert (seen.metadata.annotations, seen.metadata.generation) == (want, 1)


def test_binding_ends_a_nomination(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod()
    change = {"status": {"nominatedNodeName": "n2"}}
    asyncio.run(cluster.patch_pod_status("default", "web", change, ""))

    bind(cluster)

    assert "nominatedNodeName" not in read(cluster)["status"]


def test_binding_replaces_the_condition_of_a_failed_attempt(
    cluster: MemoryCluster, clock: VirtualClock, add_pod: AddPod
) -> None:
    add_pod()
    failed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}
    change = {"status": {"conditions": [failed]}}
    asyncio.run(cluster.patch_pod_status("default", "web", change, ""))
    clock.advance(5.0)

    bind(cluster)

    assert read(cluster)["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2023-11-14T22:13:25Z"}
    ]


def test_without_an_identity_any_pod_of_the_name_is_bound(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod()

    bind(cluster, uid="")

    assert read(cluster)["spec"]["nodeName"] == "n1"


def refusal(cluster: MemoryCluster, uid: str = "", node: str = "n1") -> ApiError:
    """How a binding is refused; that nothing changes is asserted on the way."""
    version = cluster.resource_version
    with pytest.raises(ApiError) as caught:
        bind(cluster, uid, node)
    assert cluster.resource_version == version
    return caught.value


def test_a_pod_that_is_not_there_is_not_found(cluster: MemoryCluster) -> None:
    error = refusal(cluster)

    assert isinstance(error, NotFound)
    assert error.message == 'pods "web" not found'


def test_a_pod_with_a_node_is_not_given_another(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod()
    bind(cluster)

    error = refusal(cluster, node="n2")

    assert isinstance(error, Conflict)
    assert error.message == (
        'Operation cannot be fulfilled on pods/binding "web": '
        'pod web is already assigned to node "n1"'
    )


def test_a_terminating_pod_is_not_bound(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod(metadata={"finalizers": ["f"]})
    asyncio.run(cluster.delete(PODS, "default", "web"))

    error = refusal(cluster)

    assert isinstance(error, Conflict)
    assert error.message.endswith('"web": pod web is being deleted, cannot be assigned to a host')


def test_a_gated_pod_is_not_bound(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod(schedulingGates=[{"name": "g"}])

    error = refusal(cluster)

    assert isinstance(error, Conflict)
    assert error.message.endswith('"web": pod web has non-empty .spec.schedulingGates')


def test_another_pod_of_the_name_is_not_bound(cluster: MemoryCluster, add_pod: AddPod) -> None:
    pod = add_pod()

    error = refusal(cluster, uid="other")

    assert isinstance(error, Conflict)
    assert error.message == (
        'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, '
        "Key: /registry/pods/default/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
        f"failed: UID in precondition: other, UID in object meta: {pod['metadata']['uid']}"
    )


def test_a_binding_names_a_node(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod()

    assert isinstance(refusal(cluster, node=""), ServerError)


def test_pods_of_one_spec_are_bound_apart(cluster: MemoryCluster) -> None:
    spec = {"containers": [{"name": "c"}]}
    for name in ("web", "other"):
        cluster.add(PODS, {"metadata": {"name": name}, "spec": spec})

    bind(cluster)

    assert "nodeName" not in cluster.read(PODS, "default", "other")["spec"]
