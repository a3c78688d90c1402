import asyncio

import pytest

from moorage.api.pod import Pod
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import NotFound
from moorage.watch.api_resources import NAMESPACES, PODS, PRIORITY_CLASSES, RESOURCES
from moorage.watch.api_server import ApiServer


def test_the_embedded_cluster_is_an_api_server(cluster: MemoryCluster) -> None:
    server: ApiServer = cluster

    assert asyncio.run(server.list_page(PODS)).items == ()


def test_a_new_cluster_has_what_every_cluster_has(cluster: MemoryCluster) -> None:
    assert [each.name for each in cluster.objects(NAMESPACES)] == ["default"]
    assert [each.name for each in cluster.objects(PRIORITY_CLASSES)] == [
        "system-cluster-critical",
        "system-node-critical",
    ]


def test_readers_see_structs(cluster: MemoryCluster) -> None:
    spec = {"containers": [{"name": "c"}], "nodeSelector": {"a": "b"}}
    cluster.add(PODS, {"metadata": {"name": "web"}, "spec": spec})

    (pod,) = cluster.objects(PODS)

    assert isinstance(pod, Pod)
    assert pod.spec.node_selector == {"a": "b"}


def test_what_get_answers_is_the_callers_own(cluster: MemoryCluster) -> None:
    asyncio.run(cluster.get(NAMESPACES, "", "default"))["metadata"]["labels"] = {"a": "b"}

    assert "a" not in asyncio.run(cluster.get(NAMESPACES, "", "default"))["metadata"]["labels"]


def test_what_is_not_there_is_not_found(cluster: MemoryCluster) -> None:
    with pytest.raises(NotFound, match=r'leases.coordination.k8s.io "l" not found'):
        asyncio.run(cluster.get(RESOURCES["leases"], "default", "l"))


def test_validate_notices_an_object_that_is_not_at_home(cluster: MemoryCluster) -> None:
    entries = cluster.registry.store.table(NAMESPACES).entries
    entries["elsewhere"] = entries.pop("default")

    with pytest.raises(AssertionError, match="default is kept under elsewhere"):
        cluster.validate()
    entries["default"] = entries.pop("elsewhere")


@pytest.mark.parametrize("plural", RESOURCES)
def test_every_resource_is_kept(cluster: MemoryCluster, plural: str) -> None:
    resource = RESOURCES[plural]
    spec = {"containers": [{"name": "c"}]} if plural == "pods" else {}
    cluster.add(resource, {"metadata": {"name": "x"}, "spec": spec})

    stored = cluster.read(resource, "default", "x")
    assert (stored["apiVersion"], stored["kind"]) == (resource.api_version, resource.kind)
    assert "x" in [each.name for each in cluster.objects(resource)]
