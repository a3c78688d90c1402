"""The unclaimed PersistentVolumes of a storage class, smallest first."""

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from moorage.api import quantity
from moorage.api.selectors import Selector
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.cache.interner import Interner
from moorage.plugins.volumes.volume_affinity import Mask, Reach, ReachIndex, reach_of

STORAGE = "storage"
FILESYSTEM = "Filesystem"
AVAILABLE = "Available"


class VolumeTraits(NamedTuple):
    """The other properties of a volume that claims read; most volumes of a class share them."""

    mode: str
    attributes_class: str
    phase: str
    access_modes: frozenset[str]
    is_deleted: bool
    class_name: str
    """The class in the spec, which scores use; annotations are ignored here."""

    def suit(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a volume with these traits meets the claim, regardless of its claimRef."""
        want = claim.spec
        return (
            not self.is_deleted
            and self.mode == (want.volume_mode or FILESYSTEM)
            and self.attributes_class == (want.volume_attributes_class_name or "")
        )

    def are_open_to(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a volume with these traits, without a claimRef, can be bound to the claim."""
        has_modes = self.access_modes.issuperset(claim.spec.access_modes)
        return self.phase == AVAILABLE and has_modes and self.suit(claim)


class VolumeEntry(NamedTuple):
    """A volume, its exact size in billionths of a byte, its traits, and the nodes that reach it."""

    volume: PersistentVolume
    size: int
    traits: VolumeTraits
    reach: Reach


class AvailableVolumes:
    """Volumes numbered by size, and by name if sizes are equal."""

    def __init__(self, shelved: Iterable[VolumeEntry]) -> None:
        self.shelved = sorted(shelved, key=lambda each: (each.size, each.volume.name))
        self.offers = ReachIndex([each.reach for each in self.shelved])
        self.capacities = np.array(
            [volume_capacity(each.volume) for each in self.shelved], dtype=np.int64
        )
        self._sizes = [each.size for each in self.shelved]
        self._numbers = {each.volume.name: number for number, each in enumerate(self.shelved)}
        self.kinds: Interner[VolumeTraits] = Interner()
        self.kind = np.array([self.kinds.intern(each.traits) for each in self.shelved], np.intp)

        self._present = np.ones(len(self.shelved), dtype=bool)
        self._gone = 0

    def remove(self, name: str) -> bool:
        """Mark a volume as gone; False if more than half are gone, so that it must be rebuilt."""
        self._present[self._numbers[name]] = False
        self._gone += 1
        return 2 * self._gone <= len(self.shelved)

    def open_to(
        self, claim: PersistentVolumeClaim, wanted: Selector | None, gone: Iterable[str]
    ) -> Mask:
        """bool (volume): the volume can be bound to the claim. `gone`: names of assumed volumes."""
        kinds = np.array([kind.are_open_to(claim) for kind in self.kinds.values], dtype=bool)
        allowed: Mask = kinds[self.kind] & self._present
        allowed[: bisect_left(self._sizes, requested_size(claim))] = False
        for name in gone:
            if name in self._numbers:
                allowed[self._numbers[name]] = False
        if wanted is not None:
            for number in np.flatnonzero(allowed).tolist():
                allowed[number] = wanted.matches(self.shelved[number].volume.labels)
        return allowed


NO_VOLUMES = AvailableVolumes(())


def volume_entry(volume: PersistentVolume) -> VolumeEntry:
    spec = volume.spec
    traits = VolumeTraits(
        spec.volume_mode or FILESYSTEM,
        spec.volume_attributes_class_name or "",
        volume.status.phase,
        frozenset(spec.access_modes),
        volume.metadata.deletion_timestamp is not None,
        spec.storage_class_name,
    )
    return VolumeEntry(
        volume, nano_quantity(spec.capacity.get(STORAGE, "0")), traits, reach_of(volume)
    )


def volume_capacity(volume: PersistentVolume) -> int:
    """The volume's capacity in bytes."""
    return quantity.value(volume.spec.capacity.get(STORAGE, "0"))


def requested_size(claim: PersistentVolumeClaim) -> int:
    """The exact size a claim requests, in billionths of a byte."""
    return nano_quantity(claim.spec.resources.requests.get(STORAGE, "0"))


@lru_cache(maxsize=4096)
def nano_quantity(text: str) -> int:
    """A quantity in billionths, without loss or overflow."""
    parsed = quantity.parse(text)
    return int(parsed.amount * 10 ** (parsed.scale - quantity.NANO))
