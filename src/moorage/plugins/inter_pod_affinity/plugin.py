"""InterPodAffinity: required terms for Filter, preferred for Score, and events that may help."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache import affinity_terms
from moorage.cache.affinity_terms import AffinityTerm, PodTerms
from moorage.cache.node_view import Nodes
from moorage.cache.pod_counters import PodCounters
from moorage.cache.pod_sets import LabelGroup
from moorage.cache.podinfo import Feature
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Keyed, Resource
from moorage.framework.plugin import Needs
from moorage.framework.points import Filter, PreFilter, PreScore, Score
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable, unschedulable
from moorage.plugins.inter_pod_affinity import affinity_filter, affinity_score
from moorage.plugins.inter_pod_affinity.compiled_terms import (
    ExistingTerms,
    ExistingTermsCache,
    IncomingTermsCache,
)


def after_assigned_pod_change(pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
    """Queue if the changed pod now matches all affinity terms, or no longer excludes the pod.

    Queue also if a pod that matches the affinity terms is gone and the pod matches its own terms:
    if that was the last one, the pod is the first of its kind and may go anywhere.
    """
    if not (_is_placed_or_none(old) and _is_placed_or_none(new)):
        return Hint.SKIP
    terms = affinity_terms.terms_of(pod)
    if terms.errors or _pod_change_helps(terms, pod, old, new):
        return Hint.QUEUE
    return Hint.SKIP


def may_help_some(pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
    """Whether the change may help a pod of this spec, whatever its labels.

    The pod's labels matter if the changed pod has anti-affinity or matches the affinity terms: in
    these cases the answer is Queue.
    """
    if not (_is_placed_or_none(old) and _is_placed_or_none(new)):
        return Hint.SKIP
    terms = affinity_terms.terms_of(pod)
    if terms.errors:
        return Hint.QUEUE
    if old is not None and _matches_all(terms.affinity, old):
        return Hint.QUEUE
    if new is None and old is not None and affinity_terms.terms_of(old).anti_affinity:
        return Hint.QUEUE
    return Hint.QUEUE if _pod_change_helps(terms, pod, old, new) else Hint.SKIP


def _label_sought(pod: Pod) -> tuple[str, str] | None:
    """A label that every pod matching the affinity terms must have.

    None if the pod also has anti-affinity, or if the terms require no single label value.
    """
    terms = affinity_terms.terms_of(pod)
    if terms.errors or terms.anti_affinity:
        return None
    asked = (each for term in terms.affinity for each in term.selector.requirements)
    return next(((each.key, each.values[0]) for each in asked if each.is_equality), None)


def _labels_of(old: Pod | None, new: Pod | None) -> set[tuple[str, str]] | None:
    """The labels of the changed pod, old and new; None if a pod with anti-affinity is gone."""
    if new is None and old is not None and affinity_terms.terms_of(old).anti_affinity:
        return None
    return {label for pod in (old, new) if pod is not None for label in pod.labels.items()}


def _pod_change_helps(terms: PodTerms, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    if new is None:
        assert old is not None
        shunned = _matches_any(terms.anti_affinity, old)
        shunning = _matches_any(affinity_terms.terms_of(old).anti_affinity, pod)
        return shunned or shunning or _may_be_first(terms, pod, old)
    came_near = _matches_all(terms.affinity, new)
    if old is None:
        return came_near
    went_away = _matches_any(terms.anti_affinity, old) and not _matches_any(
        terms.anti_affinity, new
    )
    was_near = _matches_all(terms.affinity, old)
    if was_near and not came_near:
        return went_away or _may_be_first(terms, pod, old)
    return went_away or (came_near and not was_near)


def _may_be_first(terms: PodTerms, pod: Pod, gone: Pod) -> bool:
    """Whether the pod matches its own affinity terms, and so did the pod that is gone."""
    return _matches_all(terms.affinity, pod) and _matches_all(terms.affinity, gone)


def after_node_change(pod: Pod, old: Node | None, new: Node) -> Hint:
    """Queue if a node is new and has a topology key of the pod, or has changed its topology.

    1. A new node with a topology key of an affinity term may hold a matching pod, which counts for
       the other nodes of its domain too.
    2. For a pod with anti-affinity, or without required affinity, any new node may help.
    3. A changed node helps if it came to another domain of an affinity term's key, or if one of its
       labels was changed or removed: a pod that excluded its old domain may have left that domain.
    """
    terms = affinity_terms.terms_of(pod)
    if terms.errors:
        return Hint.QUEUE
    sought = [term.topology_key for term in terms.affinity]
    if old is None:
        anywhere = not sought or bool(terms.anti_affinity)
        helps = anywhere or any(key in new.labels for key in sought)
        return Hint.QUEUE if helps else Hint.SKIP
    came = any(key in new.labels and old.labels.get(key) != new.labels[key] for key in sought)
    left = any(new.labels.get(key) != value for key, value in old.labels.items())
    return Hint.QUEUE if came or left else Hint.SKIP


def _is_placed_or_none(pod: Pod | None) -> bool:
    return pod is None or bool(pod.spec.node_name or pod.status.nominated_node_name)


def _matches_all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    return bool(terms) and all(term.may_match(pod) for term in terms)


def _matches_any(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    return bool(terms) and any(term.may_match(pod) for term in terms)


AFFINITY_MISMATCH = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_MISMATCH = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_MISMATCH = "node(s) didn't satisfy existing pods anti-affinity rules"

_NAME = "InterPodAffinity"
_DOMAIN_SCORES = "PreScoreInterPodAffinity"


class _TermCaches:
    """The caches of one profile, which outlive attempts."""

    __slots__ = ("sayings", "wishes")

    def __init__(self) -> None:
        self.sayings = ExistingTermsCache()
        self.wishes = IncomingTermsCache()


def _term_caches(cycle: Cycle) -> _TermCaches:
    found: _TermCaches | None = cycle.shared.get(_NAME)
    if found is None:
        found = cycle.shared[_NAME] = _TermCaches()
    return found


class InterPodAffinity(PreFilter, Filter, PreScore, Score, frozen=True):
    same_for_equal_pods = True
    reads_claims = False
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    needs: ClassVar[Needs] = {"filter": "preFilter", "score": "preScore"}
    scores_in_range = True

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        if _nobody_cares(cycle):
            return SKIP
        counters = PodCounters.of(cycle.table)
        standing = counters.census.standing(cycle.incoming.cls)
        terms, group = standing.terms, standing.living
        if terms.errors:
            return unresolvable(f"parsing pod: {_joined(terms.errors)}")
        if not terms.requires and not (
            counters.census.has_terms
            and affinity_filter.is_repelled(counters, self._said(cycle, counters, group))
        ):
            return SKIP
        required = _term_caches(cycle).wishes.required(terms, group, cycle.cache.objects)
        cycle.state[_NAME] = (required, group)
        return None

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        required, group = cycle.state[_NAME]
        counters = PodCounters.of(cycle.table)
        affinity_filter.write_refusals(
            counters, required, self._said(cycle, counters, group), nodes, out
        )

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        """False if the pod has required affinity: a pod that leaves may be the one that matches."""
        required, _ = cycle.state[_NAME]
        return required.near is None

    def label_keys(self, cycle: Cycle) -> Iterable[str] | None:
        """The keys in existing pods' anti-affinity, and those in the pod's own affinity terms."""
        census = PodCounters.of(cycle.table).census
        shunned = census.keys_in_terms()
        sought = census.standing(cycle.incoming.cls).terms.affinity
        return None if shunned is None else shunned.union(*(term.selector.keys for term in sought))

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code & affinity_filter.AFFINITY:
            return unresolvable(AFFINITY_MISMATCH)
        if code & affinity_filter.ANTI_AFFINITY:
            return unschedulable(ANTI_AFFINITY_MISMATCH)
        return unschedulable(EXISTING_ANTI_AFFINITY_MISMATCH)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        if _nobody_cares(cycle):
            return SKIP
        counters = PodCounters.of(cycle.table)
        standing = counters.census.standing(cycle.incoming.cls)
        terms, heard = standing.terms, not self.ignore_preferred_terms_of_existing_pods
        if not terms.prefers and not (heard and counters.census.has_terms):
            return SKIP
        said = self._said(cycle, counters, standing.living)
        if not terms.prefers and not said.scored:
            return SKIP
        preferred = _term_caches(cycle).wishes.preferred(terms, cycle.cache.objects)
        worth = affinity_score.domain_scores(counters, preferred, said)
        if not worth:
            return SKIP
        cycle.state[_DOMAIN_SCORES] = worth
        return None

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        affinity_score.score(cycle.state[_DOMAIN_SCORES], nodes, out)

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        affinity_score.normalize(cycle.state[_DOMAIN_SCORES], nodes, scores)

    def _said(self, cycle: Cycle, counters: PodCounters, group: LabelGroup) -> ExistingTerms:
        return _term_caches(cycle).sayings.about(
            group, counters.census, cycle.cache.objects, self.hard_pod_affinity_weight
        )

    def events(self) -> tuple[EventHint, ...]:
        assigned = ClusterEvent(
            Resource.ASSIGNED_POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        )
        own = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (
            EventHint(
                assigned,
                after_assigned_pod_change,
                class_hint=may_help_some,
                per_spec=True,
                keyed=Keyed(_label_sought, _labels_of),
            ),
            EventHint(own, _after_own_labels),
            EventHint(node, after_node_change, per_spec=True),
        )


def _nobody_cares(cycle: Cycle) -> bool:
    """Whether neither the pod nor any pod on a node has affinity or anti-affinity."""
    asks = cycle.incoming.cls.features & Feature.POD_AFFINITY
    return not asks and not cycle.table.pods_with_affinity


def _after_own_labels(pod: Pod, old: Any, new: Any) -> Hint:
    """Always queue: existing pods' anti-affinity may not match the new labels."""
    return Hint.QUEUE


def _joined(errors: tuple[str, ...]) -> str:
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
