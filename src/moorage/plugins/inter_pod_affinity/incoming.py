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


class Wishes:
    """Terms as selections, worked out once, until a namespace changes."""

    __slots__ = ("_preferred", "_required", "_version")

    def __init__(self) -> None:
        self._version = -1
        self._required: dict[tuple[PodTerms, LabelGroup], Required] = {}
        self._preferred: dict[PodTerms, tuple[Preferred, ...]] = {}

    def required(self, terms: PodTerms, group: LabelGroup, objects: Objects) -> Required:
        """The required terms of a pod that belongs to a group of pods."""
        self._keep_fresh(objects)
        found = self._required.get((terms, group))
        if found is None:
            found = self._required[terms, group] = _required(terms, group, objects)
        return found

    def preferred(self, terms: PodTerms, objects: Objects) -> tuple[Preferred, ...]:
        """The preferred terms of a pod."""
        self._keep_fresh(objects)
        found = self._preferred.get(terms)
        if found is None:
            found = self._preferred[terms] = _preferred(terms, objects)
        return found

    def _keep_fresh(self, objects: Objects) -> None:
        version = objects.version(Namespace)
        if version != self._version or len(self._required) + len(self._preferred) > _KEPT:
            self._required.clear()
            self._preferred.clear()
            self._version = version


def _required(terms: PodTerms, group: LabelGroup, objects: Objects) -> Required:
    near = _selection(terms.affinity, objects) if terms.affinity else None
    return Required(
        near,
        tuple(dict.fromkeys(term.topology_key for term in terms.affinity)),
        near is not None and near.holds(group.namespace, group.labels),
        tuple((term.topology_key, _selection((term,), objects)) for term in terms.anti_affinity),
    )


def _preferred(terms: PodTerms, objects: Objects) -> tuple[Preferred, ...]:
    signed = (*terms.preferred, *((-weight, term) for weight, term in terms.preferred_anti))
    return tuple(
        Preferred(weight, term.topology_key, _selection((term,), objects))
        for weight, term in signed
    )


def _selection(terms: tuple[AffinityTerm, ...], objects: Objects) -> Selection:
    """The pods, those being deleted included, that every term means."""
    return Selection(
        tuple(Clause(_namespaces(term, objects), term.selector) for term in terms), dying=True
    )


def _namespaces(term: AffinityTerm, objects: Objects) -> frozenset[str] | None:
    """Where the term's pods are: a namespace selector means the namespaces there are now."""
    chosen = term.namespace_selector
    if chosen.selects_everything:
        return None
    if chosen.selects_nothing:
        return term.namespaces
    named = (each.name for each in objects.all(Namespace) if chosen.matches(each.labels))
    return term.namespaces.union(named)
