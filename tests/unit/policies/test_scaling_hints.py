"""What an autoscaler should add, near the data of the pods that wait."""

import asyncio
import random

import pytest

from moorage.api.decode import decode_as
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.app import built_in_plugins
from moorage.app.assembly import assemble
from moorage.app.policy_features import ScalingHints
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import default_configuration
from moorage.memory.memory_cluster import MemoryCluster
from moorage.policies.load import scaling_hints
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_resources import EVENTS, NODES, PODS

TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"


def instance(name: str, kind: str, zone: str, cpu: str, gpus: str = "0") -> NodeBuilder:
    made = node(name).in_zone(zone).labelled({TYPE: kind})
    return made.offering({"nvidia.com/gpu": gpus}, cpu=cpu, memory="32Gi")


NODES_THERE = (
    instance("s", "small", "a", "2"),
    instance("m", "medium", "b", "8"),
    instance("l", "large", "a", "32"),
    instance("g", "gpu", "a", "8", "4"),
)


def hint(asking: PodBuilder, *objects: object) -> scaling_hints.ScalingHint:
    cluster = Cluster(*NODES_THERE)
    for each in objects:
        cluster.cache.objects.put(each)  # type: ignore[arg-type]
    shapes = scaling_hints.node_shapes(cluster.cache.table)
    return scaling_hints.scaling_hint(cluster.cache, cluster.cycle(asking).incoming, shapes)


def test_the_smallest_type_that_holds_the_pod() -> None:
    assert hint(pod("p").requesting(cpu="4"))[:2] == ("medium", "")
    assert hint(pod("p").requesting({"nvidia.com/gpu": "1"}))[:2] == ("gpu", "")
    assert hint(pod("p").requesting(cpu="4"))[2] == "a node of type medium would take the pod"


def test_where_no_type_is_large_enough_the_amounts_are_told() -> None:
    found = hint(pod("p").requesting(cpu="64", memory="1Gi"))

    assert found[0] == ""
    assert found[2].startswith("no type of node is large enough: one with 64 of cpu, 1Gi of memory")


def volume_in(zone: str) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    expression = {"key": ZONE, "operator": "In", "values": [zone]}
    term = {"matchExpressions": [expression]}
    claim = {"metadata": {"name": "data", "namespace": "default"}, "spec": {"volumeName": "v"}}
    volume = {
        "metadata": {"name": "v"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}},
    }
    return decode_as(claim, PersistentVolumeClaim), decode_as(volume, PersistentVolume)


def test_a_pod_follows_its_data() -> None:
    """medium is smaller, but large is where the volume is."""
    asking = pod("p").requesting(cpu="4")
    asking.raw["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]

    assert hint(asking, *volume_in("a")) == (
        "large",
        "a",
        "a node of type large in zone a, where its volume data is, would take the pod",
        True,
    )


@pytest.mark.parametrize(("zone", "want"), [("b", "medium"), ("z", "medium")])
def test_a_node_selector_names_the_zone(zone: str, want: str) -> None:
    found = hint(pod("p").requesting(cpu="4").selecting({ZONE: zone}))

    assert found[:2] == (want, zone)


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param([(ZONE, "b")], "b", id="the only term"),
        pytest.param([(ZONE, "b"), (ZONE, "b")], "b", id="the same in every term"),
        pytest.param([(ZONE, "b"), (ZONE, "a")], "", id="one term or the other"),
        pytest.param([(ZONE, "b"), ("disk", "ssd")], "", id="or a term without a zone"),
    ],
)
def test_a_node_affinity_names_the_zone_that_all_of_its_terms_ask_for(
    terms: list[tuple[str, str]], want: str
) -> None:
    asking = pod("p").requesting(cpu="4")
    selector = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
            for key, value in terms
        ]
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": selector}
    asking.raw["spec"]["affinity"] = {"nodeAffinity": required}

    assert hint(asking).zone == want


def test_how_many_nodes_are_needed() -> None:
    cluster = Cluster(*NODES_THERE)
    shapes = scaling_hints.node_shapes(cluster.cache.table)
    waiting = [cluster.cycle(pod(f"p{i}").requesting(cpu="3")).incoming for i in range(5)]

    assert scaling_hints.nodes_to_add(cluster.cache, waiting, shapes) == {("medium", ""): 2}
    assert scaling_hints.nodes_to_add(cluster.cache, [], shapes) == {}


def test_nodes_without_a_type_are_not_counted_for_pods_that_none_of_them_holds() -> None:
    cluster = Cluster(node("untyped").offering(cpu="4"))
    shapes = scaling_hints.node_shapes(cluster.cache.table)
    waiting = [
        cluster.cycle(pod(f"p{i}").requesting(cpu=cpu)).incoming
        for i, cpu in enumerate(("3", "3", "9"))
    ]

    assert scaling_hints.nodes_to_add(cluster.cache, waiting, shapes) == {("", ""): 2 + 1}


def test_pods_without_room_are_told_of_in_an_event_and_a_metric() -> None:
    clock, rng = VirtualClock(1000.0), random.Random(0)
    cluster = MemoryCluster(clock=clock, rng=rng)
    known = built_in_plugins.installed()
    loaded = default_configuration(built_in_plugins.describe_plugins(known))
    cluster.add(NODES, instance("m", "medium", "b", "8").raw)
    cluster.add(PODS, pod("full").requesting(cpu="7").on("m").raw)
    samples: list[tuple[dict[str, str], float]] = []

    async def main() -> None:
        scheduler = assemble(cluster, build_profiles(loaded, known), clock=clock, rng=rng)
        running = asyncio.ensure_future(scheduler.run())
        for number in range(2):
            cluster.add(PODS, pod(f"p{number}").requesting(cpu="6").raw)
        cluster.add(PODS, pod("picky").requesting(cpu="1").selecting({"disk": "none"}).raw)
        await clock.sleep(3.0)
        (family,) = scheduler.feature(ScalingHints).families()
        samples.extend((each.labels, each.value) for each in family.samples)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtual(main(), clock)

    assert samples == [({"instance_type": "medium", "zone": ""}, 2.0)]
    found = (cluster.read(EVENTS, each.namespace, each.name) for each in cluster.objects(EVENTS))
    hints = [each["note"] for each in found if each["reason"] == "ScalingHint"]
    assert hints == ["a node of type medium would take the pod"] * 2
