"""The PersistentVolume controller: binds claims to existing volumes.

1. A volume without a claim is Available; one whose claim is gone is Released, and deleted if its
   reclaim policy says so.
2. A claim that names a volume, or that a volume names in its claimRef, can bind to that volume
   only.
3. Any other claim binds to the smallest suitable volume. If the claim's class has
   WaitForFirstConsumer, the scheduler chooses the volume instead, and the binder completes the
   binding that the scheduler wrote.
"""

from collections.abc import Iterable, Iterator

from moorage.api import quantity, selectors
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.memory import updates
from moorage.memory.cluster_resources import CLAIMS, STORAGE_CLASSES, VOLUMES
from moorage.memory.controllers.controller_manager import ControllerClient
from moorage.memory.versioned_store import Record
from moorage.plugins.volumes.persistent_volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    is_bound,
    is_kept_for,
    volume_class,
)
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Raw

_ALL_CLAIMS = "*"


def waits_for_consumer(client: ControllerClient, claim: PersistentVolumeClaim) -> bool:
    """Whether the class has WaitForFirstConsumer and the scheduler has not selected a node yet."""
    found = client.find(STORAGE_CLASSES, claim_class(claim))
    delayed = found is not None and found.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER
    return delayed and SELECTED_NODE not in claim.annotations


class VolumeBinder:
    """Binds claims to existing volumes."""

    watches = (VOLUMES, CLAIMS, STORAGE_CLASSES)

    def __init__(self, client: ControllerClient) -> None:
        self._client = client

    def concerned(self, resource: Resource, record: Record) -> Iterable[str]:
        if resource == CLAIMS:
            yield f"claim:{record.entry.key}"
            volume = record.entry.raw["spec"].get("volumeName")
            if volume and record.type == "DELETED":
                yield f"volume:{volume}"
        elif resource == VOLUMES:
            yield f"volume:{record.entry.key}"
            ref = record.entry.raw["spec"].get("claimRef")
            if ref:
                yield f"claim:{ref.get('namespace')}/{ref.get('name')}"
            else:
                yield _ALL_CLAIMS
        else:
            yield _ALL_CLAIMS

    def reconcile(self, key: str) -> None:
        if key == _ALL_CLAIMS:
            for entry in self._client.store.table(CLAIMS).in_order():
                self._sync_claim(entry.view)
            return
        kind, _, name = key.partition(":")
        resource = CLAIMS if kind == "claim" else VOLUMES
        found = self._client.store.table(resource).entries.get(name)
        if found is not None:
            sync = self._sync_claim if kind == "claim" else self._sync_volume
            sync(found.view)

    def _sync_volume(self, volume: object) -> None:
        assert isinstance(volume, PersistentVolume)
        ref = volume.spec.claim_ref
        if ref is None or not ref.uid:
            self._phase(volume, "Available")
            return
        claim = self._client.find(CLAIMS, f"{ref.namespace}/{ref.name}")
        if claim is not None and claim["metadata"]["uid"] == ref.uid:
            return
        raw = self._client.find(VOLUMES, volume.name)
        if raw is not None and raw["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._client.delete(VOLUMES, raw)
        else:
            self._phase(volume, "Released")

    def _sync_claim(self, claim: object) -> None:
        assert isinstance(claim, PersistentVolumeClaim)
        if claim.metadata.deletion_timestamp is not None:
            return
        if is_bound(claim) and claim.status.phase == "Bound":
            return
        volume = self._volume_for(claim)
        if volume is not None:
            self._bind(volume, claim)

    def _volume_for(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        if claim.spec.volume_name:
            return self._named(claim)
        kept = next((each for each in self._volumes() if is_kept_for(each, claim)), None)
        if kept is not None:
            return kept if kept.spec.claim_ref and _suits(kept, claim) else None
        if waits_for_consumer(self._client, claim):
            return None
        suiting = [each for each in self._volumes() if _is_free(each) and _suits(each, claim)]
        return min(suiting, key=lambda each: (_capacity(each), each.name), default=None)

    def _named(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """The volume that the claim names, unless another claim has it."""
        entry = self._client.store.table(VOLUMES).entries.get(claim.spec.volume_name)
        if entry is None or not isinstance(entry.view, PersistentVolume):
            return None
        if is_kept_for(entry.view, claim):
            return entry.view
        free = entry.view.spec.claim_ref is None
        return entry.view if free and _suits(entry.view, claim) else None

    def _volumes(self) -> Iterator[PersistentVolume]:
        for entry in self._client.store.table(VOLUMES).entries.values():
            if isinstance(entry.view, PersistentVolume):
                yield entry.view

    def _bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        chosen = not is_kept_for(volume, claim)
        ours = {BOUND_BY_CONTROLLER: "yes"} if chosen else {}
        ref = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        }
        self._patch(VOLUMES, volume, {"metadata": {"annotations": ours}, "spec": {"claimRef": ref}})
        self._phase(volume, "Bound")
        noted = {BIND_COMPLETED: "yes", **({} if claim.spec.volume_name else ours)}
        self._patch(
            CLAIMS,
            claim,
            {"metadata": {"annotations": noted}, "spec": {"volumeName": volume.name}},
        )
        status = {
            "phase": "Bound",
            "accessModes": list(volume.spec.access_modes),
            "capacity": dict(volume.spec.capacity),
        }
        self._patch(CLAIMS, claim, {"status": status}, "status")

    def _phase(self, volume: PersistentVolume, phase: str) -> None:
        if volume.status.phase != phase:
            self._patch(VOLUMES, volume, {"status": {"phase": phase}}, "status")

    def _patch(
        self,
        resource: Resource,
        about: PersistentVolume | PersistentVolumeClaim,
        change: Raw,
        subresource: str = "",
    ) -> None:
        registry = self._client.cluster.registry
        where = (resource, about.namespace, about.name)
        updates.patch_object(registry, *where, change, subresource, "merge")


def _is_free(volume: PersistentVolume) -> bool:
    return volume.spec.claim_ref is None and volume.metadata.deletion_timestamp is None


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume satisfies a claim's request."""
    want = claim.spec
    if (volume.spec.volume_mode or "Filesystem") != (want.volume_mode or "Filesystem"):
        return False
    if volume_class(volume) != claim_class(claim):
        return False
    if not set(want.access_modes) <= set(volume.spec.access_modes):
        return False
    if want.selector is not None and not selectors.matches_labels(want.selector, volume.labels):
        return False
    return _capacity(volume) >= requested(claim)


def _capacity(volume: PersistentVolume) -> int:
    return quantity.value(volume.spec.capacity.get("storage") or "0")


def requested(claim: PersistentVolumeClaim) -> int:
    """The bytes that a claim requests."""
    return quantity.value(claim.spec.resources.requests.get("storage") or "0")
