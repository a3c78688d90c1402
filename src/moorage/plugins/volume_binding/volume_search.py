"""On which nodes all of the pod's claims can be bound or provisioned, and how.

1. The node must reach the volumes of bound claims; the first that it does not reach decides.
2. A claim whose node was selected before is provisioned there or nowhere.
3. The other unbound claims use, from the smallest claim to the largest, the smallest free volume
   that the node reaches.
4. Claims that are still without a volume are provisioned. The class must have a provisioner, the
   node must be in its allowed topologies, and there must be enough space, if the driver reports
   capacity. The first claim that cannot be provisioned decides.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api import label_requirements, quantity
from moorage.api.label_requirements import IN, SelectorError
from moorage.api.storage import (
    CSIDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
)
from moorage.cache.node_view import Nodes
from moorage.framework.cycle import Cycle
from moorage.plugins.volume_binding.available_volumes import STORAGE, requested_size
from moorage.plugins.volume_binding.pod_claims import PodClaims
from moorage.plugins.volume_binding.volume_cache import StoragePools, volume_cache_of
from moorage.plugins.volume_binding.volume_matches import CandidateVolumes, ClaimMatches
from moorage.plugins.volumes.csi_migration import (
    InTreePlugin,
    MigrationError,
    migrated_reach,
    plugin_of,
)
from moorage.plugins.volumes.csi_nodes import csi_nodes
from moorage.plugins.volumes.persistent_volumes import SELECTED_NODE, claim_class
from moorage.plugins.volumes.volume_affinity import (
    NO_CHOICE,
    Choices,
    Mask,
    Reach,
    Term,
    reach_mask,
    reach_of,
)

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class Provisioning:
    """How a volume for one claim is provisioned; `pools` is None if capacity is not reported."""

    def __init__(self, cycle: Cycle, claim: PersistentVolumeClaim) -> None:
        self.claim = claim
        self.class_name = claim_class(claim)
        self.pools: StoragePools | None = None
        self._roomy: Mask = np.zeros(0, dtype=bool)
        found = cycle.get(StorageClass, self.class_name)
        self.reach: Reach = () if found is None else _allowed_topologies(found)
        size = claim.spec.resources.requests.get(STORAGE)
        if found is not None and size is not None and _tracks_capacity(cycle, found):
            self.pools = volume_cache_of(cycle).pools(cycle.cache.objects, found.name)
            self._roomy = self.pools.limits >= quantity.value(size)

    def can_be_made(self, nodes: Nodes) -> Mask:
        """bool (node): the class can provision volumes for the node."""
        return reach_mask(self.reach, nodes)

    def pools_for(self, nodes: Nodes) -> tuple[Choices, Mask]:
        """The pool that the volume would come from on each node, and whether it has room."""
        if self.pools is None:
            return np.full(nodes.count, NO_CHOICE), np.ones(nodes.count, dtype=bool)
        best = self.pools.offers.best(nodes, self._roomy)
        return best, best != NO_CHOICE


def _allowed_topologies(storage_class: StorageClass) -> Reach:
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return ()
    if not storage_class.allowed_topologies:
        return None
    terms = (_topology_term(term) for term in storage_class.allowed_topologies)
    return tuple(term for term in terms if term)


def _topology_term(term: TopologySelectorTerm) -> Term:
    """The requirements of a term; empty if it is empty or malformed: then no node matches it."""
    try:
        return tuple(
            label_requirements.check_requirement(expression.key, IN, expression.values)
            for expression in term.match_label_expressions
        )
    except SelectorError:
        return ()


def _tracks_capacity(cycle: Cycle, storage_class: StorageClass) -> bool:
    driver = cycle.get(CSIDriver, storage_class.provisioner)
    return driver is not None and bool(driver.spec.storage_capacity)


NODE_CONFLICT: Final = 1
BIND_CONFLICT: Final = 2
NOT_ENOUGH_SPACE: Final = 4
VOLUME_MISSING: Final = 8
BROKEN: Final = 16

MALFORMED_SELECTOR: Final = "error creating internal label selector for claim: {}: {}"


class BoundVolume(NamedTuple):
    """The volume of a bound claim, if it exists, and the nodes that reach it."""

    volume: PersistentVolume | None
    reach: Reach = None
    plugin: InTreePlugin | None = None
    """The in-tree plugin of the volume, whose reach differs on nodes that have migrated."""


class SearchResult:
    """The result of a search for each node of a view."""

    def __init__(self, count: int) -> None:
        self.codes: NDArray[np.int32] = np.zeros(count, dtype=np.int32)
        self.taken: list[tuple[PersistentVolumeClaim, Choices]] = []
        """(claim, number of the volume that each node uses for it), smallest claim first."""
        self.made: list[tuple[Provisioning, Mask, Choices]] = []
        """(claim to provision, on which nodes, the pool on each node)."""

    def at(self, nodes: Nodes) -> "SearchResult":
        """The part for some rows of a search over all rows."""
        rows, part = nodes.rows, SearchResult(0)
        part.codes = self.codes[rows]
        part.taken = [(claim, things[rows]) for claim, things in self.taken]
        part.made = [(how, needed[rows], pools[rows]) for how, needed, pools in self.made]
        return part


class VolumeSearch:
    """One pod's search: prepared once per attempt, and run for any view."""

    def __init__(self, cycle: Cycle, claims: PodClaims) -> None:
        self.claims = claims
        self.candidates = CandidateVolumes()
        self.problem = ""
        self.bound = [_bound_volume(cycle, claim) for claim in claims.bound]
        self.given = [claim for claim in claims.delayed if SELECTED_NODE in claim.annotations]
        rest = [claim for claim in claims.delayed if SELECTED_NODE not in claim.annotations]
        rest.sort(key=requested_size)
        self._matches = self._match(cycle, rest)
        self._provisionings = [Provisioning(cycle, claim) for claim in (*self.given, *rest)]

    def run(self, cycle: Cycle, nodes: Nodes) -> SearchResult:
        found = SearchResult(nodes.count)
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

    def _match(self, cycle: Cycle, rest: list[PersistentVolumeClaim]) -> list[ClaimMatches] | None:
        objects, known = cycle.cache.objects, volume_cache_of(cycle)
        found: list[ClaimMatches] = []
        for claim in rest:
            try:
                found.append(ClaimMatches(claim, objects, known, self.candidates))
            except SelectorError as error:
                path = f"{claim.namespace}/{claim.name}"
                self.problem = MALFORMED_SELECTOR.format(path, error)
                return None
        return found

    def _reach_bound(self, cycle: Cycle, nodes: Nodes, found: SearchResult) -> None:
        undecided = np.ones(nodes.count, dtype=bool)
        for bound in self.bound:
            if bound.volume is None:
                found.codes[undecided] |= VOLUME_MISSING
                return
            within = self._within(cycle, bound, nodes, undecided, found)
            found.codes[undecided & ~within] |= NODE_CONFLICT
            undecided &= within

    def _within(
        self, cycle: Cycle, bound: BoundVolume, nodes: Nodes, undecided: Mask, found: SearchResult
    ) -> Mask:
        within = reach_mask(bound.reach, nodes)
        if bound.plugin is None or bound.volume is None:
            return within
        migrated = csi_nodes(cycle).migrated(bound.plugin.name)[nodes.rows]
        try:
            moved = reach_mask(migrated_reach(bound.volume, bound.plugin), nodes)
        except MigrationError as error:
            self.problem = self.problem or f"could not translate pv: {error}"
            found.codes[undecided & migrated] |= BROKEN
            return within
        return np.where(migrated, moved, within)

    def _given_here(self, nodes: Nodes) -> Mask:
        """bool (node): the selected node of every claim that has one is this node."""
        here = np.ones(nodes.count, dtype=bool)
        for claim in self.given:
            row = nodes.table.row_of.get(claim.annotations[SELECTED_NODE], NO_CHOICE)
            here &= nodes.index == row
        return here

    def _find_volumes(self, matches: list[ClaimMatches], nodes: Nodes, found: SearchResult) -> None:
        taken: list[Choices] = []
        for match in matches:
            taken.append(match.best(nodes, taken))
            found.taken.append((match.claim, taken[-1]))

    def _provision(self, nodes: Nodes, within: Mask, found: SearchResult) -> None:
        everywhere = np.full(nodes.count, NO_CHOICE)
        taken = [*(everywhere for _ in self.given), *(things for _, things in found.taken)]
        undecided = within
        for how, things in zip(self._provisionings, taken, strict=True):
            needed = undecided & (things == NO_CHOICE)
            if not needed.any():
                continue
            possible = how.can_be_made(nodes)
            pools, roomy = how.pools_for(nodes)
            found.codes[needed & ~possible] |= BIND_CONFLICT
            found.codes[needed & possible & ~roomy] |= NOT_ENOUGH_SPACE
            found.made.append((how, needed, pools))
            undecided = undecided & ~(needed & ~(possible & roomy))


def _bound_volume(cycle: Cycle, claim: PersistentVolumeClaim) -> BoundVolume:
    volume = volume_cache_of(cycle).volumes.get(cycle.cache.objects, claim.spec.volume_name)
    if volume is None:
        return BoundVolume(None)
    plugin = plugin_of(volume.spec)
    moves = plugin is not None and plugin.handle is not None
    return BoundVolume(volume, reach_of(volume), plugin if moves else None)
