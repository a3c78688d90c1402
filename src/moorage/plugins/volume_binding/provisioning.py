"""Where a volume can be made for a claim: provisioner, allowed topologies, storage capacity."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

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
from moorage.plugins.volume_affinity import Reach, Term, mask
from moorage.plugins.volume_binding.shelving import STORAGE, Pool, shelves
from moorage.plugins.volume_claims import claim_class
from moorage.plugins.volume_offers import NOTHING, Offers, Things

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class Provisioning:
    """How volumes for one claim are made: `pools` is None where nobody keeps account of space."""

    def __init__(self, cycle: Cycle, claim: PersistentVolumeClaim) -> None:
        self.claim = claim
        self.class_name = claim_class(claim)
        found = cycle.get(StorageClass, self.class_name)
        self.reach: Reach = () if found is None else _allowed(found)
        self.pools = None if found is None else _large_enough(cycle, claim, found)

    def can_be_made(self, nodes: Nodes) -> NDArray[np.bool_]:
        """bool (node): the class can make volumes for the node."""
        return mask(self.reach, nodes)

    def pools_for(self, nodes: Nodes) -> tuple[Things, NDArray[np.bool_]]:
        """The pool each node would draw the volume from, and whether it has room for it."""
        offers = Offers()
        for number, pool in enumerate(self.pools or ()):
            offers.add(number, pool.reach)
        best = offers.best(nodes)
        return best, np.full(nodes.count, self.pools is None) | (best != NOTHING)


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


def _large_enough(
    cycle: Cycle, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> list[Pool] | None:
    size = claim.spec.resources.requests.get(STORAGE)
    driver = cycle.get(CSIDriver, storage_class.provisioner)
    if size is None or driver is None or not driver.spec.storage_capacity:
        return None
    pools = shelves(cycle).pools(cycle.cache.objects, storage_class.name)
    return [pool for pool in pools if pool.limit >= quantity.value(size)]
