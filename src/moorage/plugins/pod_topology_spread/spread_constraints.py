"""A pod's topologySpreadConstraints compiled, and which nodes each of them counts."""

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api import selectors
from moorage.api.affinity import TopologySpreadConstraint
from moorage.api.node_selectors import NodeTerm, compile_node_selector
from moorage.api.pod import Pod, PodSpec
from moorage.api.selectors import NOTHING, Selector, SelectorError
from moorage.api.taints import NO_EXECUTE, NO_SCHEDULE, Toleration, find_untolerated
from moorage.cache import selector_masks
from moorage.cache.label_columns import MISSING
from moorage.cache.node_view import Nodes
from moorage.cache.pod_selection import Clause, PodSelection

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"

_HONOR = "Honor"
_REPELLING = (NO_SCHEDULE, NO_EXECUTE)


class NodeInclusion(msgspec.Struct, frozen=True, cache_hash=True):
    """Which nodes count: those with all keys that match the node selector and are tolerated.

    `terms` is None if there is no required node affinity or it is not honoured; `tolerations` is
    None if taints are ignored.
    """

    keys: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = None

    def mask(self, nodes: Nodes) -> NDArray[np.bool_]:
        """bool (node)"""
        if not all(map(nodes.table.has_label, self.keys)):
            return np.zeros(nodes.count, dtype=bool)
        counted = selector_masks.has_labels(self.labels, nodes)
        for key in self.keys:
            counted &= nodes.label(key) != MISSING
        if self.terms is not None:
            counted &= selector_masks.any_term(self.terms, nodes)
        if self.tolerations is not None:
            sets = nodes.table.taint_sets.values
            welcome = (find_untolerated(s, self.tolerations, _REPELLING) is None for s in sets)
            counted &= np.fromiter(welcome, dtype=bool, count=len(sets))[nodes.taint_set]
        return counted


_EVERY_NODE = NodeInclusion()


class Constraint(msgspec.Struct, frozen=True):
    """One constraint, compiled for the pods of one namespace with equal labels.

    `counted` selects the pods to count; for a selector that selects everything it selects none.
    `included` is None if every node that has the topology key counts.
    """

    topology_key: str
    max_skew: int
    min_domains: int
    selector: Selector
    selects_self: bool
    counted: PodSelection
    included: NodeInclusion | None


class SpreadPlan(msgspec.Struct, frozen=True):
    """All constraints of a pod; an error is set if they cannot be compiled, to be raised later."""

    hard: tuple[Constraint, ...] = ()
    soft: tuple[Constraint, ...] = ()
    hard_error: SelectorError | None = None
    soft_error: SelectorError | None = None
    needs_all_keys: bool = True
    """Whether nodes that lack a key of a soft constraint are ignored in scoring."""


NO_PLAN = SpreadPlan()


def compile_plan(
    pod: Pod,
    listed: Iterable[TopologySpreadConstraint],
    selector: Selector | None,
    needs_all_keys: bool,
) -> SpreadPlan:
    """Compile constraints; `selector`, if given, replaces their own selectors."""
    listed = tuple(listed)
    hard, hard_error = _compile_all(pod, listed, HARD, selector, True)
    soft, soft_error = _compile_all(pod, listed, SOFT, selector, needs_all_keys)
    return SpreadPlan(hard, soft, hard_error, soft_error, needs_all_keys)


def _compile_all(
    pod: Pod,
    listed: Iterable[TopologySpreadConstraint],
    action: str,
    selector: Selector | None,
    needs_all_keys: bool,
) -> tuple[tuple[Constraint, ...], SelectorError | None]:
    wanted = [each for each in listed if each.when_unsatisfiable == action]
    keys = {each.topology_key for each in wanted} if needs_all_keys else set()
    try:
        return tuple(_compile(pod, each, selector, keys) for each in wanted), None
    except SelectorError as error:
        return (), error


def _compile(
    pod: Pod, constraint: TopologySpreadConstraint, given: Selector | None, keys: set[str]
) -> Constraint:
    selector = effective_selector(pod, constraint) if given is None else given
    countable = NOTHING if selector.selects_everything else selector
    included = _inclusion(pod.spec, constraint, keys - {constraint.topology_key})
    return Constraint(
        constraint.topology_key,
        constraint.max_skew,
        1 if constraint.min_domains is None else constraint.min_domains,
        selector,
        selector.matches(pod.labels),
        PodSelection((Clause(frozenset((pod.namespace,)), countable),), dying=False),
        None if included == _EVERY_NODE else included,
    )


def effective_selector(pod: Pod, constraint: TopologySpreadConstraint) -> Selector:
    """The constraint's selector, narrowed by the pod's own values of `matchLabelKeys`."""
    labels = pod.labels
    own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    return selectors.compile(constraint.label_selector).with_labels(own)


def _inclusion(
    spec: PodSpec, constraint: TopologySpreadConstraint, keys: set[str]
) -> NodeInclusion:
    honours_affinity = constraint.node_affinity_policy in (None, _HONOR)
    return NodeInclusion(
        tuple(sorted(keys)),
        tuple(sorted(spec.node_selector.items())) if honours_affinity else (),
        _required_terms(spec) if honours_affinity else None,
        spec.tolerations if constraint.node_taints_policy == _HONOR else None,
    )


def _required_terms(spec: PodSpec) -> tuple[NodeTerm, ...] | None:
    """The required node affinity; terms that cannot be parsed match no node."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    return compile_node_selector(required)[0] if required else None
