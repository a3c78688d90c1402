import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest

from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import ApiError, BadRequest, Conflict, Forbidden, Invalid, NotFound
from moorage.watch.api_resources import LEASES, NODES, PODS, PRIORITY_CLASSES, RESOURCES
from moorage.watch.api_server import PatchType, Raw

AddPod = Callable[..., Raw]

PODGROUPS = RESOURCES["podgroups"]
BUDGETS = RESOURCES["poddisruptionbudgets"]


def update(cluster: MemoryCluster, object: Raw, plural: str = "pods", subresource: str = "") -> Raw:
    return asyncio.run(cluster.update(RESOURCES[plural], object, subresource=subresource))


def patch(
    cluster: MemoryCluster,
    change: Raw,
    subresource: str = "",
    patch_type: PatchType = "strategic",
) -> Raw:
    where = (PODS, "default", "web", change)
    return asyncio.run(cluster.patch(*where, subresource=subresource, patch_type=patch_type))


def changed(object: Raw, path: str, value: Any) -> Raw:
    """A copy with one field set."""
    copied = copy.deepcopy(object)
    *parents, last = path.split(".")
    place: Any = copied
    for parent in parents:
        place = place[int(parent)] if parent.isdigit() else place[parent]
    place[last] = value
    return copied


def test_an_update_of_the_current_version_is_taken(cluster: MemoryCluster, add_pod: AddPod) -> None:
    answer = update(cluster, changed(add_pod(), "metadata.labels", {"a": "1"}))

    assert answer["metadata"]["labels"] == {"a": "1"}
    assert answer["metadata"]["resourceVersion"] == str(cluster.resource_version)


def test_an_update_of_a_stale_version_conflicts_and_changes_nothing(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    stale = add_pod()
    current = update(cluster, changed(stale, "metadata.labels", {"a": "1"}))

    with pytest.raises(Conflict) as refusal:
        update(cluster, changed(stale, "metadata.labels", {"a": "2"}))

    assert refusal.value.message == (
        'Operation cannot be fulfilled on pods "web": the object has been modified; please apply '
        "your changes to the latest version and try again"
    )
    assert cluster.read(PODS, "default", "web") == current


def test_an_update_that_names_no_version_is_taken(cluster: MemoryCluster, add_pod: AddPod) -> None:
    pod = changed(add_pod(), "metadata.resourceVersion", "")

    assert update(cluster, changed(pod, "metadata.labels", {"a": "1"}))["metadata"]["labels"]


def test_a_budget_is_not_updated_without_its_version(cluster: MemoryCluster) -> None:
    cluster.add(BUDGETS, {"metadata": {"name": "b"}, "spec": {}})

    with pytest.raises(Invalid, match=r"metadata\.resourceVersion: Invalid value: 0"):
        update(cluster, {"metadata": {"name": "b"}, "spec": {}}, "poddisruptionbudgets")


def test_an_update_of_another_object_of_that_name_conflicts(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    with pytest.raises(Conflict, match="UID in precondition: other, UID in object meta: "):
        update(cluster, changed(add_pod(), "metadata.uid", "other"))


def test_an_update_that_changes_nothing_writes_nothing(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    pod = add_pod()
    version = cluster.resource_version

    assert update(cluster, copy.deepcopy(pod)) == pod
    assert cluster.resource_version == version


def test_what_was_filled_in_need_not_be_repeated(cluster: MemoryCluster, add_pod: AddPod) -> None:
    pod = copy.deepcopy(add_pod(priorityClassName="system-node-critical"))
    for field in ("priority", "preemptionPolicy", "schedulerName", "restartPolicy"):
        del pod["spec"][field]
    version = cluster.resource_version

    update(cluster, pod)

    assert cluster.resource_version == version


def test_identity_and_history_cannot_be_rewritten(cluster: MemoryCluster, add_pod: AddPod) -> None:
    pod = add_pod()
    rewritten = changed(pod, "metadata.creationTimestamp", "2000-01-01T00:00:00Z")
    rewritten = changed(rewritten, "metadata.generation", 77)
    rewritten = changed(rewritten, "metadata.deletionTimestamp", "2000-01-01T00:00:00Z")

    assert update(cluster, rewritten) == pod


def test_an_update_of_what_is_not_there_is_not_found(cluster: MemoryCluster) -> None:
    with pytest.raises(NotFound, match='nodes "n" not found'):
        update(cluster, {"metadata": {"name": "n"}}, "nodes")


def test_a_lease_is_created_by_its_first_update(cluster: MemoryCluster) -> None:
    update(cluster, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}, "leases")

    assert cluster.read(LEASES, "default", "l")["spec"] == {"holderIdentity": "me"}


def test_a_subresource_that_is_none_is_not_found(cluster: MemoryCluster, add_pod: AddPod) -> None:
    with pytest.raises(NotFound, match="could not find the requested resource"):
        update(cluster, add_pod(), subresource="scale")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("spec.nodeName", "n", id="the node"),
        pytest.param("spec.containers.0.resources", {"requests": {"cpu": "1"}}, id="requests"),
        pytest.param("spec.schedulerName", "other", id="the scheduler"),
        pytest.param("spec.priority", 5, id="the priority"),
        pytest.param("spec.nodeSelector", {"a": "b"}, id="the node selector"),
        pytest.param("spec.containers", [], id="the number of containers"),
        pytest.param("spec.tolerations", [], id="a toleration taken away"),
        pytest.param("spec.schedulingGates", [{"name": "g"}], id="a gate added"),
    ],
)
def test_an_update_may_not_change(
    cluster: MemoryCluster, add_pod: AddPod, path: str, value: Any
) -> None:
    pod = add_pod(tolerations=[{"key": "k", "operator": "Exists"}])

    with pytest.raises(Invalid, match='Pod "web" is invalid: spec'):
        update(cluster, changed(pod, path, value))
    assert cluster.read(PODS, "default", "web") == pod


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("spec.containers.0.image", "newer", id="an image"),
        pytest.param(
            "spec.tolerations",
            [{"key": "k", "operator": "Exists", "tolerationSeconds": 9}, {"key": "l"}],
            id="tolerations, by adding",
        ),
        pytest.param("spec.schedulingGates", [], id="gates, by taking away"),
        pytest.param("spec.nodeSelector", {"a": "b"}, id="the node selector of a gated pod"),
        pytest.param("spec.affinity", {"nodeAffinity": {}}, id="the node affinity of a gated pod"),
    ],
)
def test_an_update_may_change(
    cluster: MemoryCluster, add_pod: AddPod, path: str, value: Any
) -> None:
    pod = add_pod(tolerations=[{"key": "k", "operator": "Exists"}], schedulingGates=[{"name": "g"}])

    answer = update(cluster, changed(pod, path, value))

    assert answer["metadata"]["generation"] == pod["metadata"]["generation"] + 1


def test_a_gated_pods_node_selector_is_only_added_to(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    pod = add_pod(nodeSelector={"a": "b"}, schedulingGates=[{"name": "g"}])

    with pytest.raises(Invalid, match=r"only additions to spec\.nodeSelector are allowed"):
        update(cluster, changed(pod, "spec.nodeSelector", {"a": "c"}))


def test_labels_do_not_count_as_a_generation(cluster: MemoryCluster, add_pod: AddPod) -> None:
    answer = update(cluster, changed(add_pod(), "metadata.labels", {"a": "b"}))

    assert answer["metadata"]["generation"] == 1


def test_an_update_leaves_the_status_alone(cluster: MemoryCluster, add_pod: AddPod) -> None:
    pod = changed(add_pod(), "status", {"phase": "Running"})

    assert update(cluster, pod)["status"] == {"phase": "Pending"}


def test_a_status_update_leaves_the_spec_alone(cluster: MemoryCluster, add_pod: AddPod) -> None:
    pod = changed(add_pod(), "status", {"phase": "Running"})
    answer = update(cluster, changed(pod, "spec.nodeName", "n"), subresource="status")

    assert answer["status"] == {"phase": "Running"}
    assert "nodeName" not in answer["spec"]
    assert answer["metadata"]["generation"] == 1


def test_a_status_update_of_a_custom_resource_leaves_its_labels_alone(
    cluster: MemoryCluster,
) -> None:
    cluster.add(PODGROUPS, {"metadata": {"name": "g"}, "spec": {"minMember": 2}})
    group = changed(cluster.read(PODGROUPS, "default", "g"), "metadata.labels", {"a": "b"})
    answer = update(cluster, changed(group, "status", {"phase": "Running"}), "podgroups", "status")

    assert answer["status"] == {"phase": "Running"}
    assert "labels" not in answer["metadata"]


def test_a_node_has_no_generation_but_takes_updates(cluster: MemoryCluster) -> None:
    cluster.add(NODES, {"metadata": {"name": "n"}})
    node = changed(cluster.read(NODES, "", "n"), "spec", {"unschedulable": True})

    assert update(cluster, node, "nodes")["spec"] == {"unschedulable": True}


def test_a_class_cannot_become_a_second_default(cluster: MemoryCluster) -> None:
    for name, default in (("a", True), ("b", False)):
        fields = {"value": 1, "globalDefault": default}
        cluster.add(PRIORITY_CLASSES, {"metadata": {"name": name}, **fields})
    other = changed(cluster.read(PRIORITY_CLASSES, "", "b"), "globalDefault", True)

    with pytest.raises(Forbidden, match="already marked as default"):
        update(cluster, other, "priorityclasses")


def test_a_patch_changes_what_it_names(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod(metadata={"labels": {"a": "1", "b": "2"}})

    answer = patch(cluster, {"metadata": {"labels": {"a": None, "c": "3"}}}, patch_type="merge")

    assert answer["metadata"]["labels"] == {"b": "2", "c": "3"}


def test_a_status_patch_merges_conditions_by_type(cluster: MemoryCluster, add_pod: AddPod) -> None:
    add_pod()
    for type in ("PodScheduled", "Ready", "PodScheduled"):
        change = {"status": {"conditions": [{"type": type, "status": "False"}]}}
        asyncio.run(cluster.patch_pod_status("default", "web", change, ""))

    conditions = cluster.read(PODS, "default", "web")["status"]["conditions"]
    assert [condition["type"] for condition in conditions] == ["Ready", "PodScheduled"]


def test_a_status_patch_that_changes_nothing_writes_nothing(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod()
    change = {"status": {"nominatedNodeName": "n"}}
    asyncio.run(cluster.patch_pod_status("default", "web", change, ""))
    version = cluster.resource_version

    asyncio.run(cluster.patch_pod_status("default", "web", change, ""))

    assert cluster.resource_version == version


def test_a_status_patch_of_another_pod_of_that_name_is_refused(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    pod = add_pod()
    change = {"status": {"nominatedNodeName": "n"}}

    with pytest.raises(Invalid, match=r'metadata\.uid: Invalid value: "other": field is immutable'):
        asyncio.run(cluster.patch_pod_status("default", "web", change, "other"))
    asyncio.run(cluster.patch_pod_status("default", "web", change, pod["metadata"]["uid"]))
    assert cluster.read(PODS, "default", "web")["status"]["nominatedNodeName"] == "n"


def test_no_node_is_nominated_for_a_pod_that_has_one(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod(nodeName="n1")

    with pytest.raises(Invalid, match="may not be set on pods that are already bound to a node"):
        patch(cluster, {"status": {"nominatedNodeName": "n2"}}, "status")


def test_a_patch_that_names_a_stale_version_conflicts(
    cluster: MemoryCluster, add_pod: AddPod
) -> None:
    add_pod()

    with pytest.raises(Conflict):
        patch(cluster, {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"spec": {"containers": 5}}, "pods", id="a number in place of a list"),
        pytest.param({"metadata": None}, "cannot patch pods", id="no metadata at all"),
        pytest.param(
            {"status": {"conditions": 7}}, "status.conditions", id="a number in the status"
        ),
    ],
)
def test_a_patch_that_leaves_no_pod_is_refused(
    cluster: MemoryCluster, add_pod: AddPod, change: Raw, message: str
) -> None:
    pod = add_pod()

    with pytest.raises((BadRequest, Invalid), match=message):
        patch(cluster, change, "status" if "status" in change else "", "merge")
    assert cluster.read(PODS, "default", "web") == pod


def test_custom_resources_take_no_strategic_merge_patch(cluster: MemoryCluster) -> None:
    cluster.add(PODGROUPS, {"metadata": {"name": "g"}, "spec": {"minMember": 2}})

    with pytest.raises(ApiError, match="unknown format") as refusal:
        asyncio.run(cluster.patch(PODGROUPS, "default", "g", {}, patch_type="strategic"))
    assert refusal.value.status == 415


def test_a_patch_of_what_is_not_there_is_not_found(cluster: MemoryCluster) -> None:
    with pytest.raises(NotFound, match='pods "web" not found'):
        patch(cluster, {})
