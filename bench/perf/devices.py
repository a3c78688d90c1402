"""Claims that are allocated without a pod, as upstream fills a cluster before it measures.

Each claim gets what it asks for on a node chosen at random, found by the search for devices that
Moorage's own plugin uses, and written before the next one is looked for.
"""

import random
import uuid
from collections.abc import Mapping
from typing import Final

import msgspec

from bench.perf.client import Client, Raw, many
from moorage.api.node import Node
from moorage.api.resource_claims import AllocationResult, ResourceClaim
from moorage.devices.allocation import allocation_result, as_status
from moorage.devices.allocator import Allocator
from moorage.devices.claim_tracker import ClaimTracker
from moorage.devices.classes import Classes
from moorage.devices.feature_gates import Features, features_of
from moorage.devices.inventory import Inventory
from moorage.devices.node_pools import PoolIndex
from moorage.watch.api_resources import Resource

GROUP: Final = ("resource.k8s.io", "v1")
CLAIMS: Final = Resource(*GROUP, "resourceclaims", "ResourceClaim", True)
SLICES: Final = Resource(*GROUP, "resourceslices", "ResourceSlice", False)
CLASSES: Final = Resource(*GROUP, "deviceclasses", "DeviceClass", False)
NODES: Final = Resource("", "v1", "nodes", "Node", False)


class DevicesExhausted(Exception):
    """A claim fits on no node."""


class _Devices:
    """The devices of the cluster as they are now, and what is given away from now on."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self.nodes: list[Node] = []
        self._inventory = Inventory()
        self._classes = Classes()
        self.claims = ClaimTracker(self._inventory)
        self._pools = PoolIndex(self._inventory)

    async def read(self, client: Client) -> None:
        self.nodes = list((await client.list(NODES)).items)
        followed = (
            (SLICES, self._inventory.put_slice),
            (CLASSES, self._classes.put),
            (CLAIMS, self.claims.put),
        )
        for resource, put in followed:
            for obj in (await client.list(resource)).items:
                put(obj)

    def allocate(self, claim: ResourceClaim) -> AllocationResult:
        for node in random.sample(self.nodes, len(self.nodes)):
            allocator = Allocator(
                node,
                self._pools.of(node, self._features),
                self.claims.ledger,
                self._classes.get,
                features=self._features,
            )
            found = allocator.allocate([claim])
            if found is not None:
                result = allocation_result(claim, found[0], node.name, lambda: str(uuid.uuid4()))
                status = msgspec.structs.replace(claim.status, allocation=result)
                self.claims.put(msgspec.structs.replace(claim, status=status))
                return result
        raise DevicesExhausted(f"no node has the devices of claim {claim.key}")


async def allocate_claims(client: Client, namespace: str, gates: Mapping[str, bool]) -> None:
    """Allocate every claim of a namespace, or of all, that is not allocated yet."""
    devices = _Devices(features_of(gates))
    await devices.read(client)
    waiting = [
        claim
        for claim in devices.claims.all()
        if claim.status.allocation is None and namespace in ("", claim.namespace)
    ]
    given = [(claim, devices.allocate(claim)) for claim in waiting]

    async def write(index: int) -> None:
        claim, result = given[index]
        await client.patch_status(_reference(claim), {"allocation": as_status(result)})

    await many(len(given), write)


def _reference(claim: ResourceClaim) -> Raw:
    metadata = {"namespace": claim.namespace, "name": claim.name}
    return {"apiVersion": "/".join(GROUP), "kind": "ResourceClaim", "metadata": metadata}
