"""Workloads with claims for devices.

Every node has eight devices, in a pool of its own: GPUs, or, for workloads that need two kinds on
one PCIe root, four GPUs and four NICs. The claims exist before the first pod arrives. Those for
extended resources are created with the decision, and stay in flight.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from moorage.api.decode import decode_as
from moorage.api.meta import KubeObject
from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_slices import DeviceClass, ResourceSlice
from moorage.cache.cache import Cache
from moorage.devices.device_cache import device_cache
from moorage.framework.cycle import Cycle

Raw = dict[str, Any]

CLAIM_KINDS: Final = ("claims", "claims-match", "claims-shared")
EXTENDED: Final = "claims-extended"
DEVICE_KINDS: Final = (*CLAIM_KINDS, EXTENDED)
GPU, NIC = "gpu.example.com", "nic.example.com"
ROOT: Final = "resource.kubernetes.io/pcieRoot"
SHARERS: Final = 8
"""How many pods use a claim that is shared."""
CLASSES: Final = 50
"""The number of extended resources, each with a class of its own; all classes select any GPU."""


def claim_name(kind: str, index: int) -> str:
    """The claim of the index-th pod."""
    return f"claim-{index // SHARERS if kind == 'claims-shared' else index}"


def extended_resource(index: int) -> str:
    """The extended resource that the index-th pod requests."""
    return f"example.com/gpu-{index % CLASSES}"


def device_objects(kind: str, nodes: int, pods: int) -> Iterator[KubeObject]:
    """Classes, slices and claims."""
    for driver in (GPU, NIC):
        yield decode_as(_device_class(driver, driver), DeviceClass)
    if kind == EXTENDED:
        for index in range(CLASSES):
            raw = _device_class(f"class-{index}", GPU)
            raw["spec"]["extendedResourceName"] = extended_resource(index)
            yield decode_as(raw, DeviceClass)
    for index in range(nodes):
        for raw in _slices(kind, f"node-{index}"):
            yield decode_as(raw, ResourceSlice)
    if kind in CLAIM_KINDS:
        for name in dict.fromkeys(claim_name(kind, index) for index in range(pods)):
            yield decode_as(_claim(kind, name), ResourceClaim)


def complete_claims(cache: Cache, cycle: Cycle) -> None:
    """Store the claims that an attempt reserved, as PreBind would."""
    state = cycle.state.get("DynamicResources")
    if state is None:
        return
    tracker = device_cache(cache).claims
    for position, allocation in state.allocations.items():
        claim = state.claims[position]
        if claim is state.extended:
            continue
        status = msgspec.structs.replace(claim.status, allocation=allocation)
        metadata = msgspec.structs.replace(claim.metadata, resource_version="2")
        tracker.assume(msgspec.structs.replace(claim, metadata=metadata, status=status))
        tracker.end_allocation(claim.uid, claim.key)


def _device_class(name: str, driver: str) -> Raw:
    selectors = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
    return {"metadata": {"name": name}, "spec": {"selectors": selectors}}


def _slices(kind: str, node: str) -> Iterator[Raw]:
    both = kind == "claims-match"
    for driver, count in ((GPU, 4), (NIC, 4)) if both else ((GPU, 8),):
        devices = [_device(driver, index) for index in range(count)]
        spec = {
            "driver": driver,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": devices,
        }
        yield {"metadata": {"name": f"{node}-{driver}"}, "spec": spec}


def _device(driver: str, index: int) -> Raw:
    turned = index if driver == GPU else 3 - index
    attributes = {"model": {"string": "a100"}, ROOT: {"string": f"root-{turned}"}}
    return {
        "name": f"dev-{index}",
        "attributes": attributes,
        "capacity": {"memory": {"value": "80Gi"}},
    }


def _claim(kind: str, name: str) -> Raw:
    devices: Raw = {"requests": [_request("gpu", GPU)]}
    if kind == "claims-match":
        devices["requests"].append(_request("nic", NIC))
        devices["constraints"] = [{"matchAttribute": ROOT}]
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"devices": devices}}


def _request(name: str, driver: str) -> Raw:
    selectors = [{"cel": {"expression": f"device.attributes['{driver}'].model == 'a100'"}}]
    exactly = {
        "deviceClassName": driver,
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": selectors,
    }
    return {"name": name, "exactly": exactly}
