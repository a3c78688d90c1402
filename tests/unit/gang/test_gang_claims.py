"""Groups whose pods have claims: what is in the way of a group is given up."""

from typing import Any

from moorage.testing import PodBuilder, node
from moorage.watch.api_resources import RESOURCES
from tests.unit.gang.gang_world import GangWorld, Raw, group, members

DRIVER = "gpu.example.com"
DEVICE_API = "resource.k8s.io/v1"
GPU_CLASS: Raw = {
    "apiVersion": DEVICE_API,
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {},
}


def offered(where: str) -> Raw:
    """A node's GPU."""
    return {
        "apiVersion": DEVICE_API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{where}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": where,
            "pool": {"name": where, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}],
        },
    }


def allocated(name: str, where: str, **status: Any) -> Raw:
    """A claim that has the GPU of a node."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    field = {"key": "metadata.name", "operator": "In", "values": [where]}
    result = {"request": "r", "driver": DRIVER, "pool": where, "device": "gpu-0"}
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    return {
        "apiVersion": DEVICE_API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        "status": {"allocation": allocation, **status},
    }


def with_claim(wanted: PodBuilder, claim: str) -> PodBuilder:
    return wanted.with_spec(resourceClaims=[{"name": "c", "resourceClaimName": claim}])


def small_and_large(*objects: Raw, **spec: Any) -> GangWorld:
    """A group of two, one of which has a claim whose device is where there is no room for it."""
    first, second = members("web", 2)
    nodes = node("small").offering(cpu="500m"), node("large").offering(cpu="4")
    slices = offered("small"), offered("large")
    return GangWorld(
        *nodes,
        *slices,
        GPU_CLASS,
        *objects,
        group("web", 2, **spec),
        first,
        with_claim(second, "c"),
    )


def test_an_idle_claim_in_the_way_of_a_group_is_deallocated_and_the_group_runs() -> None:
    world = small_and_large(allocated("c", "small"))

    world.run()

    assert world.bound() == {"web-0": "large", "web-1": "large"}


def test_a_claim_that_somebody_uses_stays_where_it_is() -> None:
    user = {"resource": "pods", "name": "other", "uid": "uid-other"}
    world = small_and_large(allocated("c", "small", reservedFor=[user]))

    world.run()

    assert not world.bound()
    claim = world.cluster.read(RESOURCES["resourceclaims"], "default", "c")
    assert claim["status"]["allocation"]["devices"]["results"][0]["pool"] == "small"
