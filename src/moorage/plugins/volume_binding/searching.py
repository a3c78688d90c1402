"""The rule itself: on which nodes can all of the pod's claims be had, and how.

1. Volumes of bound claims must be within the node's reach; the first that is not decides.
2. A claim that was already given a node is provisioned there or nowhere.
3. The other unbound claims take, from the smallest to the largest, the smallest free volume within
   the node's reach.
4. What is still without a volume is provisioned: by a provisioner, within the topologies its class
   allows, with enough space where someone keeps account of it. The first that cannot be decides.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.requirements import SelectorError
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.cache.view import Nodes
from moorage.framework.cycle import Cycle
from moorage.plugins.volume_affinity import Mask, Reach, mask, reach_of
from moorage.plugins.volume_binding.claims import Claims
from moorage.plugins.volume_binding.matching import Candidates, Matches
from moorage.plugins.volume_binding.provisioning import Provisioning
from moorage.plugins.volume_binding.shelf import requested
from moorage.plugins.volume_binding.shelving import shelves
from moorage.plugins.volume_claims import SELECTED_NODE
from moorage.plugins.volume_migration import (
    InTreePlugin,
    MigrationError,
    migrated_reach,
    plugin_of,
)
from moorage.plugins.volume_nodes import csi_nodes
from moorage.plugins.volume_offers import NOTHING, Things

NODE_CONFLICT: Final = 1
BIND_CONFLICT: Final = 2
NOT_ENOUGH_SPACE: Final = 4
VOLUME_MISSING: Final = 8
BROKEN: Final = 16

MALFORMED_SELECTOR: Final = "error creating internal label selector for claim: {}: {}"


class Bound(NamedTuple):
    """The volume of a bound claim, if there is one, and where it can be reached from."""

    volume: PersistentVolume | None
    reach: Reach = None
    plugin: InTreePlugin | None = None
    """The in-tree plugin, whose volumes are reached differently on nodes that have migrated."""


class Found:
    """What a search found for each node of a view."""

    def __init__(self, count: int) -> None:
        self.codes: NDArray[np.int32] = np.zeros(count, dtype=np.int32)
        self.taken: list[tuple[PersistentVolumeClaim, Things]] = []
        """Claims, smallest first, with the number of the volume each node takes for them."""
        self.made: list[tuple[Provisioning, Mask, Things]] = []
        """Claims to provision, on which nodes, and the pool each node draws them from."""

    def at(self, nodes: Nodes) -> "Found":
        """The part for some rows, of a search over all rows."""
        rows, part = nodes.rows, Found(0)
        part.codes = self.codes[rows]
        part.taken = [(claim, things[rows]) for claim, things in self.taken]
        part.made = [(how, needed[rows], pools[rows]) for how, needed, pools in self.made]
        return part


class Search:
    """One pod's search, made ready once per attempt, run for any view."""

    def __init__(self, cycle: Cycle, claims: Claims) -> None:
        self.claims = claims
        self.candidates = Candidates()
        self.problem = ""
        self.bound = [_bound(cycle, claim) for claim in claims.bound]
        self.given = [claim for claim in claims.delayed if SELECTED_NODE in claim.annotations]
        rest = [claim for claim in claims.delayed if SELECTED_NODE not in claim.annotations]
        rest.sort(key=requested)
        self._matches = self._match(cycle, rest)
        self._provisionings = [Provisioning(cycle, claim) for claim in (*self.given, *rest)]

    def run(self, cycle: Cycle, nodes: Nodes) -> Found:
        found = Found(nodes.count)
        self._reach_bound(cycle, nodes, found)
        if self.claims.delayed:
            within = self._given_here(nodes)
            found.codes[~within] |= BIND_CONFLICT
            if self._matches is None:
                found.codes[within] |= BROKEN
            else:
                self._find_volumes(self._matches, nodes, found)
                self._provision(nodes, within, found)
        return found

    def _match(self, cycle: Cycle, rest: list[PersistentVolumeClaim]) -> list[Matches] | None:
        objects, known = cycle.cache.objects, shelves(cycle)
        found: list[Matches] = []
        for claim in rest:
            try:
                found.append(Matches(claim, objects, known, self.candidates))
            except SelectorError as error:
                path = f"{claim.namespace}/{claim.name}"
                self.problem = MALFORMED_SELECTOR.format(path, error)
                return None
        return found

    def _reach_bound(self, cycle: Cycle, nodes: Nodes, found: Found) -> None:
        undecided = np.ones(nodes.count, dtype=bool)
        for bound in self.bound:
            if bound.volume is None:
                found.codes[undecided] |= VOLUME_MISSING
                return
            within = self._within(cycle, bound, nodes, undecided, found)
            found.codes[undecided & ~within] |= NODE_CONFLICT
            undecided &= within

    def _within(
        self, cycle: Cycle, bound: Bound, nodes: Nodes, undecided: Mask, found: Found
    ) -> Mask:
        within = mask(bound.reach, nodes)
        if bound.plugin is None or bound.volume is None:
            return within
        migrated = csi_nodes(cycle).migrated(bound.plugin.name)[nodes.rows]
        try:
            moved = mask(migrated_reach(bound.volume, bound.plugin), nodes)
        except MigrationError as error:
            self.problem = self.problem or f"could not translate pv: {error}"
            found.codes[undecided & migrated] |= BROKEN
            return within
        return np.where(migrated, moved, within)

    def _given_here(self, nodes: Nodes) -> Mask:
        """bool (node): every claim that was given a node was given this one."""
        here = np.ones(nodes.count, dtype=bool)
        for claim in self.given:
            row = nodes.table.row_of.get(claim.annotations[SELECTED_NODE], NOTHING)
            here &= nodes.index == row
        return here

    def _find_volumes(self, matches: list[Matches], nodes: Nodes, found: Found) -> None:
        taken: list[Things] = []
        for match in matches:
            taken.append(match.best(nodes, taken))
            found.taken.append((match.claim, taken[-1]))

    def _provision(self, nodes: Nodes, within: Mask, found: Found) -> None:
        everywhere = np.full(nodes.count, NOTHING)
        taken = [*(everywhere for _ in self.given), *(things for _, things in found.taken)]
        undecided = within
        for how, things in zip(self._provisionings, taken, strict=True):
            needed = undecided & (things == NOTHING)
            if not needed.any():
                continue
            possible = how.can_be_made(nodes)
            pools, roomy = how.pools_for(nodes)
            found.codes[needed & ~possible] |= BIND_CONFLICT
            found.codes[needed & possible & ~roomy] |= NOT_ENOUGH_SPACE
            found.made.append((how, needed, pools))
            undecided = undecided & ~(needed & ~(possible & roomy))


def _bound(cycle: Cycle, claim: PersistentVolumeClaim) -> Bound:
    volume = shelves(cycle).volumes.get(cycle.cache.objects, claim.spec.volume_name)
    if volume is None:
        return Bound(None)
    plugin = plugin_of(volume.spec)
    moves = plugin is not None and plugin.handle is not None
    return Bound(volume, reach_of(volume), plugin if moves else None)
