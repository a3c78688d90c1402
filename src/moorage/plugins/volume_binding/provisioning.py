"""Where a volume can be made for a claim: provisioner, allowed topologies, storage capacity."""

from typing import Final

import numpy as np

from moorage.api import quantity, requirements
from moorage.api.requirements import IN, SelectorError
from moorage.api.storage import (
    CSIDriver,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
)
from moorage.cache.view import Nodes
from moorage.framework.cycle import Cycle
from moorage.plugins.volume_affinity import Mask, Reach, Term, mask
from moorage.plugins.volume_binding.shelf import STORAGE
from moorage.plugins.volume_binding.shelving import Pools, shelves
from moorage.plugins.volume_claims import claim_class
from moorage.plugins.volume_offers import NOTHING, Things

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class Provisioning:
    """How volumes for one claim are made: `pools` is None where nobody keeps account of space."""

    def __init__(self, cycle: Cycle, claim: PersistentVolumeClaim) -> None:
        self.claim = claim
        self.class_name = claim_class(claim)
        self.pools: Pools | None = None
        self._roomy: Mask = np.zeros(0, dtype=bool)
        found = cycle.get(StorageClass, self.class_name)
        self.reach: Reach = () if found is None else _allowed(found)
        size = claim.spec.resources.requests.get(STORAGE)
        if found is not None and size is not None and _keeps_account(cycle, found):
            self.pools = shelves(cycle).pools(cycle.cache.objects, found.name)
            self._roomy = self.pools.limits >= quantity.value(size)

    def can_be_made(self, nodes: Nodes) -> Mask:
        """bool (node): the class can make volumes for the node."""
        return mask(self.reach, nodes)

    def pools_for(self, nodes: Nodes) -> tuple[Things, Mask]:
        """The pool each node would draw the volume from, and whether there is room for it."""
        if self.pools is None:
            return np.full(nodes.count, NOTHING), np.ones(nodes.count, dtype=bool)
        best = self.pools.offers.best(nodes, self._roomy)
        return best, best != NOTHING


def _allowed(storage_class: StorageClass) -> Reach:
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return ()
    if not storage_class.allowed_topologies:
        return None
    terms = (_term(term) for term in storage_class.allowed_topologies)
    return tuple(term for term in terms if term)


def _term(term: TopologySelectorTerm) -> Term:
    """The requirements of a term; none where it is empty or malformed, which holds nowhere."""
    try:
        return tuple(
            requirements.check(expression.key, IN, expression.values)
            for expression in term.match_label_expressions
        )
    except SelectorError:
        return ()


def _keeps_account(cycle: Cycle, storage_class: StorageClass) -> bool:
    driver = cycle.get(CSIDriver, storage_class.provisioner)
    return driver is not None and bool(driver.spec.storage_capacity)
