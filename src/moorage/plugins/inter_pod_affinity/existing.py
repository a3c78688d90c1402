"""What the pods that are there say of the incoming one: the terms they carry that mean it."""

from collections.abc import Iterable
from typing import NamedTuple

from moorage.api.workloads import Namespace
from moorage.cache.affinity_terms import NO_LABELS
from moorage.cache.census import Census
from moorage.cache.counters import WeightedTerms
from moorage.cache.objects import Objects
from moorage.cache.populations import CarriedTerm, Carrying, LabelGroup

_KEPT = 4096

ByTopology = tuple[tuple[str, WeightedTerms], ...]


class Said(NamedTuple):
    """Terms about a pod, by topology key: those that keep it away, and those that score."""

    away: ByTopology
    scored: ByTopology


class Sayings:
    """What is said of each group of pods, until a term comes or goes, or a namespace changes."""

    __slots__ = ("_known", "_stamp")

    def __init__(self) -> None:
        self._known: dict[LabelGroup, Said] = {}
        self._stamp = (-1, -1)

    def about(
        self, group: LabelGroup, census: Census, objects: Objects, affinity_weight: int
    ) -> Said:
        """The terms that mean the pods of a group; required affinity scores `affinity_weight`."""
        stamp = (census.terms_version, objects.version(Namespace))
        if stamp != self._stamp or len(self._known) > _KEPT:
            self._known.clear()
            self._stamp = stamp
        said = self._known.get(group)
        if said is None:
            said = self._known[group] = _said(group, census, objects, affinity_weight)
        return said


def _said(group: LabelGroup, census: Census, objects: Objects, affinity_weight: int) -> Said:
    namespace = objects.get(Namespace, group.namespace)
    labels = namespace.labels if namespace is not None else NO_LABELS
    terms = census.terms_about(group.namespace, group.labels, labels)
    away = ((term, 1) for term in terms if term.how is Carrying.ANTI_AFFINITY)
    weights = ((term, _weight(term, affinity_weight)) for term in terms)
    return Said(_by_topology(away), _by_topology(pair for pair in weights if pair[1]))


def _weight(carried: CarriedTerm, affinity_weight: int) -> int:
    if carried.how is Carrying.PREFERENCE:
        return carried.weight
    return max(affinity_weight, 0) if carried.how is Carrying.AFFINITY else 0


def _by_topology(terms: Iterable[tuple[CarriedTerm, int]]) -> ByTopology:
    found: dict[str, list[tuple[CarriedTerm, int]]] = {}
    for carried, weight in terms:
        found.setdefault(carried.term.topology_key, []).append((carried, weight))
    return tuple((key, tuple(pairs)) for key, pairs in found.items())
