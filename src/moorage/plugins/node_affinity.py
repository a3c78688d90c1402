"""NodeAffinity: nodeSelector, required and preferred node affinity, and addedAffinity."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from moorage.api.affinity import NodeAffinity as NodeAffinitySpec
from moorage.api.affinity import NodeSelector
from moorage.api.label_requirements import IN
from moorage.api.node import Node
from moorage.api.node_selectors import (
    NAME_FIELD,
    NodeTerm,
    compile_node_selector,
    compile_preferred,
    node_selector_matches,
    required_affinity_matches,
)
from moorage.api.pod import Pod
from moorage.cache import selector_masks
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.cache.podinfo import Feature, PodClass
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import Filter, PreFilter, PreScore, Score
from moorage.framework.score_range import check_range, normalize_by_maximum
from moorage.framework.verdicts import SKIP, NodeNames, Rejection, Skip, unresolvable

POD_MISMATCH = "node(s) didn't match Pod's node affinity/selector"
ENFORCED_MISMATCH = "node(s) didn't match scheduler-enforced node affinity"
CONFLICT = "pod affinity terms conflict"

_ENFORCED, _POD = 1, 2

PreferredTerms = tuple[tuple[int, NodeTerm], ...]


class CompiledAffinity:
    """The node selector and node affinity of a class of pods, compiled once."""

    __slots__ = ("error", "labels", "preferred", "required")

    def __init__(self, pod: Pod) -> None:
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        self.labels = tuple(sorted(pod.spec.node_selector.items()))
        self.required: tuple[NodeTerm, ...] | None = None
        self.preferred: PreferredTerms = ()
        self.error: Exception | None = None
        if affinity is None:
            return
        if affinity.required_during_scheduling_ignored_during_execution is not None:
            self.required, _ = compile_node_selector(
                affinity.required_during_scheduling_ignored_during_execution
            )
        try:
            self.preferred = compile_preferred(
                affinity.preferred_during_scheduling_ignored_during_execution
            )
        except ValueError as error:
            self.error = error


def compiled_affinity(cls: PodClass) -> CompiledAffinity:
    found = cls.memo.get("NodeAffinity")
    if found is None:
        found = cls.memo["NodeAffinity"] = CompiledAffinity(cls.sample)
    return found


class NodeAffinity(PreFilter, Filter, PreScore, Score, frozen=True):
    same_for_equal_pods = True
    reads_claims = False
    reads_labels = False
    added_affinity: NodeAffinitySpec | None = None

    depends = Depends.NODE
    scores_in_range = True

    @property
    def enforced(self) -> NodeSelector | None:
        added = self.added_affinity
        return added.required_during_scheduling_ignored_during_execution if added else None

    @property
    def added_terms(self) -> PreferredTerms:
        added = self.added_affinity
        if added is None:
            return ()
        return compile_preferred(added.preferred_during_scheduling_ignored_during_execution)

    def concerns(self) -> int:
        return Feature.ANYTHING if self.added_affinity else Feature.NODE_AFFINITY

    def sign(self, cycle: Cycle) -> Hashable:
        wished = compiled_affinity(cycle.incoming.cls)
        return wished.labels, wished.required, wished.preferred

    def pre_filter(self, cycle: Cycle, pod: Pod) -> NodeNames | Rejection | Skip | None:
        wished = compiled_affinity(cycle.incoming.cls)
        if wished.required is None and self.enforced is None and not wished.labels:
            return SKIP
        return named_nodes(pod)

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        wished = compiled_affinity(cycle.incoming.cls)
        if wished.labels:
            out[~selector_masks.has_labels(wished.labels, nodes)] = _POD
        if wished.required is not None:
            out[~selector_masks.any_term(wished.required, nodes)] = _POD
        if self.enforced is not None:
            terms, _ = compile_node_selector(self.enforced)
            out[~selector_masks.any_term(terms, nodes)] = _ENFORCED

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        return unresolvable(ENFORCED_MISMATCH if code == _ENFORCED else POD_MISMATCH)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        wished = compiled_affinity(cycle.incoming.cls)
        if wished.error is not None:
            raise wished.error
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        prefers = affinity and affinity.preferred_during_scheduling_ignored_during_execution
        return None if prefers or self.added_terms else SKIP

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        for weight, term in (*self.added_terms, *compiled_affinity(cycle.incoming.cls).preferred):
            out[selector_masks.all_requirements(term, nodes)] += weight

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        normalize_by_maximum(scores)
        terms = compiled_affinity(cycle.incoming.cls).preferred
        if self.added_affinity is not None:
            terms = (*self.added_terms, *terms)
        if any(weight < 0 for weight, _ in terms):
            check_range(scores)

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (EventHint(node, self._after_node_change, per_spec=True),)

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        was_matched = old is not None and self._matches(pod, old)
        return Hint.QUEUE if self._matches(pod, new) and not was_matched else Hint.SKIP

    def _matches(self, pod: Pod, node: Node) -> bool:
        enforced = self.enforced
        allowed = enforced is None or node_selector_matches(enforced, node)
        return allowed and required_affinity_matches(pod, node)


def named_nodes(pod: Pod) -> NodeNames | Rejection | None:
    """The nodes that required terms select by metadata.name; None unless every term does."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    if not required or not required.node_selector_terms:
        return None
    names: set[str] = set()
    for term in required.node_selector_terms:
        sets = [
            set(field.values)
            for field in term.match_fields
            if field.key == NAME_FIELD and field.operator == IN
        ]
        if not sets:
            return None
        names |= set.intersection(*sets)
    return NodeNames(frozenset(names)) if names else unresolvable(CONFLICT)
