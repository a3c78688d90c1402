"""The volume each node would use for a claim: one bound to it, or the smallest that fits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.api import selectors
from moorage.api.storage import PersistentVolumeClaim
from moorage.cache.interner import Interner
from moorage.cache.node_view import Nodes
from moorage.cache.object_store import ObjectStore
from moorage.plugins.volume_binding.available_volumes import (
    AvailableVolumes,
    VolumeEntry,
    requested_size,
    volume_capacity,
)
from moorage.plugins.volume_binding.volume_cache import VolumeCache
from moorage.plugins.volumes.persistent_volumes import claim_class, volume_class
from moorage.plugins.volumes.volume_affinity import NO_CHOICE, Choices, Reach, reach_mask


class CandidateVolumes:
    """The volumes of one attempt, numbered: all unclaimed ones of a class, and those of claims."""

    def __init__(self) -> None:
        self.shelved: list[VolumeEntry] = []
        self.class_names: Interner[str] = Interner()
        self._capacities: list[NDArray[np.int64]] = []
        self._classes: list[NDArray[np.int64]] = []
        self._starts: dict[int, int] = {}
        self._kept: dict[str, int] = {}

    def start_of(self, shelf: AvailableVolumes) -> int:
        """The number of the shelf's first volume."""
        start = self._starts.get(id(shelf))
        if start is None:
            start = self._starts[id(shelf)] = len(self.shelved)
            self.shelved.extend(shelf.shelved)
            self._capacities.append(shelf.capacities)
            classes = [self.class_names.intern(kind.class_name) for kind in shelf.kinds.values]
            self._classes.append(np.array(classes, dtype=np.int64)[shelf.kind])
        return start

    def number_of(self, kept: VolumeEntry) -> int:
        number = self._kept.get(kept.volume.name)
        if number is None:
            number = self._kept[kept.volume.name] = len(self.shelved)
            self.shelved.append(kept)
            self._capacities.append(np.array([volume_capacity(kept.volume)]))
            self._classes.append(np.array([self.class_names.intern(kept.traits.class_name)]))
        return number

    @property
    def capacities(self) -> NDArray[np.int64]:
        """Bytes by volume number; the last entry, 0, is for NO_CHOICE.  int64 (volume + 1)"""
        return np.concatenate((*self._capacities, np.zeros(1, dtype=np.int64)))

    @property
    def classes(self) -> NDArray[np.int64]:
        """Index in `class_names` by volume number; the last entry, -1, is for NO_CHOICE."""
        return np.concatenate((*self._classes, np.full(1, NO_CHOICE)))


class ClaimMatches:
    """The volumes that can serve one claim.

    If a volume that fits is bound to the claim already, it decides alone: a node within its reach
    uses it, and any other node gets no volume.
    """

    def __init__(
        self,
        claim: PersistentVolumeClaim,
        objects: ObjectStore,
        shelves: VolumeCache,
        candidates: CandidateVolumes,
    ) -> None:
        self.claim = claim
        class_name = claim_class(claim)
        wanted = None if claim.spec.selector is None else selectors.compile(claim.spec.selector)
        self._shelf = shelves.shelf(objects, class_name)
        self._start = candidates.start_of(self._shelf)
        given_away = (volume.name for volume in shelves.volumes.all(objects))
        self._allowed = self._shelf.open_to(claim, wanted, given_away)
        self._kept: list[tuple[int, Reach]] = [
            (candidates.number_of(each), each.reach)
            for each in shelves.kept_for(objects, claim)
            if volume_class(each.volume) == class_name
            and each.size >= requested_size(claim)
            and each.traits.suit(claim)
        ]

    def best(self, nodes: Nodes, taken: Sequence[Choices]) -> Choices:
        """The volume number that each node uses, given those it uses for other claims (`taken`)."""
        best = self._smallest(nodes, taken)
        for number, reach in reversed(self._kept):
            within = reach_mask(reach, nodes)
            left = np.ones(nodes.count, dtype=bool)
            for others in taken:
                left &= others != number
            best[left & within] = number
            best[left & ~within] = NO_CHOICE
        return best

    def _smallest(self, nodes: Nodes, taken: Sequence[Choices]) -> Choices:
        if not self._allowed.any():
            return np.full(nodes.count, NO_CHOICE)
        here = [others - self._start for others in taken]
        best = self._shelf.offers.best(nodes, self._allowed, here)
        return np.where(best == NO_CHOICE, NO_CHOICE, best + self._start)
