"""A cluster as it stands: nothing is scheduled, and what pods wait for is told."""

from typing import Any

import pytest

from moorage.app.built_in_plugins import built_in, describe_plugins
from moorage.app.inputs import read_configuration
from moorage.config.loader import load
from moorage.explain.sources import Source, as_it_stands
from moorage.simulate.manifest_files import Manifest
from moorage.testing import node, pod

Raw = dict[str, Any]
NOW = 1_800_000_000.0


def stands(*objects: Raw, config: Raw | None = None) -> Source:
    known = built_in()
    manifests = [Manifest(raw, "test", number) for number, raw in enumerate(objects, start=1)]
    loaded = read_configuration(None, known)
    if config is not None:
        loaded = load(config, known=describe_plugins(known))
    return as_it_stands(manifests, loaded, known, NOW)


def written(name: str, created: str = "", **spec: Any) -> Raw:
    raw = pod(name).requesting(cpu="1").with_spec(**spec).raw
    made: Raw = {**raw, "apiVersion": "v1", "kind": "Pod"}
    made["metadata"] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    if created:
        made["metadata"]["creationTimestamp"] = created
    return made


def node_of(name: str) -> Raw:
    return {**node(name).offering(cpu="4", memory="8Gi").raw, "apiVersion": "v1", "kind": "Node"}


def test_pods_without_a_node_stay_without() -> None:
    source = stands(node_of("n1"), written("a"))

    found = source.pod("a")
    assert found.spec.node_name == ""
    assert not list(source.world.cache.pods())


def test_the_older_pod_is_ahead() -> None:
    source = stands(
        node_of("n1"),
        written("young", "2026-01-02T00:00:00Z"),
        written("old", "2026-01-01T00:00:00Z"),
    )

    assert source.place_in_queue(source.pod("old")) == (1, 2)
    assert source.place_in_queue(source.pod("young")) == (2, 2)


def test_a_gated_pod_says_so_and_has_no_place() -> None:
    source = stands(node_of("n1"), written("gated", schedulingGates=[{"name": "example.com/wait"}]))

    (reason,) = source.waits_for(source.pod("gated"))
    assert "example.com/wait" in reason
    assert source.place_in_queue(source.pod("gated")) is None


def test_a_pod_that_preempts_waits_for_its_victims() -> None:
    victim = written("victim", nodeName="n1")
    victim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    waiting = written("waiting")
    waiting["status"] = {"nominatedNodeName": "n1"}
    source = stands(node_of("n1"), victim, waiting)

    (reason,) = source.waits_for(source.pod("waiting"))
    assert reason == "preemption is under way: 1 pod is leaving n1, which is promised to it"


def test_a_pod_of_another_scheduler_says_whose_it_is() -> None:
    source = stands(node_of("n1"), written("other", schedulerName="volcano"))

    assert source.waits_for(source.pod("other")) == [
        "for scheduler volcano, which has no profile here"
    ]


@pytest.mark.parametrize("word", ["web", "pod/web", "default/web", "pod/default/web"])
def test_a_pod_is_found_by_any_of_its_names(word: str) -> None:
    assert stands(node_of("n1"), written("web")).pod(word).name == "web"


def test_a_pod_of_an_incomplete_gang_waits_for_the_others() -> None:
    group: Raw = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"minMember": 2},
    }
    member = written("one")
    member["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "train"}
    source = stands(node_of("n1"), group, member)

    (reason,) = source.waits_for(source.pod("one"))
    assert "train" in reason


def test_a_pod_whose_volume_has_no_claim_yet_is_explained() -> None:
    claim = {"spec": {"accessModes": ["ReadWriteOnce"]}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}
    pending = written("pending", volumes=[volume])
    placed = written("placed", volumes=[volume], nodeName="n1")
    source = stands(node_of("n1"), node_of("n2"), pending, placed)
    told = source.explain("pending")

    assert 'to create the persistentvolumeclaim "pending-v"' in told.message
    assert [each.plugin for each in told.refusals] == ["VolumeBinding"]
    assert source.explain("placed").node == "n1"


def test_a_pod_on_a_node_that_is_gone_is_explained() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "GPUPacking"}]}}}],
    }
    lost = written("lost", nodeName="gone", nodeSelector={"pool": "nowhere"})
    told = stands(node_of("n1"), lost, config=config).explain("lost")

    assert (told.state, told.node, told.runner_up) == ("placed", "gone", "")
