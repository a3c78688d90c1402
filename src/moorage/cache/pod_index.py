"""The index of all pods on nodes, by their labels and by the affinity terms they have."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from moorage.cache import affinity_terms
from moorage.cache.affinity_terms import NO_TERMS, PodTerms
from moorage.cache.pod_selection import SelectorIndex
from moorage.cache.pod_sets import CarriedTerm, LabelGroup, LabelGroupIndex, TermKind
from moorage.cache.podinfo import PodClass, PodInfo

SWEEP_AFTER = 4096
"""The least number of new pod sets after which those without pods are swept."""

_PARSED_KEPT = 4096

_encode = msgspec.msgpack.Encoder().encode
_Carried = tuple[CarriedTerm, ...]


class ClassPodSets:
    """The pod sets in which the pods of a class are counted."""

    __slots__ = ("carried", "dying", "generation", "living", "terms")

    def __init__(
        self, generation: int, living: LabelGroup, terms: PodTerms, carried: _Carried
    ) -> None:
        self.generation = generation
        self.living = living
        self.dying: LabelGroup | None = None
        self.terms = terms
        self.carried = carried


_FEW_TERMS = 64


class PodIndex:
    """Pod sets by labels and by carried terms. `welcome` is called with every new label group."""

    __slots__ = (
        "_carried",
        "_carriers",
        "_generation",
        "_new",
        "_parsed",
        "_sweep_after",
        "_sweep_at",
        "_welcome",
        "groups",
        "terms_version",
    )

    def __init__(
        self, welcome: Callable[[LabelGroup], None], sweep_after: int = SWEEP_AFTER
    ) -> None:
        self._welcome = welcome
        self._sweep_after = sweep_after
        self._generation = 0
        self.terms_version = 0
        """Grows when a carried term appears or disappears."""
        self.clear()

    def clear(self) -> None:
        """Forget every pod."""
        self._generation += 1
        self.terms_version += 1
        self.groups = LabelGroupIndex()
        self._carried: dict[tuple[object, ...], CarriedTerm] = {}
        self._carriers: SelectorIndex[CarriedTerm] = SelectorIndex()
        self._parsed: dict[tuple[str, bytes], PodTerms] = {}
        self._new = 0
        self._sweep_at = self._sweep_after

    @property
    def has_terms(self) -> bool:
        """Whether any pod carries a term."""
        return bool(self._carried)

    def keys_in_terms(self) -> frozenset[str] | None:
        """The label keys in required anti-affinity terms; None if there are too many terms."""
        if len(self._carried) > _FEW_TERMS:
            return None
        shunning = (
            carried.term.selector.keys
            for carried in self._carried.values()
            if carried.how is TermKind.ANTI_AFFINITY
        )
        return frozenset().union(*shunning)

    def count(self, row: int, pod: PodInfo, sign: int) -> None:
        """Count a pod that came to a row (`sign` 1) or left it (-1)."""
        standing = self.standing(pod.cls)
        if pod.pod.metadata.deletion_timestamp is None:
            standing.living.add(row, sign)
        else:
            if standing.dying is None:
                standing.dying = self._group(pod.cls, dying=True)
            standing.dying.add(row, sign)
        for term in standing.carried:
            term.add(row, sign)

    def standing(self, cls: PodClass) -> ClassPodSets:
        """The pod sets in which pods of a class are, or would be, counted."""
        known: ClassPodSets | None = cls.memo.get("PodIndex")
        if known is None or known.generation != self._generation:
            if self._new > self._sweep_at:
                self._sweep()
            terms = self._terms(cls) if affinity_terms.has_terms(cls.sample) else NO_TERMS
            living, carried = self._group(cls, dying=False), tuple(self._carry(terms))
            known = cls.memo["PodIndex"] = ClassPodSets(self._generation, living, terms, carried)
        return known

    def terms_about(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> list[CarriedTerm]:
        """The carried terms that select a pod with this namespace and these labels."""
        return [
            carried
            for carried in self._carriers.candidates(labels)
            if carried.term.matches(namespace, labels, namespace_labels)
        ]

    def _group(self, cls: PodClass, dying: bool) -> LabelGroup:
        group = self.groups.get(cls.namespace, cls.labels, dying)
        if group is None:
            group = LabelGroup(cls.namespace, cls.labels, dying)
            self.groups.add(group)
            self._new += 1
            self._welcome(group)
        return group

    def _terms(self, cls: PodClass) -> PodTerms:
        key = (cls.namespace, _encode(cls.sample.spec.affinity))
        terms = self._parsed.get(key)
        if terms is None:
            if len(self._parsed) >= _PARSED_KEPT:
                self._parsed.clear()
            terms = self._parsed[key] = affinity_terms.parse(cls.sample)
        return terms

    def _carry(self, terms: PodTerms) -> Iterator[CarriedTerm]:
        for term in terms.affinity:
            yield self._population(TermKind.AFFINITY, term, 0)
        for term in terms.anti_affinity:
            yield self._population(TermKind.ANTI_AFFINITY, term, 0)
        for weight, term in terms.preferred:
            yield self._population(TermKind.PREFERENCE, term, weight)
        for weight, term in terms.preferred_anti:
            yield self._population(TermKind.PREFERENCE, term, -weight)

    def _population(
        self, how: TermKind, term: affinity_terms.AffinityTerm, weight: int
    ) -> CarriedTerm:
        key = (how, term, weight)
        carried = self._carried.get(key)
        if carried is None:
            carried = self._carried[key] = CarriedTerm(how, term, weight)
            self._carriers.add(carried, term.selector.requirements)
            self._new += 1
            self.terms_version += 1
        return carried

    def _sweep(self) -> None:
        """Forget pod sets without pods; `standing` then looks up those of each class anew."""
        self.groups.replace([group for group in self.groups if _kept(group)])
        for key, carried in list(self._carried.items()):
            if not _kept(carried):
                del self._carried[key]
                self._carriers.remove(carried, carried.term.selector.requirements)
        self._generation += 1
        self.terms_version += 1
        self._new = 0
        self._sweep_at = max(self._sweep_after, len(self.groups) + len(self._carried))


def _kept(population: LabelGroup | CarriedTerm) -> bool:
    if population.rows:
        return True
    for tally, _ in list(population.tallies):
        population.leave(tally)
    return False
