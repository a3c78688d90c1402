"""The plugin: required terms for Filter, preferred ones for Score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.cache.counters import PodCounters
from moorage.cache.podinfo import Feature
from moorage.cache.populations import LabelGroup
from moorage.cache.view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import Filter, PreFilter, PreScore, Score
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable, unschedulable
from moorage.plugins.inter_pod_affinity import filtering, hints, scoring
from moorage.plugins.inter_pod_affinity.existing import Said, Sayings
from moorage.plugins.inter_pod_affinity.incoming import Wishes

AFFINITY_MISMATCH = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_MISMATCH = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_MISMATCH = "node(s) didn't satisfy existing pods anti-affinity rules"

_NAME = "InterPodAffinity"
_WORTH = "PreScoreInterPodAffinity"


class _Shared:
    """What outlives an attempt, under one profile."""

    __slots__ = ("sayings", "wishes")

    def __init__(self) -> None:
        self.sayings = Sayings()
        self.wishes = Wishes()


def _shared(cycle: Cycle) -> _Shared:
    found: _Shared | None = cycle.shared.get(_NAME)
    if found is None:
        found = cycle.shared[_NAME] = _Shared()
    return found


class InterPodAffinity(PreFilter, Filter, PreScore, Score, frozen=True):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        counters, cls = PodCounters.of(cycle.table), cycle.incoming.cls
        if not cls.features & Feature.POD_AFFINITY and not counters.census.has_terms:
            return SKIP
        standing = counters.census.standing(cls)
        terms, group = standing.terms, standing.living
        if terms.errors:
            return unresolvable(f"parsing pod: {_joined(terms.errors)}")
        if not terms.requires and not (
            counters.census.has_terms
            and filtering.is_repelled(counters, self._said(cycle, counters, group))
        ):
            return SKIP
        required = _shared(cycle).wishes.required(terms, group, cycle.cache.objects)
        cycle.state[_NAME] = (required, group)
        return None

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        required, group = cycle.state[_NAME]
        counters = PodCounters.of(cycle.table)
        filtering.refuse(counters, required, self._said(cycle, counters, group), nodes, out)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code & filtering.AFFINITY:
            return unresolvable(AFFINITY_MISMATCH)
        if code & filtering.ANTI_AFFINITY:
            return unschedulable(ANTI_AFFINITY_MISMATCH)
        return unschedulable(EXISTING_ANTI_AFFINITY_MISMATCH)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        counters, cls = PodCounters.of(cycle.table), cycle.incoming.cls
        if not cls.features & Feature.POD_AFFINITY and not counters.census.has_terms:
            return SKIP
        standing = counters.census.standing(cls)
        terms, heard = standing.terms, not self.ignore_preferred_terms_of_existing_pods
        if not terms.prefers and not (heard and counters.census.has_terms):
            return SKIP
        said = self._said(cycle, counters, standing.living)
        if not terms.prefers and not said.scored:
            return SKIP
        preferred = _shared(cycle).wishes.preferred(terms, cycle.cache.objects)
        worth = scoring.worth(counters, preferred, said)
        if not worth:
            return SKIP
        cycle.state[_WORTH] = worth
        return None

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        scoring.score(cycle.state[_WORTH], nodes, out)

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        scoring.normalize(cycle.state[_WORTH], nodes, scores)

    def _said(self, cycle: Cycle, counters: PodCounters, group: LabelGroup) -> Said:
        return _shared(cycle).sayings.about(
            group, counters.census, cycle.cache.objects, self.hard_pod_affinity_weight
        )

    def events(self) -> tuple[EventHint, ...]:
        assigned = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        node = Action.ADD | Action.UPDATE_NODE_LABEL
        return (
            EventHint(
                ClusterEvent(Resource.ASSIGNED_POD, assigned), hints.after_assigned_pod_change
            ),
            EventHint(ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL), _always),
            EventHint(ClusterEvent(Resource.NODE, node), hints.after_node_change),
        )


def _always(pod: Pod, old: Any, new: Any) -> Hint:
    """New labels may please pods whose anti-affinity meant the old ones."""
    return Hint.QUEUE


def _joined(errors: tuple[str, ...]) -> str:
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
