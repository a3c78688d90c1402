"""Storage for the tests, and a stand-in for the two that look after it in a real cluster.

The volume controller completes what a scheduler began: a volume that names a claim becomes the
claim's. The provisioner makes a volume where a claim says that its pod will run, or gives the claim
back where it cannot.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

from tests.integration.harness import Running
from tests.integration.making import Raw

ZONE = "topology.kubernetes.io/zone"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "disks.example.com"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CAPACITIES = "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities"
LOOK_SECONDS = 0.05


class Controllers:
    """What kube-controller-manager and a provisioner do; `full` are zones without room."""

    def __init__(self, under_test: Running, full: Iterable[str] = ()) -> None:
        self._request = under_test.request
        self._full = set(full)
        self.provisioned: dict[str, str] = {}
        """Claims that a volume was made for, and the node that was asked for."""
        self.given_back: list[str] = []

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator["Controllers"]:
        """Look after volumes and claims for as long as this lasts."""
        task = asyncio.ensure_future(self._work())
        try:
            yield self
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            claims = {
                claim["metadata"]["uid"]: claim
                for claim in (await self._request("GET", CLAIMS))["items"]
            }
            for found in (await self._request("GET", VOLUMES))["items"]:
                await self._look_after(found, claims)
            for found in claims.values():
                await self._provision(found)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look_after(self, found: Raw, claims: dict[str, Raw]) -> None:
        name, ref = found["metadata"]["name"], found["spec"].get("claimRef", {})
        mine = claims.get(ref.get("uid", ""))
        if mine is not None and not mine["spec"].get("volumeName"):
            await self._complete(name, mine)
        elif not ref and found["status"].get("phase") != "Available":
            await self._phase(f"{VOLUMES}/{name}", "Available")

    async def _complete(self, name: str, mine: Raw) -> None:
        where = f"{CLAIMS}/{mine['metadata']['name']}"
        done = {"pv.kubernetes.io/bind-completed": "yes"}
        patch = {"metadata": {"annotations": done}, "spec": {"volumeName": name}}
        await self._phase(f"{VOLUMES}/{name}", "Bound")
        await self._phase(where, "Bound")
        await self._request("PATCH", where, patch)

    async def _provision(self, found: Raw) -> None:
        node = found["metadata"].get("annotations", {}).get(SELECTED_NODE)
        name, uid = found["metadata"]["name"], found["metadata"]["uid"]
        made = f"pvc-{uid}"
        if not node or found["spec"].get("volumeName") or name in self.provisioned:
            return
        zone = (await self._request("GET", f"/api/v1/nodes/{node}"))["metadata"]["labels"][ZONE]
        if zone in self._full:
            await self._give_back(name, zone)
            return
        self.provisioned[name] = node
        ref = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": uid}
        await self._request(
            "POST", VOLUMES, volume(made, found["spec"]["storageClassName"], zone, claimRef=ref)
        )

    async def _give_back(self, name: str, zone: str) -> None:
        """As a provisioner does that has just found out that a zone is full."""
        self.given_back.append(name)
        await self._request("PATCH", f"{CAPACITIES}/{zone}", {"capacity": "0"})
        undone = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        await self._request("PATCH", f"{CLAIMS}/{name}", undone)

    async def _phase(self, where: str, phase: str) -> None:
        await self._request("PATCH", f"{where}/status", {"status": {"phase": phase}})


def storage_class(name: str, provisioner: str, mode: str = "WaitForFirstConsumer") -> Raw:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def volume(name: str, of: str, zone: str, **spec: Any) -> Raw:
    """A volume that can be reached in one zone only."""
    expression = {"key": ZONE, "operator": "In", "values": [zone]}
    terms = [{"matchExpressions": [expression]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": of,
            "csi": {"driver": PROVISIONER, "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            **spec,
        },
    }


def claim(name: str, of: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": of,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def mounting(*claims: str) -> list[Raw]:
    """A pod's volumes."""
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def driver() -> Raw:
    """The provisioner, which says how much room there is."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": PROVISIONER},
        "spec": {"storageCapacity": True},
    }


def capacity(zone: str, of: str, size: str) -> Raw:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": zone, "namespace": "default"},
        "storageClassName": of,
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "capacity": size,
    }
