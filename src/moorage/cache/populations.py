"""Populations: sets of pods that rules count together, each with the rows its pods are on.

There are two kinds: pods of equal namespace and labels, and pods that carry one affinity term. Rows
are kept sparsely, so that a population costs as much as it has pods; tallies add them up densely
where a rule is in use.
"""

import enum
from collections.abc import Mapping

from moorage.cache.affinity_terms import AffinityTerm
from moorage.cache.tallies import Tally


class Population:
    """Pods that are counted together, and the tallies that add them up.

    `rows` maps a row to the number of pods there; `tallies` holds (tally, weight per pod).
    """

    __slots__ = ("rows", "tallies")

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.tallies: list[tuple[Tally, int]] = []

    def add(self, row: int, amount: int) -> None:
        left = self.rows.get(row, 0) + amount
        if left:
            self.rows[row] = left
        else:
            del self.rows[row]
        for tally, weight in self.tallies:
            tally.add(row, amount * weight)

    def join(self, tally: Tally, weight: int = 1) -> None:
        """Be counted by a tally from now on, with all pods there are."""
        self.tallies.append((tally, weight))
        tally.sources.add(self)
        for row, amount in self.rows.items():
            tally.add(row, amount * weight)

    def leave(self, tally: Tally) -> None:
        """Be counted by a tally no longer; what it has counted stays."""
        tally.sources.discard(self)
        self.tallies = [entry for entry in self.tallies if entry[0] is not tally]


class LabelGroup(Population):
    """Pods of one namespace with equal labels, all of them being deleted or none."""

    __slots__ = ("dying", "labels", "namespace")

    def __init__(self, namespace: str, labels: Mapping[str, str], dying: bool) -> None:
        super().__init__()
        self.namespace = namespace
        self.labels = labels
        self.dying = dying


class Carrying(enum.Enum):
    """In which way pods carry a term."""

    AFFINITY = "required affinity"
    ANTI_AFFINITY = "required anti-affinity"
    PREFERENCE = "preferred affinity or, with a negative weight, anti-affinity"


class CarriedTerm(Population):
    """Pods that carry the same affinity term in the same way."""

    __slots__ = ("how", "term", "weight")

    def __init__(self, how: Carrying, term: AffinityTerm, weight: int) -> None:
        super().__init__()
        self.how = how
        self.term = term
        self.weight = weight
