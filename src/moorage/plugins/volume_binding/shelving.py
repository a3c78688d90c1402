"""Volumes and capacities by class, as read from the objects; read again when those change."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from moorage.api import quantity, selectors
from moorage.api.meta import LabelSelector
from moorage.api.requirements import SelectorError
from moorage.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from moorage.cache.objects import Objects
from moorage.framework.cycle import Cycle
from moorage.plugins.volume_affinity import Reach, reach_of
from moorage.plugins.volume_binding.assuming import Assumed
from moorage.plugins.volume_claims import is_kept_for, volume_class

STORAGE = "storage"


class Shelved(NamedTuple):
    """A volume, its exact size in billionths of a byte, and where it can be reached from."""

    volume: PersistentVolume
    size: int
    reach: Reach


class Pool(NamedTuple):
    """Storage of a class that some nodes can reach."""

    limit: int
    """Bytes of the largest volume that can be made of it."""
    capacity: int
    reach: Reach


class Shelves:
    """Unclaimed volumes by class, kept ones by claim, storage capacities by class."""

    def __init__(self) -> None:
        self.volumes = Assumed(PersistentVolume)
        self.claims = Assumed(PersistentVolumeClaim)
        self._shelved: dict[str, Shelved] = {}
        self._free: dict[str, list[Shelved]] = {}
        self._kept: dict[tuple[str, str], list[Shelved]] = {}
        self._pools: dict[str, list[Pool]] = {}
        self._volume_version = -1
        self._pool_version = -1

    def open_to(
        self, objects: Objects, claim: PersistentVolumeClaim, class_name: str
    ) -> Iterator[Shelved]:
        """Volumes of a class that no other claim has."""
        self._read_volumes(objects)
        kept = self._kept.get((claim.namespace, claim.name), ())
        for shelved in (*self._free.get(class_name, ()), *kept):
            volume = self.volumes.over(shelved.volume)
            if volume_class(volume) != class_name:
                continue
            if volume.spec.claim_ref is None or is_kept_for(volume, claim):
                yield shelved if volume is shelved.volume else shelved._replace(volume=volume)

    def pools(self, objects: Objects, class_name: str) -> list[Pool]:
        version = objects.version(CSIStorageCapacity)
        if version != self._pool_version:
            self._pools.clear()
            for capacity in objects.all(CSIStorageCapacity):
                pool = _pool(capacity)
                if pool is not None:
                    self._pools.setdefault(capacity.storage_class_name, []).append(pool)
            self._pool_version = version
        return self._pools.get(class_name, [])

    def _read_volumes(self, objects: Objects) -> None:
        version = objects.version(PersistentVolume)
        if version == self._volume_version:
            return
        before, self._shelved = self._shelved, {}
        self._free.clear()
        self._kept.clear()
        for volume in objects.all(PersistentVolume):
            known = before.get(volume.name)
            shelved = known if known is not None and known.volume is volume else _shelve(volume)
            self._shelved[volume.name] = shelved
            ref = volume.spec.claim_ref
            if ref is None:
                self._free.setdefault(volume_class(volume), []).append(shelved)
            else:
                self._kept.setdefault((ref.namespace, ref.name), []).append(shelved)
        self._volume_version = version


def shelves(cycle: Cycle) -> Shelves:
    """The profile's shelves."""
    found: Shelves = cycle.shared.setdefault("VolumeBinding", Shelves())
    return found


@lru_cache(maxsize=4096)
def exact(text: str) -> int:
    """A quantity in billionths, whatever its size."""
    parsed = quantity.parse(text)
    return int(parsed.amount * 10 ** (parsed.scale - quantity.NANO))


def requested(claim: PersistentVolumeClaim) -> int:
    """The exact size a claim asks for, in billionths of a byte."""
    return exact(claim.spec.resources.requests.get(STORAGE, "0"))


def _shelve(volume: PersistentVolume) -> Shelved:
    return Shelved(volume, exact(volume.spec.capacity.get(STORAGE, "0")), reach_of(volume))


def _pool(capacity: CSIStorageCapacity) -> Pool | None:
    limit = capacity.maximum_volume_size or capacity.capacity
    if limit is None or capacity.node_topology is None:
        return None
    reach = _selected(capacity.node_topology)
    total = quantity.value(capacity.capacity) if capacity.capacity is not None else 0
    return Pool(quantity.value(limit), total, reach)


def _selected(selector: LabelSelector) -> Reach:
    """The nodes that a label selector selects; none where it is malformed."""
    try:
        return (selectors.compile(selector).requirements,)
    except SelectorError:
        return ()
