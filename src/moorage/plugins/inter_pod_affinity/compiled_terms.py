"""Affinity terms as pod selections: the incoming pod's, and existing pods' that match it."""

from collections.abc import Iterable
from typing import NamedTuple

from moorage.api.cluster_objects import Namespace
from moorage.cache.affinity_terms import NO_LABELS, AffinityTerm, PodTerms
from moorage.cache.object_store import ObjectStore
from moorage.cache.pod_counters import WeightedTerms
from moorage.cache.pod_index import PodIndex
from moorage.cache.pod_selection import Clause, PodSelection
from moorage.cache.pod_sets import CarriedTerm, LabelGroup, TermKind

_EXISTING_KEPT = 4096

ByTopology = tuple[tuple[str, WeightedTerms], ...]


class ExistingTerms(NamedTuple):
    """Existing pods' terms that match a pod, by topology key: anti-affinity, and scored ones."""

    away: ByTopology
    scored: ByTopology


class ExistingTermsCache:
    """Existing pods' terms by the label group they match; cleared if terms or namespaces change."""

    __slots__ = ("_known", "_stamp")

    def __init__(self) -> None:
        self._known: dict[LabelGroup, ExistingTerms] = {}
        self._stamp = (-1, -1)

    def about(
        self, group: LabelGroup, census: PodIndex, objects: ObjectStore, affinity_weight: int
    ) -> ExistingTerms:
        """The terms that match the pods of a group; required affinity scores `affinity_weight`."""
        stamp = (census.terms_version, objects.version(Namespace))
        if stamp != self._stamp or len(self._known) > _EXISTING_KEPT:
            self._known.clear()
            self._stamp = stamp
        said = self._known.get(group)
        if said is None:
            said = self._known[group] = _existing_terms(group, census, objects, affinity_weight)
        return said


def _existing_terms(
    group: LabelGroup, census: PodIndex, objects: ObjectStore, affinity_weight: int
) -> ExistingTerms:
    namespace = objects.get(Namespace, group.namespace)
    labels = namespace.labels if namespace is not None else NO_LABELS
    terms = census.terms_about(group.namespace, group.labels, labels)
    away = ((term, 1) for term in terms if term.how is TermKind.ANTI_AFFINITY)
    weights = ((term, _weight(term, affinity_weight)) for term in terms)
    return ExistingTerms(_by_topology(away), _by_topology(pair for pair in weights if pair[1]))


def _weight(carried: CarriedTerm, affinity_weight: int) -> int:
    if carried.how is TermKind.PREFERENCE:
        return carried.weight
    return max(affinity_weight, 0) if carried.how is TermKind.AFFINITY else 0


def _by_topology(terms: Iterable[tuple[CarriedTerm, int]]) -> ByTopology:
    found: dict[str, list[tuple[CarriedTerm, int]]] = {}
    for carried, weight in terms:
        found.setdefault(carried.term.topology_key, []).append((carried, weight))
    return tuple((key, tuple(pairs)) for key, pairs in found.items())


_INCOMING_KEPT = 4096


class RequiredTerms(NamedTuple):
    """Required terms. `near` selects the pods that meet every affinity term at once."""

    near: PodSelection | None
    near_keys: tuple[str, ...]
    meets_own: bool
    """Whether the pod itself meets its affinity terms."""
    away: tuple[tuple[str, PodSelection], ...]


class PreferredTerm(NamedTuple):
    """A preferred term; the weight of anti-affinity is negative."""

    weight: int
    topology_key: str
    selection: PodSelection


class IncomingTermsCache:
    """Terms compiled to selections; kept until a namespace changes."""

    __slots__ = ("_preferred", "_required", "_version")

    def __init__(self) -> None:
        self._version = -1
        self._required: dict[tuple[PodTerms, LabelGroup], RequiredTerms] = {}
        self._preferred: dict[PodTerms, tuple[PreferredTerm, ...]] = {}

    def required(self, terms: PodTerms, group: LabelGroup, objects: ObjectStore) -> RequiredTerms:
        """The required terms of a pod that belongs to a group of pods."""
        self._keep_fresh(objects)
        found = self._required.get((terms, group))
        if found is None:
            found = self._required[terms, group] = _required(terms, group, objects)
        return found

    def preferred(self, terms: PodTerms, objects: ObjectStore) -> tuple[PreferredTerm, ...]:
        """The preferred terms of a pod."""
        self._keep_fresh(objects)
        found = self._preferred.get(terms)
        if found is None:
            found = self._preferred[terms] = _preferred(terms, objects)
        return found

    def _keep_fresh(self, objects: ObjectStore) -> None:
        version = objects.version(Namespace)
        if version != self._version or len(self._required) + len(self._preferred) > _INCOMING_KEPT:
            self._required.clear()
            self._preferred.clear()
            self._version = version


def _required(terms: PodTerms, group: LabelGroup, objects: ObjectStore) -> RequiredTerms:
    near = _selection(terms.affinity, objects) if terms.affinity else None
    return RequiredTerms(
        near,
        tuple(dict.fromkeys(term.topology_key for term in terms.affinity)),
        near is not None and near.holds(group.namespace, group.labels),
        tuple((term.topology_key, _selection((term,), objects)) for term in terms.anti_affinity),
    )


def _preferred(terms: PodTerms, objects: ObjectStore) -> tuple[PreferredTerm, ...]:
    signed = (*terms.preferred, *((-weight, term) for weight, term in terms.preferred_anti))
    return tuple(
        PreferredTerm(weight, term.topology_key, _selection((term,), objects))
        for weight, term in signed
    )


def _selection(terms: tuple[AffinityTerm, ...], objects: ObjectStore) -> PodSelection:
    """The pods that every term matches, those being deleted included."""
    return PodSelection(
        tuple(Clause(_namespaces(term, objects), term.selector) for term in terms), dying=True
    )


def _namespaces(term: AffinityTerm, objects: ObjectStore) -> frozenset[str] | None:
    """The namespaces of the term's pods; None for all. A selector is resolved as of now."""
    chosen = term.namespace_selector
    if chosen.selects_everything:
        return None
    if chosen.selects_nothing:
        return term.namespaces
    named = (each.name for each in objects.all(Namespace) if chosen.matches(each.labels))
    return term.namespaces.union(named)
