"""Extended resources that device classes stand for are scored by the devices there are."""

from typing import Any

import msgspec
import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import PodStatus
from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_slices import DeviceClass, ResourceSlice
from moorage.config.plugin_args import ResourceSpec, ScoringStrategy
from moorage.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources.fit import NodeResourcesFit
from moorage.testing import Cluster, PodBuilder, node, pod

GPU = "example.com/gpu"
DRIVER = "gpu.example.com"
FIT, BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"
BY_GPU = (ResourceSpec(GPU, 1),)


def gpu_class(**spec: Any) -> DeviceClass:
    named = {"extendedResourceName": GPU, **spec}
    return decode_as({"metadata": {"name": "gpu"}, "spec": named}, DeviceClass)


def gpus(where: str, count: int) -> ResourceSlice:
    pool = {"name": where, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{index}"} for index in range(count)]
    spec = {"driver": DRIVER, "pool": pool, "nodeName": where, "devices": devices}
    return decode_as({"metadata": {"name": where}, "spec": spec}, ResourceSlice)


def holding(where: str, *devices: int) -> ResourceClaim:
    results = [
        {"request": "r", "driver": DRIVER, "pool": where, "device": f"gpu-{index}"}
        for index in devices
    ]
    metadata = {"name": f"held-{where}", "namespace": "default", "uid": "held"}
    status = {"allocation": {"devices": {"results": results}}}
    return decode_as({"metadata": metadata, "spec": {}, "status": status}, ResourceClaim)


def cluster(*objects: Any, kind: str = "LeastAllocated") -> Cluster:
    fit = NodeResourcesFit(scoring_strategy=ScoringStrategy(kind, BY_GPU))
    evened = NodeResourcesBalancedAllocation(resources=(ResourceSpec("cpu", 1), *BY_GPU))
    nodes = [node(name).offering(cpu="8", memory="16Gi") for name in ("few", "many")]
    slices = gpus("few", 2), gpus("many", 8)
    return Cluster(*nodes, gpu_class(), *slices, *objects, plugins=[fit, evened], alone=True)


def asking(count: int, **more: str) -> PodBuilder:
    return pod("trainer").requesting({GPU: str(count)}, **more)


@pytest.mark.parametrize(
    ("kind", "want"),
    [("LeastAllocated", {"few": 50, "many": 87}), ("MostAllocated", {"few": 50, "many": 12})],
)
def test_nodes_are_scored_by_their_devices(kind: str, want: dict[str, int]) -> None:
    assert cluster(kind=kind).scores(asking(1), FIT) == want


def test_devices_that_claims_hold_count_as_used() -> None:
    made = cluster(holding("many", 0, 1, 2))

    assert made.scores(asking(1), FIT) == {"few": 50, "many": 50}


def test_scores_that_were_kept_follow_the_devices() -> None:
    made = cluster()
    for _ in range(3):
        assert made.scores(asking(1), FIT)["many"] == 87

    made.add(holding("many", 0, 1, 2))

    assert made.scores(asking(1), FIT)["many"] == 50


def test_kept_scores_follow_devices_that_no_node_has_to_itself() -> None:
    made = cluster()
    pool = {"name": "net", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{index}"} for index in range(2)]
    spec = {"driver": DRIVER, "pool": pool, "allNodes": True, "devices": devices}
    made.add(decode_as({"metadata": {"name": "net"}, "spec": spec}, ResourceSlice))
    for _ in range(3):
        assert made.scores(asking(1), FIT) == {"few": 75, "many": 90}

    made.add(holding("net", 0, 1))

    assert made.scores(asking(1), FIT) == {"few": 25, "many": 70}


def test_a_node_that_offers_the_resource_itself_is_scored_by_what_it_offers() -> None:
    made = cluster(node("plugged").offering({GPU: "4"}))

    assert made.scores(asking(1), FIT) == {"few": 50, "many": 87, "plugged": 75}


def test_devices_are_balanced_with_other_resources() -> None:
    assert cluster().scores(asking(1), BALANCED) == {"few": 62, "many": 71}


def test_a_resize_that_is_given_up_leaves_what_devices_stand_for_asked_for() -> None:
    given_up = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    told = asking(1).build()
    status = msgspec.convert({"conditions": [given_up]}, PodStatus)

    asked = Cluster(node("few"), gpu_class(), gpus("few", 2))
    assert asked.place(msgspec.structs.replace(told, status=status)) == "few"


def test_an_amount_beyond_int64_is_balanced_as_go_reads_it() -> None:
    huge = node("huge").offering(cpu="16", memory="9223372036854775808")
    plain = node("plain").offering(cpu="16", memory="16Gi")
    made = Cluster(huge, plain, pod("p").requesting(cpu="2", memory="3Gi").on("huge").build())

    assert made.scores(pod("web").requesting(cpu="1500m", memory="3Gi"), BALANCED)["huge"] == 73
