"""PodTopologySpread: its extension points, compiled plans, and events that may help a pod."""

from collections.abc import Iterable
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.affinity import TopologySpreadConstraint
from moorage.api.node import Node
from moorage.api.node_selectors import required_affinity_matches
from moorage.api.pod import Pod, PodSpec
from moorage.api.selectors import Selector
from moorage.cache.node_view import Nodes
from moorage.cache.pod_counters import PodCounters
from moorage.cache.pod_sets import LabelGroup
from moorage.framework.cycle import Cycle
from moorage.framework.events import (
    Action,
    ClusterEvent,
    EventHint,
    Hint,
    Resource,
)
from moorage.framework.plugin import Needs
from moorage.framework.points import Filter, PreFilter, PreScore, Score
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable, unschedulable
from moorage.plugins.pod_topology_spread import spread_constraints, spread_filter, spread_score
from moorage.plugins.pod_topology_spread.default_constraints import (
    SYSTEM_DEFAULTS,
    DefaultSelectors,
)
from moorage.plugins.pod_topology_spread.spread_constraints import (
    HARD,
    NO_PLAN,
    Constraint,
    SpreadPlan,
    compile_plan,
)

_PLANS_KEPT = 4096


class _CompiledPlan(NamedTuple):
    """A plan, and what it was compiled from."""

    listed: tuple[TopologySpreadConstraint, ...]
    selector: Selector | None
    spec: PodSpec
    plan: SpreadPlan

    def serves(
        self,
        listed: tuple[TopologySpreadConstraint, ...],
        selector: Selector | None,
        spec: PodSpec,
    ) -> bool:
        return (
            self.listed == listed
            and self.selector == selector
            and self.spec.node_selector == spec.node_selector
            and self.spec.affinity == spec.affinity
            and self.spec.tolerations == spec.tolerations
        )


class CompiledPlans:
    """The last plan of each label group, for one profile."""

    __slots__ = ("_made", "selectors")

    def __init__(self) -> None:
        self.selectors = DefaultSelectors()
        self._made: dict[LabelGroup, _CompiledPlan] = {}

    def of(
        self,
        pod: Pod,
        group: LabelGroup,
        listed: tuple[TopologySpreadConstraint, ...],
        selector: Selector | None,
        needs_all_keys: bool,
    ) -> SpreadPlan:
        """The plan for a pod; `selector`, if given, replaces the constraints' own selectors."""
        made = self._made.get(group)
        if made is None or not made.serves(listed, selector, pod.spec):
            if len(self._made) >= _PLANS_KEPT:
                self._made.clear()
            plan = compile_plan(pod, listed, selector, needs_all_keys)
            made = self._made[group] = _CompiledPlan(listed, selector, pod.spec, plan)
        return made.plan


def after_assigned_pod_change(
    pod: Pod, constraints: tuple[Constraint, ...], old: Pod | None, new: Pod | None
) -> Hint:
    """Queue if a selected pod on a node came or went, or a change of labels selects it or not.

    Pods of other namespaces are ignored.
    """
    if any(each is not None and not _involved(each, pod) for each in (old, new)):
        return Hint.SKIP
    if old is not None and new is not None:
        return after_label_change(constraints, old, new)
    changed = new if new is not None else old
    assert changed is not None
    selected = any(each.selector.matches(changed.labels) for each in constraints)
    return Hint.QUEUE if selected else Hint.SKIP


def after_target_pod_change(constraints: tuple[Constraint, ...], old: Pod, new: Pod) -> Hint:
    """Queue if the pod's tolerations changed and taints count, or a selector's match changed."""
    if old.spec.tolerations != new.spec.tolerations and any(map(_honours_taints, constraints)):
        return Hint.QUEUE
    return after_label_change(constraints, old, new)


def after_label_change(constraints: tuple[Constraint, ...], old: Pod, new: Pod) -> Hint:
    if old.labels == new.labels:
        return Hint.SKIP
    changed = any(
        each.selector.matches(old.labels) != each.selector.matches(new.labels)
        for each in constraints
    )
    return Hint.QUEUE if changed else Hint.SKIP


def after_node_change(
    pod: Pod, constraints: tuple[Constraint, ...], old: Node | None, new: Node | None
) -> Hint:
    """Queue if a node has all topology keys and changed its domain, its taints, or whether it
    counts under the pod's node affinity; or if it gained or lost the keys, came or went."""
    was = old is not None and _has_all_keys(old, constraints)
    now = new is not None and _has_all_keys(new, constraints)
    if old is None or new is None:
        return Hint.QUEUE if was or now else Hint.SKIP
    if was != now:
        return Hint.QUEUE
    moved = any(
        old.labels.get(each.topology_key, "") != new.labels.get(each.topology_key, "")
        for each in constraints
    )
    changed = moved or old.taints != new.taints or _counts_otherwise(pod, constraints, old, new)
    return Hint.QUEUE if now and changed else Hint.SKIP


def _counts_otherwise(pod: Pod, constraints: tuple[Constraint, ...], old: Node, new: Node) -> bool:
    if old.labels == new.labels or not any(map(_honours_node_affinity, constraints)):
        return False
    return required_affinity_matches(pod, old) != required_affinity_matches(pod, new)


def _involved(changed: Pod, pod: Pod) -> bool:
    placed = changed.spec.node_name or changed.status.nominated_node_name
    return bool(placed) and changed.namespace == pod.namespace


def _honours_taints(constraint: Constraint) -> bool:
    return constraint.included is not None and constraint.included.tolerations is not None


def _honours_node_affinity(constraint: Constraint) -> bool:
    included = constraint.included
    return included is not None and bool(included.labels or included.terms is not None)


def _has_all_keys(node: Node, constraints: tuple[Constraint, ...]) -> bool:
    return all(each.topology_key in node.labels for each in constraints)


def _ignores_labels(pod: Pod) -> bool:
    """Whether the pod's constraints do not depend on its own labels (no `matchLabelKeys`)."""
    constraints = pod.spec.topology_spread_constraints
    return not any(constraint.match_label_keys for constraint in constraints)


MISMATCH = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{MISMATCH} (missing required label)"

_NAME = "PodTopologySpread"
_PLAN, _TRIAL, _WEIGHED = "PodTopologySpread", "PodTopologySpread/trial", "PodTopologySpread/score"


class PodTopologySpread(PreFilter, Filter, PreScore, Score, frozen=True):
    same_for_equal_pods = True
    reads_claims = False
    needs: ClassVar[Needs] = {"filter": "preFilter", "score": "preScore"}
    scores_in_range = True

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Literal["System", "List"] = "System"

    @property
    def defaults(self) -> tuple[TopologySpreadConstraint, ...]:
        return SYSTEM_DEFAULTS if self.defaulting_type == "System" else self.default_constraints

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        plan = self._plan(cycle)
        if plan.hard_error is not None:
            raise plan.hard_error
        if not plan.hard:
            return SKIP
        cycle.state[_TRIAL] = spread_filter.UncountedPods(plan, pod.namespace, cycle.table)
        return None

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        spread_filter.write_refusals(PodCounters.of(cycle.table), cycle.state[_TRIAL], nodes, out)

    def accepts_fewer(self, cycle: Cycle, pod: Pod) -> bool:
        """True: with fewer pods, a node's domain comes closer to the least, or is the least."""
        return True

    def label_keys(self, cycle: Cycle) -> Iterable[str] | None:
        """The keys in the constraints' selectors and `matchLabelKeys`.

        None for default constraints: services may select by any label.
        """
        listed = cycle.pod.spec.topology_spread_constraints
        if not listed:
            return None
        selected = chain.from_iterable(each.selector.keys for each in self._plan(cycle).hard)
        return {*selected, *chain.from_iterable(each.match_label_keys for each in listed)}

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code == spread_filter.UNLABELLED:
            return unresolvable(MISSING_LABEL)
        return unschedulable(MISMATCH)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        plan = self._plan(cycle)
        if plan.soft_error is not None:
            raise plan.soft_error
        if not plan.soft:
            return SKIP
        counters = PodCounters.of(cycle.table)
        cycle.state[_WEIGHED] = spread_score.weigh_constraints(counters, plan, nodes)
        return None

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        weighed = cycle.state[_WEIGHED]
        spread_score.score(PodCounters.of(cycle.table), weighed, nodes, out)

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        counters = PodCounters.of(cycle.table)
        spread_score.normalize(counters, cycle.state[_WEIGHED], nodes, scores)

    def _plan(self, cycle: Cycle) -> SpreadPlan:
        """The pod's constraints compiled, once per attempt."""
        plan: SpreadPlan | None = cycle.state.get(_PLAN)
        if plan is None:
            plan = cycle.state[_PLAN] = self._compile(cycle)
        return plan

    def _compile(self, cycle: Cycle) -> SpreadPlan:
        """The pod's constraints compiled, or the default constraints if it has none."""
        pod = cycle.pod
        plans: CompiledPlans | None = cycle.shared.get(_NAME)
        if plans is None:
            plans = cycle.shared[_NAME] = CompiledPlans()
        own = pod.spec.topology_spread_constraints
        if not own and not (self.defaults and plans.selectors.may_belong(pod, cycle.cache.objects)):
            return NO_PLAN
        group = PodCounters.of(cycle.table).census.standing(cycle.incoming.cls).living
        if own:
            return plans.of(pod, group, own, None, True)
        selector = plans.selectors.of(pod, group, cycle.cache.objects)
        if selector.selects_everything:
            return NO_PLAN
        return plans.of(pod, group, self.defaults, selector, self.defaulting_type != "System")

    def events(self) -> tuple[EventHint, ...]:
        assigned = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        target = Action.UPDATE_POD_TOLERATION | Action.UPDATE_POD_LABEL
        node = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return (
            EventHint(
                ClusterEvent(Resource.ASSIGNED_POD, assigned),
                self._after_assigned_pod,
                per_spec=_ignores_labels,
            ),
            EventHint(ClusterEvent(Resource.TARGET_POD, target), self._after_target_pod),
            EventHint(
                ClusterEvent(Resource.NODE, node), self._after_node, per_spec=_ignores_labels
            ),
        )

    def _hard(self, pod: Pod) -> tuple[Constraint, ...] | None:
        """The pod's hard constraints; None if they are unknown here: defaults need the cluster."""
        if pod.spec.topology_spread_constraints:
            plan = spread_constraints.compile_plan(
                pod, pod.spec.topology_spread_constraints, None, True
            )
            return plan.hard if plan.hard_error is None else None
        defaulted = any(each.when_unsatisfiable == HARD for each in self.defaults)
        return None if defaulted else ()

    def _after_assigned_pod(self, pod: Pod, old: Any, new: Any) -> Hint:
        hard = self._hard(pod)
        if hard is None:
            return Hint.QUEUE
        return after_assigned_pod_change(pod, hard, old, new)

    def _after_target_pod(self, pod: Pod, old: Any, new: Any) -> Hint:
        hard = self._hard(pod)
        if hard is None or (old.labels != new.labels and self._hard(old) != hard):
            return Hint.QUEUE  # `matchLabelKeys` have other values, or the pod selects itself now
        return after_target_pod_change(hard, old, new)

    def _after_node(self, pod: Pod, old: Any, new: Any) -> Hint:
        hard = self._hard(pod)
        return Hint.QUEUE if hard is None else after_node_change(pod, hard, old, new)
