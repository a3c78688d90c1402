import datetime
import random
from typing import Any

import pytest

from moorage.memory import manifest_loader
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import BadRequest, Forbidden
from moorage.watch.api_resources import NODES, PODS, RESOURCES
from moorage.watch.api_server import Raw


def pod(name: str = "web", status: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c"}], **spec},
        "status": status or {},
    }


def read(cluster: MemoryCluster, name: str = "web") -> Raw:
    return cluster.read(PODS, "default", name)


def test_status_identity_and_times_are_kept(cluster: MemoryCluster) -> None:
    old = pod(status={"phase": "Running"})
    old["metadata"] |= {
        "uid": "u",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "deletionTimestamp": "2020-01-02T00:00:00Z",
        "resourceVersion": "77",
    }
    cluster.apply(old)

    restored = read(cluster)
    assert restored["status"] == {"phase": "Running"}
    assert restored["metadata"]["uid"] == "u"
    assert restored["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
    assert restored["metadata"]["deletionTimestamp"] == "2020-01-02T00:00:00Z"
    assert restored["metadata"]["resourceVersion"] == str(cluster.resource_version)


def test_what_is_missing_is_added(cluster: MemoryCluster) -> None:
    cluster.apply(pod())

    restored = read(cluster)
    assert restored["status"] == {"phase": "Pending"}
    assert restored["spec"]["schedulerName"] == "default-scheduler"
    assert restored["spec"]["priority"] == 0
    assert restored["metadata"]["uid"]


def test_a_uid_that_an_object_comes_with_is_given_to_no_other() -> None:
    """Not even to one that is loaded before it."""
    first = MemoryCluster(rng=random.Random(7)).apply(pod("old"))
    cluster = MemoryCluster(rng=random.Random(7))
    dumped = pod("old")
    dumped["metadata"]["uid"] = first.metadata.uid

    loaded = cluster.load([pod("new"), dumped])
    made = cluster.apply(pod("newer"))

    assert loaded[1].metadata.uid == first.metadata.uid
    assert len({each.metadata.uid for each in (*loaded, made)}) == 3


ENDING: Raw = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "ending", "deletionTimestamp": "2024-01-01T00:00:00Z"},
    "status": {"phase": "Terminating"},
}


def test_a_dump_of_a_namespace_that_ends_keeps_its_objects(cluster: MemoryCluster) -> None:
    inside = pod()
    inside["metadata"] |= {"namespace": "ending", "uid": "u"}
    inside["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"

    cluster.load([ENDING, inside])

    assert cluster.read(PODS, "ending", "web")["metadata"]["uid"] == "u"


def test_a_new_object_is_not_let_into_a_namespace_that_ends(cluster: MemoryCluster) -> None:
    inside = pod()
    inside["metadata"]["namespace"] = "ending"

    with pytest.raises(Forbidden, match="unable to create new content in namespace ending"):
        cluster.load([ENDING, inside])


def test_a_priority_given_is_kept(cluster: MemoryCluster) -> None:
    cluster.apply(pod(priority=7))

    assert read(cluster)["spec"]["priority"] == 7
    assert read(cluster)["spec"]["preemptionPolicy"] == "PreemptLowerPriority"


def test_a_priority_class_is_still_looked_up(cluster: MemoryCluster) -> None:
    with pytest.raises(Forbidden, match="no PriorityClass with name gold"):
        cluster.apply(pod(priorityClassName="gold"))


def test_a_second_apply_replaces_and_keeps_the_identity(cluster: MemoryCluster) -> None:
    first = cluster.apply(pod(nodeSelector={"a": "b"}))
    second = cluster.apply(pod(nodeName="n"))

    assert second.uid == first.uid
    assert second.metadata.creation_timestamp == first.metadata.creation_timestamp
    assert read(cluster)["spec"]["nodeName"] == "n"
    assert "nodeSelector" not in read(cluster)["spec"]


def test_applying_the_same_again_writes_nothing(cluster: MemoryCluster) -> None:
    cluster.apply(pod())
    version = cluster.resource_version

    cluster.apply(pod())

    assert cluster.resource_version == version


def test_what_is_applied_is_the_clusters_own(cluster: MemoryCluster) -> None:
    given = pod()
    cluster.apply(given)

    given["spec"]["nodeName"] = "n"

    assert "nodeName" not in read(cluster)["spec"]


def test_times_that_yaml_made_are_text_again(cluster: MemoryCluster) -> None:
    given = pod()
    made = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    given["metadata"]["creationTimestamp"] = made
    restored = cluster.apply(given)

    assert restored.metadata.creation_timestamp == made
    assert read(cluster)["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"


def test_a_budget_with_a_status_counts_as_looked_at(cluster: MemoryCluster) -> None:
    cluster.apply(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {},
            "status": {"disruptionsAllowed": 1},
        }
    )

    stored = cluster.read(RESOURCES["poddisruptionbudgets"], "default", "b")
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]


def test_loading_puts_what_is_referred_to_first(cluster: MemoryCluster) -> None:
    gold = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "gold"},
        "value": 9,
    }
    cluster.load([pod(priorityClassName="gold"), gold])

    assert read(cluster)["spec"]["priority"] == 9


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "List", "items": [pod("a"), pod("b")]},
            id="a List of objects with kinds",
        ),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "PodList",
                "items": [
                    {"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}}
                    for name in ("a", "b")
                ],
            },
            id="a PodList whose items have none",
        ),
    ],
)
def test_lists_are_taken_apart(cluster: MemoryCluster, document: Raw) -> None:
    loaded = cluster.load([document])

    assert [each.key for each in loaded] == ["default/a", "default/b"]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        pytest.param("v1", "Secret", id="a kind that is not kept"),
        pytest.param("example.com/v1", "Pod", id="a known kind of another group"),
        pytest.param("", "", id="no kind at all"),
    ],
)
def test_what_is_not_kept_is_refused_by_name(
    cluster: MemoryCluster, api_version: str, kind: str
) -> None:
    with pytest.raises(BadRequest, match=f'kind "{kind}" of apiVersion "{api_version}"'):
        cluster.apply({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}})


@pytest.mark.parametrize(
    ("api_version", "kind", "want"),
    [
        pytest.param("apps/v1", "Pod", "v1", id="a pod of apps"),
        pytest.param("v1", "Deployment", "apps/v1", id="a deployment of the core group"),
        pytest.param("extensions/v1beta1", "Deployment", "apps/v1", id="one that has moved"),
        pytest.param("batch/v1beta1", "CronJob", "batch/v1", id="a version that has gone"),
        pytest.param("v1", "Lease", "coordination.k8s.io/v1", id="a lease of the core group"),
        pytest.param("", "Pod", "v1", id="none at all"),
        pytest.param("app/v1", "Deployment", "apps/v1", id="a group that nobody has"),
        pytest.param("v1", "Pod", "", id="the right one is no mistake"),
        pytest.param("v1", "Event", "", id="nor is an Event of the core group"),
        pytest.param("resource.k8s.io/v1beta1", "ResourceClaim", "", id="nor a version of late"),
        pytest.param("batch.volcano.sh/v1alpha1", "Job", "", id="nor is another group's kind"),
    ],
)
def test_a_wrong_or_missing_api_version_is_said(api_version: str, kind: str, want: str) -> None:
    said = manifest_loader.version_complaint({"apiVersion": api_version, "kind": kind})

    assert said.endswith(f"that of a {kind} is {want}") if want else said == ""


@pytest.mark.parametrize(
    ("api_version", "kind", "want"),
    [
        pytest.param("v1", "pod", ("Pod", "v1"), id="a pod in lower case"),
        pytest.param("apps/v1", "deployments", ("Deployment", "apps/v1"), id="a plural"),
        pytest.param(
            "scheduling.k8s.io/v1",
            "Priorityclass",
            ("PriorityClass", "scheduling.k8s.io/v1"),
            id="a class in a group with a dot",
        ),
        pytest.param("example.com/v1", "pod", None, id="another group may spell it so"),
        pytest.param("v1", "gadget", None, id="a kind that nobody knows has no right spelling"),
    ],
)
def test_a_kind_that_is_spelt_wrong_is_said(
    api_version: str, kind: str, want: tuple[str, str] | None
) -> None:
    said = manifest_loader.version_complaint({"apiVersion": api_version, "kind": kind})

    if want is None:
        assert said == ""
    else:
        assert said.startswith(f'no matches for kind "{kind}" in version "{api_version}": ')
        assert said.endswith(f"it is spelt {want[0]}; that of a {want[0]} is {want[1]}")


def test_a_manifest_that_cannot_be_decoded_is_refused_with_its_place(
    cluster: MemoryCluster,
) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "lots"}},
    }
    with pytest.raises(BadRequest, match=r"status\.allocatable"):
        cluster.apply(node)
    assert cluster.objects(NODES) == []


def test_pods_whose_specs_say_the_same_share_one(cluster: MemoryCluster) -> None:
    for name in ("a", "b"):
        spec = {"containers": [{"name": "c", "image": "i"}]}
        metadata = {"name": name}
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    first, second = (cluster.read(PODS, "default", name)["spec"] for name in ("a", "b"))
    assert first is second
