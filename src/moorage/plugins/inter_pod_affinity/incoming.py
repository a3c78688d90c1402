"""What the incoming pod says of the pods that are there: its terms as selections to count."""

from typing import NamedTuple

from moorage.api.workloads import Namespace
from moorage.cache.affinity_terms import AffinityTerm, PodTerms
from moorage.cache.objects import Objects
from moorage.cache.populations import LabelGroup
from moorage.cache.selections import Clause, Selection

_KEPT = 4096


class Required(NamedTuple):
    """Required terms. `near` selects the pods that meet every affinity term at once."""

    near: Selection | None
    near_keys: tuple[str, ...]
    meets_own: bool
    """Whether the pod itself meets its affinity terms."""
    away: tuple[tuple[str, Selection], ...]


class Preferred(NamedTuple):
    """A preferred term; the weight of anti-affinity is negative."""

    weight: int
    topology_key: str
    selection: Selection


class Clauses:
    """Terms as clauses: namespace selectors are looked up among the namespaces there are."""

    __slots__ = ("_known", "_version")

    def __init__(self) -> None:
        self._known: dict[AffinityTerm, Clause] = {}
        self._version = -1

    def of(self, term: AffinityTerm, objects: Objects) -> Clause:
        version = objects.version(Namespace)
        if version != self._version or len(self._known) > _KEPT:
            self._known.clear()
            self._version = version
        clause = self._known.get(term)
        if clause is None:
            clause = self._known[term] = Clause(_namespaces(term, objects), term.selector)
        return clause


def _namespaces(term: AffinityTerm, objects: Objects) -> frozenset[str] | None:
    chosen = term.namespace_selector
    if chosen.selects_everything:
        return None
    if chosen.selects_nothing:
        return term.namespaces
    named = (each.name for each in objects.all(Namespace) if chosen.matches(each.labels))
    return term.namespaces.union(named)


def required(terms: PodTerms, group: LabelGroup, clauses: Clauses, objects: Objects) -> Required:
    """The required terms of a pod that belongs to a group of pods."""
    near = None
    if terms.affinity:
        met = tuple(clauses.of(term, objects) for term in terms.affinity)
        near = Selection(met, dying=True)
    return Required(
        near,
        tuple(dict.fromkeys(term.topology_key for term in terms.affinity)),
        near is not None and near.holds(group.namespace, group.labels),
        tuple(
            (term.topology_key, Selection((clauses.of(term, objects),), dying=True))
            for term in terms.anti_affinity
        ),
    )


def preferred(terms: PodTerms, clauses: Clauses, objects: Objects) -> tuple[Preferred, ...]:
    signed = (*terms.preferred, *((-weight, term) for weight, term in terms.preferred_anti))
    return tuple(
        Preferred(weight, term.topology_key, Selection((clauses.of(term, objects),), dying=True))
        for weight, term in signed
    )
