"""Pods with GPUs are packed, on the node and in the NUMA domains they fit best."""

import asyncio
from typing import Any

import pytest

from moorage.feeds.node_resource_topology import TopologyReader, TopologyZones, zones_from_list
from moorage.policies.gpu.devices.annotations import DEVICES, MILLI, NODE
from moorage.policies.gpu.gpu_packing import NO_DOMAIN as PACKED_NO_DOMAIN
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.policies.gpu.gpu_topology import NO_DOMAIN, TOO_SMALL, GPUTopology
from moorage.testing import Cluster, NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_errors import NotFound
from tests.unit.feeds.fakes import FakeServer
from tests.unit.feeds.scheduling import scheduled_after
from tests.unit.policies import waking
from tests.unit.policies.asking import refusals, scores, world

GPU = "nvidia.com/gpu"
PER_NUMA = "moorage.io/gpus-per-numa"


def training(count: int, name: str = "t") -> PodBuilder:
    return pod(name).requesting({GPU: str(count)}, cpu="100m")


def strict(count: int) -> PodBuilder:
    return training(count).annotated({"moorage.io/gpu-topology": "same-numa"})


def box(name: str, count: int, per_numa: int = 0) -> NodeBuilder:
    offering = node(name).offering({GPU: str(count)})
    return offering.labelled({PER_NUMA: str(per_numa)}) if per_numa else offering


def test_the_node_that_is_filled_up_is_best() -> None:
    cluster = world(
        GPUTopology(numa_weight=0),
        box("empty", 8),
        box("half", 8),
        box("full", 8),
        node("plain"),
        training(4, "x").on("half"),
        training(7, "y").on("full"),
    )

    assert scores(cluster, training(2)) == {"empty": 25, "full": 0, "half": 75, "plain": 0}
    assert scores(cluster, training(4))["half"] == 100


@pytest.mark.parametrize(
    ("count", "in_use", "aligned"),
    [
        pytest.param(2, 0, True, id="two GPUs fit in one of two free domains"),
        pytest.param(4, 0, True, id="four fill one"),
        pytest.param(4, 1, True, id="the other domain is whole when the first is started"),
        pytest.param(4, 5, False, id="three left of one domain are too few for four"),
        pytest.param(3, 5, True, id="but hold three"),
        pytest.param(2, 3, True, id="two go to the domain that nobody has started"),
        pytest.param(6, 0, True, id="six need two domains, and have them"),
        pytest.param(8, 0, True, id="eight fill both"),
        pytest.param(6, 2, True, id="six are two whole domains less two"),
    ],
)
def test_how_many_domains_a_pod_needs(count: int, in_use: int, aligned: bool) -> None:
    plugin = GPUTopology(numa_weight=100)
    cluster = world(plugin, box("a", 8, per_numa=4))
    if in_use:
        cluster.add(training(in_use, "x").on("a"))

    assert scores(cluster, training(count)) == {"a": 100 if aligned else 0}


def test_alignment_counts_30_hundredths() -> None:
    cluster = world(
        GPUTopology(),
        box("split", 8, per_numa=4),
        box("whole", 8, per_numa=8),
        training(6, "x").on("split"),
        training(6, "y").on("whole"),
        box("broken", 8, per_numa=4),
        training(3, "z").on("broken"),
        training(1, "w").on("broken"),
    )

    assert scores(cluster, training(2)) == {"broken": 82, "split": 100, "whole": 100}


def test_a_strict_pod_is_kept_off_nodes_where_its_gpus_would_be_split() -> None:
    cluster = world(
        GPUTopology(),
        box("free", 8, per_numa=4),
        box("used", 8, per_numa=4),
        box("small", 8, per_numa=2),
        box("unlabelled", 8),
        training(5, "x").on("used"),
    )

    assert refusals(cluster, strict(4)) == {"small": TOO_SMALL, "used": NO_DOMAIN}
    assert refusals(cluster, training(4)) == {}
    assert refusals(cluster, pod("web").annotated({"moorage.io/gpu-topology": "same-numa"})) == {}


def test_a_pod_without_gpus_is_not_concerned() -> None:
    cluster = world(GPUTopology(), box("a", 8), node("b"))

    assert scores(cluster, pod("web").requesting(cpu="1")) == {"a": 0, "b": 0}


def test_small_pods_leave_whole_nodes_to_large_ones() -> None:
    cluster = Cluster(box("a", 8), box("b", 8), box("c", 8), plugins=[GPUTopology()], alone=True)

    small = {cluster.place(training(1, f"s{i}")) for i in range(8)}

    assert len(small) == 1
    large = [cluster.place(training(8, f"l{i}")) for i in range(2)]
    assert {*large, *small} == {"a", "b", "c"}


def test_domains_are_accounted_for_as_they_are_occupied() -> None:
    """Six of eight in use leave two free: in one domain, or one in each."""
    plugin = GPUTopology()
    together = world(plugin, box("a", 8, per_numa=4))
    apart = world(GPUTopology(), box("a", 8, per_numa=4))
    for name, count in (("x", 4), ("y", 2)):
        together.add(training(count, name).on("a"))
    for name, count in (("x", 3), ("y", 3)):
        apart.add(training(count, name).on("a"))

    assert refusals(together, strict(2)) == {}
    assert refusals(apart, strict(2)) == {"a": NO_DOMAIN}


def test_a_pod_gives_back_what_it_took() -> None:
    """Handed out in order, one GPU would seem to be left in each domain."""
    cluster = world(GPUTopology(), box("a", 8, per_numa=4))
    first, second = training(3, "x").on("a"), training(4, "y").on("a")
    cluster.add(first)
    assert refusals(cluster, strict(4)) == {}
    cluster.add(second)
    assert refusals(cluster, strict(2)) == {"a": NO_DOMAIN}

    cluster.cache.remove_pod(first.build().uid)

    assert refusals(cluster, strict(4)) == {}
    assert refusals(cluster, strict(5)) == {"a": TOO_SMALL}


def holding(name: str, devices: str, milli: int = 1000, where: str = "a") -> PodBuilder:
    """A bound pod whose annotations say which devices it holds."""
    count = devices.count("-") + 1
    said = {DEVICES: devices, MILLI: str(milli), NODE: where}
    asked = {"alibabacloud.com/gpu-count": str(count), "alibabacloud.com/gpu-milli": str(milli)}
    return pod(name).requesting(cpu="100m").annotated({**said, **asked}).on(where)


def shared_box(name: str, links: str = "") -> NodeBuilder:
    """Eight GPUs in two NUMA domains, which a device plugin hands out as it is told."""
    offering = node(name).offering({"alibabacloud.com/gpu-count": "8"})
    made = offering.labelled({PER_NUMA: "4"})
    return made.annotated({"moorage.io/gpu-nvlink": links}) if links else made


def wanting(how: str, count: int, name: str = "t") -> PodBuilder:
    asked = {"alibabacloud.com/gpu-count": str(count), "moorage.io/gpu-topology": how}
    return pod(name).requesting(cpu="100m").annotated(asked)


def test_domains_are_occupied_by_the_devices_that_pods_really_hold() -> None:
    """Handed out in order both pods would be in the first domain, and the second one whole."""
    apart = world(GPUTopology(), shared_box("a"), holding("x", "0"), holding("y", "5"))
    together = world(GPUTopology(), shared_box("a"), holding("x", "4"), holding("y", "6"))

    assert refusals(apart, wanting("same-numa", 4)) == {"a": NO_DOMAIN}
    assert refusals(apart, wanting("same-numa", 3)) == {}
    assert refusals(together, wanting("same-numa", 4)) == {}


def test_a_part_of_a_device_occupies_it_for_whole_ones() -> None:
    cluster = world(GPUTopology(), shared_box("a"), holding("x", "1", 300), holding("y", "7", 300))

    assert refusals(cluster, wanting("same-numa", 4)) == {"a": NO_DOMAIN}


def test_links_are_domains_of_their_own() -> None:
    """Two islands across the NUMA domains: even and odd devices."""
    cluster = world(GPUTopology(), shared_box("a", "0,1,0,1,0,1,0,1"))
    for name, device in (("x", "0"), ("y", "2")):
        cluster.add(holding(name, device))

    assert refusals(cluster, wanting("same-nvlink", 4)) == {}
    assert refusals(cluster, wanting("same-numa", 4)) == {}
    cluster.add(holding("z", "1"))
    assert refusals(cluster, wanting("same-nvlink", 4)) == {"a": NO_DOMAIN}
    assert refusals(cluster, wanting("same-numa", 4)) == {}
    assert refusals(cluster, wanting("same-nvlink", 5)) == {"a": TOO_SMALL}


def test_what_is_preferred_counts_in_the_score_and_keeps_nobody_off() -> None:
    cluster = world(GPUTopology(numa_weight=100), shared_box("apart"), shared_box("whole"))
    for name, device in (("x", "0"), ("y", "4")):
        cluster.add(holding(name, device, where="apart"))
    cluster.add(holding("z", "0-1", where="whole"))

    assert refusals(cluster, wanting("prefer-same-numa", 4)) == {}
    assert scores(cluster, wanting("prefer-same-numa", 4)) == {"apart": 0, "whole": 100}
    assert scores(cluster, wanting("prefer-same-nvlink", 4)) == {"apart": 100, "whole": 100}


def test_packing_goes_where_gpus_lie_together_if_that_is_preferred() -> None:
    """Without the preference the fuller node is better packed."""
    cluster = world(GPUPacking(), shared_box("apart"), shared_box("whole"))
    for name, devices in (("x", "0"), ("y", "4"), ("v", "1")):
        cluster.add(holding(name, devices, where="apart"))
    cluster.add(holding("z", "0-1", where="whole"))

    assert scores(cluster, wanting("", 4))["apart"] == 100
    assert scores(cluster, wanting("prefer-same-numa", 4))["whole"] == 100
    assert refusals(cluster, wanting("prefer-same-numa", 4)) == {}
    assert refusals(cluster, wanting("same-numa", 4)) == {"apart": PACKED_NO_DOMAIN}


def reported(*free: int) -> TopologyZones:
    zones = [
        {"name": f"node-{i}", "type": "Node", "resources": [{"name": GPU, "available": str(count)}]}
        for i, count in enumerate(free)
    ]
    return zones_from_list({"items": [{"metadata": {"name": "a"}, "zones": zones}]})


def test_what_is_served_goes_before_what_is_worked_out() -> None:
    cluster = world(GPUTopology(), box("a", 8, per_numa=4), training(4, "x").on("a"))
    assert refusals(cluster, strict(4)) == {}

    reported(2, 2).write(cluster.profile.shared)
    assert refusals(cluster, strict(4)) == {"a": NO_DOMAIN}
    assert refusals(cluster, strict(2)) == {}

    cluster.add(training(1, "late").on("a"))
    cluster.add(training(1, "later").on("a"))
    assert refusals(cluster, strict(2)) == {}
    cluster.add(training(1, "last").on("a"))
    assert refusals(cluster, strict(2)) == {"a": NO_DOMAIN}

    reported(4, 0).write(cluster.profile.shared)
    assert refusals(cluster, strict(4)) == {}


def test_a_pod_refused_by_a_report_is_tried_again_at_the_next() -> None:
    """No pod leaves in between: the kubelet says later than the API server what is free."""
    found = scheduled_after(
        reported(2, 2),
        reported(4, 2),
        plugin="GPUTopology",
        on=box("a", 8, per_numa=4),
        asking=strict(4),
    )

    assert found == {"before": "", "after": "a"}


@pytest.mark.parametrize("plugin", ["GPUTopology", "GPUPacking"])
def test_a_pod_that_no_longer_insists_on_one_domain_is_tried_again(plugin: str) -> None:
    content = strict(6)
    content.raw["metadata"]["annotations"] = {"moorage.io/gpu-topology": "prefer-same-numa"}
    there: list[waking.Object] = [box("a", 8, per_numa=4), strict(6)]

    assert waking.places("t", plugin, {}, there, content) == ["", "a"]


def test_pods_that_came_after_a_report_take_what_their_devices_are_of() -> None:
    cluster = world(GPUTopology(), shared_box("a"))
    reported(3, 4).write(cluster.profile.shared)
    assert refusals(cluster, wanting("same-numa", 4)) == {}
    cluster.add(holding("late", "6"))

    assert refusals(cluster, wanting("same-numa", 4)) == {"a": NO_DOMAIN}
    assert refusals(cluster, wanting("same-numa", 3)) == {}
    cluster.cache.remove_pod(holding("late", "6").build().uid)
    assert refusals(cluster, wanting("same-numa", 4)) == {}


def test_zones_are_in_the_order_of_their_numbers_and_tell_their_size() -> None:
    resources = [{"name": GPU, "available": "1", "allocatable": "2"}]
    zones = [
        {"name": f"node-{i}", "type": "Node", "resources": resources * (i + 1)} for i in (1, 0)
    ]
    found = zones_from_list({"items": [{"metadata": {"name": "a"}, "zones": zones}]}).found["a"]
    assert found.allocatable == ({GPU: 2}, {GPU: 2})

    cluster = world(GPUTopology(), box("a", 4))
    zones_from_list({"items": [{"metadata": {"name": "a"}, "zones": zones}]}).write(
        cluster.profile.shared
    )
    assert refusals(cluster, strict(3)) == {"a": TOO_SMALL}
    assert refusals(cluster, strict(2)) == {"a": NO_DOMAIN}


def test_resources_that_are_no_devices_are_handed_out() -> None:
    mig = "nvidia.com/mig-1g.5gb"
    there = node("a").offering({mig: "8"}).labelled({PER_NUMA: "4"})
    plugin = GPUTopology(resource_names=("nvidia.com/mig-*",))
    cluster = world(plugin, there, pod("x").requesting({mig: "5"}, cpu="1").on("a"))
    asked = pod("t").requesting({mig: "4"}, cpu="1")

    assert refusals(cluster, asked.annotated({"moorage.io/gpu-topology": "same-numa"})) == {
        "a": NO_DOMAIN
    }


def test_a_node_that_was_replaced_is_looked_at_anew() -> None:
    cluster = world(GPUTopology(), box("a", 8, per_numa=4), training(7, "x").on("a"))
    assert refusals(cluster, strict(2)) == {"a": NO_DOMAIN}

    cluster.add(box("a", 16, per_numa=8))

    assert refusals(cluster, strict(8)) == {}
    assert refusals(cluster, strict(9)) == {"a": TOO_SMALL}


@pytest.mark.parametrize(
    "zone",
    [
        pytest.param({"resources": [{"name": GPU, "available": "many"}]}, id="no amount"),
        pytest.param({"resources": [{"name": GPU, "available": "9" * 5_000}]}, id="5,000 digits"),
        pytest.param({"resources": 7}, id="another shape"),
    ],
)
def test_a_topology_that_cannot_be_read_is_left_out_alone(zone: dict[str, Any]) -> None:
    good = {"name": "node-0", "type": "Node", "resources": [{"name": GPU, "available": "2"}]}
    odd = {"name": "node-" + "9" * 5_000, "type": "Node", **zone}
    items = [
        {"metadata": {"name": "bad"}, "zones": [odd]},
        {"metadata": {"name": "good"}, "zones": [{**good, "name": "node-²"}, good]},
    ]

    assert list(zones_from_list({"items": items}).found) == ["good"]


def test_where_topologies_are_not_served_there_is_nothing_to_read() -> None:
    server = FakeServer(NotFound("no such resource"))

    found = asyncio.run(TopologyReader(server).read())  # type: ignore[arg-type]

    assert found.found == {}
