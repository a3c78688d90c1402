"""Volumes, claims and capacities, with the changes assumed by Reserve laid over them.

One cache serves all attempts of a profile.
"""

from collections.abc import Iterator
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np

from moorage.api import quantity, selectors
from moorage.api.label_requirements import SelectorError
from moorage.api.meta import LabelSelector
from moorage.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from moorage.cache.object_store import ObjectStore
from moorage.framework.cycle import Cycle
from moorage.plugins.volume_binding.available_volumes import (
    NO_VOLUMES,
    AvailableVolumes,
    VolumeEntry,
    volume_entry,
)
from moorage.plugins.volumes.object_changes import ObjectTracker
from moorage.plugins.volumes.persistent_volumes import is_kept_for, volume_class
from moorage.plugins.volumes.volume_affinity import Reach, ReachIndex

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class OutOfSyncError(Exception):
    """The object to assume is not a change of the known version."""


class AssumeCache(Generic[T]):
    """Assumed objects over known ones. An assumption is dropped if the resourceVersion changes."""

    def __init__(self, kind: type[T]) -> None:
        self._kind: type[T] = kind
        self._assumed: dict[str, T] = {}

    def get(self, objects: ObjectStore, name: str, namespace: str = "") -> T | None:
        known = objects.get(self._kind, name, namespace)
        return None if known is None else self.over(known)

    def over(self, known: T) -> T:
        """The assumed version of a known object, or the object itself."""
        assumed = self._assumed.get(known.key)
        if assumed is None:
            return known
        if _version(assumed) != _version(known):
            del self._assumed[known.key]
            return known
        return assumed

    def assume(self, objects: ObjectStore, changed: T) -> None:
        known = objects.get(self._kind, changed.name, changed.namespace)
        if known is None or _version(known) != _version(changed):
            stored = "gone" if known is None else _version(known)
            raise OutOfSyncError(
                f'"{changed.key}" is out of sync (stored: {stored}, assume: {_version(changed)})'
            )
        self._assumed[changed.key] = changed

    def restore(self, changed: T) -> None:
        """Undo an assumption, unless the object has another version by now."""
        assumed = self._assumed.get(changed.key)
        if assumed is not None and _version(assumed) == _version(changed):
            del self._assumed[changed.key]

    def all(self, objects: ObjectStore) -> list[T]:
        """All objects that are assumed now."""
        for key, assumed in list(self._assumed.items()):
            known = objects.get(self._kind, assumed.name, assumed.namespace)
            if known is None or _version(known) != _version(assumed):
                del self._assumed[key]
        return list(self._assumed.values())


def _version(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return obj.metadata.resource_version


VOLUME_CACHE: Final = "VolumeBinding"
"""Key in `cycle.shared` of the `VolumeCache`."""


class StoragePool(NamedTuple):
    """Storage that some nodes can reach; sizes in bytes."""

    limit: int
    """Size of the largest volume that can be provisioned from it."""
    capacity: int
    reach: Reach


class StoragePools:
    """The storage pools of a class."""

    def __init__(self, pools: list[StoragePool]) -> None:
        self.offers = ReachIndex([pool.reach for pool in pools])
        self.limits = np.array([pool.limit for pool in pools], dtype=np.int64)
        self.capacities = np.array([pool.capacity for pool in pools], dtype=np.int64)


class VolumeCache:
    """Unclaimed volumes by class, volumes with a claimRef by claim, storage pools by class."""

    def __init__(self) -> None:
        self.volumes = AssumeCache(PersistentVolume)
        self.claims = AssumeCache(PersistentVolumeClaim)
        self._seen = ObjectTracker(PersistentVolume)
        self._shelved: dict[str, VolumeEntry] = {}
        self._free: dict[str, dict[str, VolumeEntry]] = {}
        self._kept: dict[tuple[str, str], dict[str, VolumeEntry]] = {}
        self._shelves: dict[str, AvailableVolumes] = {}
        self._pools: dict[str, StoragePools] = {}
        self._pool_version = -1

    def shelf(self, objects: ObjectStore, class_name: str) -> AvailableVolumes:
        """The unclaimed volumes of a class, without assumptions: assumed ones are included."""
        self._read_volumes(objects)
        found = self._shelves.get(class_name)
        if found is None:
            volumes = self._free.get(class_name)
            found = self._shelves[class_name] = (
                AvailableVolumes(volumes.values()) if volumes else NO_VOLUMES
            )
        return found

    def kept_for(self, objects: ObjectStore, claim: PersistentVolumeClaim) -> Iterator[VolumeEntry]:
        """The volumes bound to the claim, or assumed to be, in the order of their names."""
        self._read_volumes(objects)
        names = set(self._kept.get((claim.namespace, claim.name), ()))
        names.update(volume.name for volume in self.volumes.all(objects))
        for name in sorted(names):
            shelved = self._shelved[name]
            volume = self.volumes.over(shelved.volume)
            if is_kept_for(volume, claim):
                yield shelved._replace(volume=volume)

    def pools(self, objects: ObjectStore, class_name: str) -> StoragePools:
        version = objects.version(CSIStorageCapacity)
        if version != self._pool_version:
            self._pools.clear()
            self._pool_version = version
        found = self._pools.get(class_name)
        if found is None:
            every = objects.all(CSIStorageCapacity)
            of_class = (_pool(each) for each in every if each.storage_class_name == class_name)
            found = self._pools[class_name] = StoragePools([pool for pool in of_class if pool])
        return found

    def _read_volumes(self, objects: ObjectStore) -> None:
        for old, new in self._seen.catch_up(objects):
            if old is not None:
                self._take_down(self._shelved.pop(old.name))
            if new is not None:
                self._shelved[new.name] = shelved = volume_entry(new)
                self._put_up(shelved)

    def _put_up(self, shelved: VolumeEntry) -> None:
        volume = shelved.volume
        ref, class_name = volume.spec.claim_ref, volume_class(volume)
        if ref is not None:
            self._kept.setdefault((ref.namespace, ref.name), {})[volume.name] = shelved
        else:
            self._free.setdefault(class_name, {})[volume.name] = shelved
            self._shelves.pop(class_name, None)

    def _take_down(self, shelved: VolumeEntry) -> None:
        volume = shelved.volume
        ref, class_name = volume.spec.claim_ref, volume_class(volume)
        if ref is not None:
            del self._kept[(ref.namespace, ref.name)][volume.name]
            return
        del self._free[class_name][volume.name]
        shelf = self._shelves.get(class_name)
        if shelf is not None and not shelf.remove(volume.name):
            del self._shelves[class_name]


def volume_cache_of(cycle: Cycle) -> VolumeCache:
    """The profile's volume cache; made on first use."""
    found: VolumeCache | None = cycle.shared.get(VOLUME_CACHE)
    if found is None:
        found = cycle.shared[VOLUME_CACHE] = VolumeCache()
    return found


def _pool(capacity: CSIStorageCapacity) -> StoragePool | None:
    limit = capacity.maximum_volume_size or capacity.capacity
    if limit is None or capacity.node_topology is None:
        return None
    total = quantity.value(capacity.capacity) if capacity.capacity is not None else 0
    return StoragePool(quantity.value(limit), total, _selector_reach(capacity.node_topology))


def _selector_reach(selector: LabelSelector) -> Reach:
    """The nodes that a label selector selects; none if it is malformed."""
    try:
        return (selectors.compile(selector).requirements,)
    except SelectorError:
        return ()
