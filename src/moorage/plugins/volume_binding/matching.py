"""Which volumes can serve a claim, smallest first."""

from collections.abc import Iterable, Sequence

import numpy as np

from moorage.api import selectors
from moorage.api.selectors import Selector
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.cache.view import Nodes
from moorage.plugins.volume_affinity import mask
from moorage.plugins.volume_binding.shelving import Shelved, requested
from moorage.plugins.volume_claims import is_kept_for
from moorage.plugins.volume_offers import NOTHING, Offers, Things

FILESYSTEM = "Filesystem"
AVAILABLE = "Available"


class Numbers:
    """Volumes by number, so that arrays can hold them."""

    def __init__(self) -> None:
        self.shelved: list[Shelved] = []
        self._numbers: dict[str, int] = {}

    def of(self, shelved: Shelved) -> int:
        number = self._numbers.get(shelved.volume.name)
        if number is None:
            number = self._numbers[shelved.volume.name] = len(self.shelved)
            self.shelved.append(shelved)
        return number


class Matches:
    """The volumes that can serve one claim: those kept for it, and those free for it.

    A volume kept for the claim that suits it otherwise settles the matter: a node within its reach
    takes it, another node takes nothing.
    """

    def __init__(
        self,
        claim: PersistentVolumeClaim,
        shelf: Iterable[Shelved],
        numbers: Numbers,
        depth: int,
    ) -> None:
        self.claim = claim
        wanted = None if claim.spec.selector is None else selectors.compile(claim.spec.selector)
        suiting = [shelved for shelved in shelf if _suits(claim, shelved)]
        free = [s for s in suiting if _is_free_for(claim, s.volume, wanted)]
        self._free = Offers(depth)
        for shelved in sorted(free, key=lambda shelved: shelved.size):
            self._free.add(numbers.of(shelved), shelved.reach)
        self._kept = [
            (numbers.of(shelved), shelved.reach)
            for shelved in suiting
            if is_kept_for(shelved.volume, claim)
        ]

    def best(self, nodes: Nodes, taken: Sequence[Things]) -> Things:
        """The volume that each node would take for the claim."""
        best = self._free.best(nodes, taken)
        for number, reach in reversed(self._kept):
            within = mask(reach, nodes)
            left = np.ones(nodes.count, dtype=bool)
            for others in taken:
                left &= others != number
            best[left & within] = number
            best[left & ~within] = NOTHING
        return best


def _suits(claim: PersistentVolumeClaim, shelved: Shelved) -> bool:
    """Whether a volume has what the claim asks for, whoever it is kept for."""
    have, want = shelved.volume.spec, claim.spec
    return (
        shelved.size >= requested(claim)
        and (have.volume_mode or FILESYSTEM) == (want.volume_mode or FILESYSTEM)
        and (have.volume_attributes_class_name or "") == (want.volume_attributes_class_name or "")
        and shelved.volume.metadata.deletion_timestamp is None
    )


def _is_free_for(
    claim: PersistentVolumeClaim, volume: PersistentVolume, wanted: Selector | None
) -> bool:
    return (
        volume.spec.claim_ref is None
        and volume.status.phase == AVAILABLE
        and (wanted is None or wanted.matches(volume.labels))
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )
