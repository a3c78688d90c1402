"""Pod affinity terms as the scheduler reads them: kube-scheduler's AffinityTerm and PodInfo."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from moorage.api import selectors
from moorage.api.affinity import Affinity, PodAffinity, PodAffinityTerm, PodAntiAffinity
from moorage.api.pod import Pod
from moorage.api.selectors import Selector, SelectorError

NO_LABELS: Mapping[str, str] = {}
KEPT: Final = 16_384
"""The most parsed affinities that are kept."""


class AffinityTerm(msgspec.Struct, frozen=True, cache_hash=True):
    """Pods, by namespace and labels, within a topology. Terms with the same meaning compare equal.

    `matchLabelKeys` and `mismatchLabelKeys` are not read here: the API server merges them into the
    label selector when the pod is created.
    """

    namespaces: frozenset[str]
    selector: Selector
    topology_key: str
    namespace_selector: Selector

    def matches(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        """Whether the term selects a pod with this namespace and labels."""
        meant = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return meant and self.selector.matches(labels)

    def may_match(self, pod: Pod) -> bool:
        """Whether the term may select a pod, if the labels of its namespace are unknown."""
        meant = pod.namespace in self.namespaces or self.namespace_selector != selectors.NOTHING
        return meant and self.selector.matches(pod.labels)


Weighted = tuple[tuple[int, AffinityTerm], ...]


class PodTerms(msgspec.Struct, frozen=True, cache_hash=True):
    """All terms of a pod. A list that cannot be parsed counts as empty, and adds to `errors`."""

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: Weighted = ()
    preferred_anti: Weighted = ()
    errors: tuple[str, ...] = ()

    @property
    def requires(self) -> bool:
        return bool(self.affinity or self.anti_affinity)

    @property
    def prefers(self) -> bool:
        return bool(self.preferred or self.preferred_anti)


NO_TERMS = PodTerms()


def has_terms(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and not (
        affinity.pod_affinity is None and affinity.pod_anti_affinity is None
    )


def parse(pod: Pod) -> PodTerms:
    """Read the pod's affinity and anti-affinity."""
    affinity = pod.spec.affinity
    if affinity is None:
        return NO_TERMS
    near, away = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity
    away = away or PodAntiAffinity()
    errors: list[str] = []

    def required(name: str, terms: Iterable[PodAffinityTerm]) -> tuple[AffinityTerm, ...]:
        try:
            return tuple(_term(pod, term) for term in terms)
        except SelectorError as error:
            errors.append(f"{name}: {error}")
            return ()

    def preferred(name: str, of: PodAffinity | PodAntiAffinity) -> Weighted:
        listed = of.preferred_during_scheduling_ignored_during_execution
        terms = required(name, (each.pod_affinity_term for each in listed))
        return tuple(zip((each.weight for each in listed), terms, strict=False))

    return PodTerms(
        required("requiredAffinityTerms", near.required_during_scheduling_ignored_during_execution),
        required(
            "requiredAntiAffinityTerms", away.required_during_scheduling_ignored_during_execution
        ),
        preferred("preferredAffinityTerms", near),
        preferred("preferredAntiAffinityTerms", away),
        tuple(errors),
    )


_parsed: dict[tuple[int, str], tuple[Affinity, PodTerms]] = {}


def terms_of(pod: Pod) -> PodTerms:
    """The result of `parse`, cached by affinity object and namespace.

    Queueing hints ask for the terms of every waiting pod whenever a pod comes, goes or changes.
    """
    affinity = pod.spec.affinity
    if affinity is None:
        return NO_TERMS
    key = (id(affinity), pod.namespace)
    known = _parsed.get(key)
    if known is None or known[0] is not affinity:
        if len(_parsed) >= KEPT:
            _parsed.clear()
        known = _parsed[key] = (affinity, parse(pod))
    return known[1]


def _term(pod: Pod, term: PodAffinityTerm) -> AffinityTerm:
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        frozenset((pod.namespace,) if own else term.namespaces),
        selectors.compile(term.label_selector),
        term.topology_key,
        selectors.compile(term.namespace_selector),
    )
