import asyncio
import random
import re
from typing import Any

import pytest

from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.watch.api_errors import AlreadyExists, BadRequest, Invalid, NotFound, ServerError
from moorage.watch.api_resources import EVENTS, NODES, PODS, RESOURCES
from moorage.watch.api_server import Raw

UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def pod(name: str = "web", **metadata: Any) -> Raw:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


def created(cluster: MemoryCluster, object: Raw, plural: str = "pods") -> Raw:
    return asyncio.run(cluster.create(RESOURCES[plural], object))


def test_a_new_object_gets_identity_time_and_version(cluster: MemoryCluster) -> None:
    metadata = created(cluster, pod())["metadata"]

    assert re.fullmatch(UUID4, metadata["uid"])
    assert metadata["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert metadata["resourceVersion"] == str(cluster.resource_version)
    assert metadata["namespace"] == "default"
    assert metadata["generation"] == 1


def test_each_object_has_its_own_identity(cluster: MemoryCluster) -> None:
    assert len({created(cluster, pod(f"web-{n}"))["metadata"]["uid"] for n in range(50)}) == 50


def test_the_same_seed_gives_the_same_identities() -> None:
    one, two = (MemoryCluster(rng=random.Random(3)) for _ in range(2))

    assert created(one, pod())["metadata"]["uid"] == created(two, pod())["metadata"]["uid"]


def test_a_name_is_generated_where_asked_for(cluster: MemoryCluster) -> None:
    name = created(cluster, pod("", generateName="web-"))["metadata"]["name"]

    assert re.fullmatch(r"web-[bcdfghjklmnpqrstvwxz2456789]{5}", name)


def test_a_generated_name_has_at_most_63_letters(cluster: MemoryCluster) -> None:
    name = created(cluster, pod("", generateName="w" * 70))["metadata"]["name"]

    assert len(name) == 63


def test_a_generated_name_avoids_those_taken(cluster: MemoryCluster) -> None:
    class Repeating(random.Random):
        draws = iter(["22222", "22222", "44444"])

        def choices(self, *args: Any, **kwargs: Any) -> Any:
            return list(next(self.draws))

    cluster = MemoryCluster(rng=Repeating(1))
    names = [created(cluster, pod("", generateName="w"))["metadata"]["name"] for _ in range(2)]

    assert names == ["w22222", "w44444"]


def test_a_generator_that_only_repeats_itself_is_refused() -> None:
    class Stuck(random.Random):
        def choices(self, *args: Any, **kwargs: Any) -> Any:
            return list("22222")

    cluster = MemoryCluster(rng=Stuck(1))
    created(cluster, pod("", generateName="w"))

    with pytest.raises(AlreadyExists, match="not able to generate a unique name"):
        created(cluster, pod("", generateName="w"))


def test_a_second_object_of_a_name_is_refused_and_changes_nothing(cluster: MemoryCluster) -> None:
    created(cluster, pod())
    version = cluster.resource_version

    with pytest.raises(AlreadyExists, match='pods "web" already exists'):
        created(cluster, pod())
    assert cluster.resource_version == version


@pytest.mark.parametrize(
    ("object", "error", "message"),
    [
        pytest.param(pod(""), Invalid, "name or generateName is required", id="it has no name"),
        pytest.param(pod("Web"), Invalid, "RFC 1123 subdomain", id="its name has a capital"),
        pytest.param(pod("web-"), Invalid, "RFC 1123 subdomain", id="its name ends in a dash"),
        pytest.param(
            pod(resourceVersion="4"),
            ServerError,
            "resourceVersion should not be set",
            id="it claims to have a version",
        ),
        pytest.param(
            {"metadata": {"name": "web"}, "spec": {}},
            Invalid,
            'Pod "web" is invalid: spec.containers: Required value',
            id="it is a pod without containers",
        ),
        pytest.param(
            {
                "metadata": {"name": "web"},
                "spec": {
                    "containers": [{"name": "c"}],
                    "nodeName": "n",
                    "schedulingGates": [{"name": "g"}],
                },
            },
            Invalid,
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
            id="it is a gated pod with a node",
        ),
        pytest.param(
            {"metadata": {"name": "web"}, "spec": ["c"]},
            BadRequest,
            "spec: expected an object, got a list",
            id="its spec is a list",
        ),
        pytest.param(
            {"metadata": ["web"], "spec": {}},
            BadRequest,
            "metadata: expected an object, got a list",
            id="its metadata are a list",
        ),
        pytest.param(
            {"metadata": {"name": "web"}, "spec": {"containers": {"name": "c"}}},
            BadRequest,
            "spec.containers: expected a list, got an object",
            id="its containers are a map",
        ),
        pytest.param(
            {
                "metadata": {"name": "web"},
                "spec": {"containers": [{"resources": {"requests": {"cpu": "many"}}}]},
            },
            BadRequest,
            r"spec.containers\[0\].resources.requests.*cpu",
            id="a quantity is none",
        ),
        pytest.param(
            {
                "metadata": {"name": "web"},
                "spec": {"containers": [{"resources": {"requests": {"cpu": "-1"}}}]},
            },
            Invalid,
            r'Pod "web" is invalid: spec.containers\[0\].resources.requests\[cpu\]: Invalid value',
            id="a quantity is negative",
        ),
        pytest.param(
            pod(labels={"a": 1}), BadRequest, "metadata.labels.a", id="a label is a number"
        ),
    ],
)
def test_an_object_is_refused_and_changes_nothing_when(
    cluster: MemoryCluster, object: Raw, error: type[Exception], message: str
) -> None:
    version = cluster.resource_version

    with pytest.raises(error, match=message):
        created(cluster, object)
    assert cluster.resource_version == version
    assert cluster.objects(PODS) == []


def test_a_bad_spec_is_refused_however_often_it_is_given(cluster: MemoryCluster) -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": "many"}}}]}

    for name in ("a", "b"):
        with pytest.raises(BadRequest):
            cluster.add(PODS, {"metadata": {"name": name}, "spec": spec})


@pytest.mark.parametrize(
    ("plural", "want"),
    [
        pytest.param("pods", {"phase": "Pending"}, id="a pod is Pending"),
        pytest.param("persistentvolumeclaims", {"phase": "Pending"}, id="a claim is Pending"),
        pytest.param("namespaces", {"phase": "Active"}, id="a namespace is Active"),
        pytest.param("podgroups", {}, id="a pod group has none"),
        pytest.param(
            "poddisruptionbudgets",
            {
                "disruptionsAllowed": 0,
                "currentHealthy": 0,
                "desiredHealthy": 0,
                "expectedPods": 0,
            },
            id="a budget allows nothing yet",
        ),
        pytest.param("nodes", {"phase": "Made up"}, id="a node brings its own"),
    ],
)
def test_status_of_a_new_object(cluster: MemoryCluster, plural: str, want: Raw) -> None:
    spec = {"containers": [{"name": "c"}]} if plural == "pods" else {}
    object = {"metadata": {"name": "x"}, "spec": spec, "status": {"phase": "Made up"}}

    assert created(cluster, object, plural)["status"] == want


def test_a_gated_pod_says_so(cluster: MemoryCluster) -> None:
    gated = pod()
    gated["spec"]["schedulingGates"] = [{"name": "g"}]

    (condition,) = created(cluster, gated)["status"]["conditions"]

    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert condition["reason"] == "SchedulingGated"


def test_a_missing_namespace_is_made_with_its_first_object(cluster: MemoryCluster) -> None:
    created(cluster, pod(namespace="team"))

    labels = cluster.read(RESOURCES["namespaces"], "", "team")["metadata"]["labels"]
    assert labels == {"kubernetes.io/metadata.name": "team"}


def test_a_missing_namespace_is_not_made_where_none_may_have_its_name(
    cluster: MemoryCluster,
) -> None:
    with pytest.raises(Invalid, match=r'Namespace "team.a" is invalid: .* must not contain dots'):
        created(cluster, pod(namespace="team.a"))


def test_a_missing_namespace_may_be_refused() -> None:
    cluster = MemoryCluster(options=ClusterOptions(auto_namespaces=False))

    with pytest.raises(NotFound, match='namespaces "team" not found'):
        created(cluster, pod(namespace="team"))
    assert created(cluster, pod())["metadata"]["namespace"] == "default"


def test_a_cluster_wide_object_is_in_no_namespace(cluster: MemoryCluster) -> None:
    node = {"metadata": {"name": "n", "namespace": "default"}}

    assert "namespace" not in created(cluster, node, "nodes")["metadata"]


def test_what_is_created_is_the_servers_own(cluster: MemoryCluster) -> None:
    given = pod(labels={"app": "web"})
    answer = created(cluster, given)

    given["metadata"]["labels"]["app"] = answer["metadata"]["labels"]["app"] = "changed"

    assert cluster.read(PODS, "default", "web")["metadata"]["labels"] == {"app": "web"}


def test_pods_added_with_one_spec_share_what_it_was_made_into(cluster: MemoryCluster) -> None:
    spec = {"containers": [{"name": "c"}]}
    for name in ("a", "b"):
        cluster.add(PODS, {"metadata": {"name": name}, "spec": spec})

    first, second = (cluster.read(PODS, "default", name)["spec"] for name in ("a", "b"))

    assert first is second
    assert spec == {"containers": [{"name": "c"}]}


def test_events_are_kept_up_to_a_number() -> None:
    cluster = MemoryCluster(options=ClusterOptions(events=3))
    for number in range(5):
        created(cluster, {"metadata": {"name": f"e{number}"}, "reason": "Scheduled"}, "events")

    assert [event.name for event in cluster.objects(EVENTS)] == ["e2", "e3", "e4"]


def test_a_node_may_have_a_dotted_name(cluster: MemoryCluster) -> None:
    created(cluster, {"metadata": {"name": "n1.example.org"}}, "nodes")

    assert [node.name for node in cluster.objects(NODES)] == ["n1.example.org"]
