"""Provisions volumes for claims that no volume suits, as the provisioner of their class would.

Every provisioner except `kubernetes.io/no-provisioner` is assumed to be running. If the class has
WaitForFirstConsumer, the volume is created for the node that the scheduler selected; otherwise for
any node that the class allows. A volume is reachable from all nodes that share the values of its
topology keys. The keys are those of the driver's CSINode, or else those of the class's
allowedTopologies. Without either, the volume is reachable from every node. Provisioning needs
CSIStorageCapacity, where the driver publishes it, and reduces it. If the capacity is used up, the
claim is returned to the scheduler.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from moorage.api import quantity, selectors
from moorage.api.node import Node
from moorage.api.storage import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.memory import updates
from moorage.memory.cluster_resources import CLAIMS, STORAGE_CLASSES, VOLUMES
from moorage.memory.controllers import volume_binder
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.versioned_store import Record
from moorage.plugins.volumes.persistent_volumes import SELECTED_NODE, claim_class
from moorage.watch.api_resources import NODES, RESOURCES, Resource
from moorage.watch.api_server import Raw

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
_CAPACITIES: Final = RESOURCES["csistoragecapacities"]
_CSI_NODES: Final = RESOURCES["csinodes"]
_DRIVERS: Final = RESOURCES["csidrivers"]


class VolumeProvisioner:
    """Provisions volumes."""

    watches = (CLAIMS, STORAGE_CLASSES, NODES, _CAPACITIES)

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        if resource == CLAIMS:
            yield record.entry.key
        elif record.type != "DELETED" and (resource != NODES or record.type == "ADDED"):
            for key, entry in self._client.store.table(CLAIMS).entries.items():
                if not entry.raw["spec"].get("volumeName"):
                    yield key

    def reconcile(self, key: str) -> None:
        entry = self._client.store.table(CLAIMS).entries.get(key)
        if entry is None or not isinstance(entry.view, PersistentVolumeClaim):
            return
        claim = entry.view
        storage_class = self._class_of(claim)
        if storage_class is None or not self._is_wanted(claim, storage_class):
            return
        selected = claim.annotations.get(SELECTED_NODE, "")
        for node in self._candidates(storage_class, selected):
            pool = self._pool(storage_class, node, claim)
            if pool is not False:
                self._provision(claim, storage_class, node, pool)
                return
        if selected:
            self._give_back(claim)

    def _class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        entry = self._client.store.table(STORAGE_CLASSES).entries.get(claim_class(claim))
        return entry.view if entry is not None and isinstance(entry.view, StorageClass) else None

    def _is_wanted(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> bool:
        if claim.spec.volume_name or claim.metadata.deletion_timestamp is not None:
            return False
        if claim.spec.selector is not None or storage_class.provisioner in ("", NO_PROVISIONER):
            return False
        if self._client.find(VOLUMES, _volume_name(claim)) is not None:
            return False
        return not volume_binder.waits_for_consumer(self._client, claim)

    def _candidates(self, storage_class: StorageClass, selected: str) -> Iterator[Node | None]:
        """Nodes that the volume may be created for, in order; None if it needs no node."""
        nodes = self._client.store.table(NODES)
        if selected:
            entry = nodes.entries.get(selected)
            if entry is not None and isinstance(entry.view, Node):
                yield entry.view
            return
        if not storage_class.allowed_topologies and not self._tracks(storage_class):
            topologies = self._keys(storage_class, None)
            if not topologies:
                yield None
                return
        for entry in nodes.in_order():
            if isinstance(entry.view, Node) and _is_allowed(storage_class, entry.view):
                yield entry.view

    def _keys(self, storage_class: StorageClass, node: Node | None) -> tuple[str, ...]:
        """The topology keys of volumes of a class."""
        names = [node.name] if node is not None else [*self._client.store.table(_CSI_NODES).entries]
        for name in names:
            entry = self._client.store.table(_CSI_NODES).entries.get(name)
            if entry is None or not isinstance(entry.view, CSINode):
                continue
            for driver in entry.view.spec.drivers:
                if driver.name == storage_class.provisioner and driver.topology_keys:
                    return driver.topology_keys
        terms = storage_class.allowed_topologies
        keys = (each.key for term in terms for each in term.match_label_expressions)
        return tuple(dict.fromkeys(keys))

    def _tracks(self, storage_class: StorageClass) -> bool:
        driver = self._client.find(_DRIVERS, storage_class.provisioner)
        return driver is not None and bool((driver.get("spec") or {}).get("storageCapacity"))

    def _pool(
        self, storage_class: StorageClass, node: Node | None, claim: PersistentVolumeClaim
    ) -> CSIStorageCapacity | bool | None:
        """The capacity to draw from; None: the driver publishes none, False: none suffices."""
        if node is None or not self._tracks(storage_class):
            return None
        size = volume_binder.requested(claim)
        for entry in self._client.store.table(_CAPACITIES).in_order():
            pool = entry.view
            if isinstance(pool, CSIStorageCapacity) and (
                pool.storage_class_name == storage_class.name
                and selectors.matches_labels(pool.node_topology, node.labels)
                and quantity.value(pool.maximum_volume_size or pool.capacity or "0") >= size
                and quantity.value(pool.capacity or "0") >= size
            ):
                return pool
        return False

    def _provision(
        self,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass,
        node: Node | None,
        pool: CSIStorageCapacity | bool | None,
    ) -> None:
        keys = () if node is None else self._keys(storage_class, node)
        here = {key: node.labels[key] for key in keys if node is not None and key in node.labels}
        policy = self._client.find(STORAGE_CLASSES, storage_class.name) or {}
        volume = _volume(claim, storage_class, here, policy.get("reclaimPolicy") or "Delete")
        made = self._client.create(VOLUMES, volume, f"PersistentVolumeClaim {claim.key}")
        if made and isinstance(pool, CSIStorageCapacity):
            left = quantity.value(pool.capacity or "0") - volume_binder.requested(claim)
            self._patch(_CAPACITIES, pool.namespace, pool.name, {"capacity": str(left)})

    def _give_back(self, claim: PersistentVolumeClaim) -> None:
        """Remove the selected-node annotation, so that the scheduler chooses another node."""
        undone = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        self._patch(CLAIMS, claim.namespace, claim.name, undone)

    def _patch(self, resource: Resource, namespace: str, name: str, change: Raw) -> None:
        registry = self._client.cluster.registry
        updates.patch_object(registry, resource, namespace, name, change, "", "merge")


def _is_allowed(storage_class: StorageClass, node: Node) -> bool:
    """Whether a node is within the topologies that a class allows."""
    terms = storage_class.allowed_topologies
    return not terms or any(
        all(node.labels.get(each.key) in each.values for each in term.match_label_expressions)
        for term in terms
    )


def _volume_name(claim: PersistentVolumeClaim) -> str:
    return f"pvc-{claim.uid}"


def _volume(
    claim: PersistentVolumeClaim, storage_class: StorageClass, here: dict[str, str], policy: str
) -> Raw:
    name = _volume_name(claim)
    spec: Raw = {
        "capacity": {"storage": claim.spec.resources.requests.get("storage") or "0"},
        "accessModes": list(claim.spec.access_modes),
        "storageClassName": storage_class.name,
        "volumeMode": claim.spec.volume_mode or "Filesystem",
        "persistentVolumeReclaimPolicy": policy,
        "csi": {"driver": storage_class.provisioner, "volumeHandle": name},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        },
    }
    if here:
        expressions = [{"key": k, "operator": "In", "values": [v]} for k, v in here.items()]
        terms = [{"matchExpressions": expressions}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "annotations": {PROVISIONED_BY: storage_class.provisioner},
        },
        "spec": spec,
    }
