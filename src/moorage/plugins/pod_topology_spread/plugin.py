"""The plugin: constraints of the pod or defaults, hard ones for Filter, soft ones for Score."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from moorage.api.affinity import TopologySpreadConstraint
from moorage.api.pod import Pod
from moorage.cache.counters import PodCounters
from moorage.cache.view import Nodes
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import Filter, PreFilter, PreScore, Score
from moorage.framework.verdicts import SKIP, Rejection, Skip, unresolvable, unschedulable
from moorage.plugins.pod_topology_spread import constraints, filtering, hints, scoring
from moorage.plugins.pod_topology_spread.constraints import HARD, NO_PLAN, Constraint, Plan
from moorage.plugins.pod_topology_spread.defaults import SYSTEM_DEFAULTS
from moorage.plugins.pod_topology_spread.plans import Plans

MISMATCH = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{MISMATCH} (missing required label)"

_NAME = "PodTopologySpread"
_PLAN, _TRIAL, _WEIGHED = "PodTopologySpread", "PodTopologySpread/trial", "PodTopologySpread/score"


class PodTopologySpread(PreFilter, Filter, PreScore, Score, frozen=True):
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
        cycle.state[_TRIAL] = filtering.Trial(plan, pod.namespace, cycle.table)
        return None

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        filtering.refuse(PodCounters.of(cycle.table), cycle.state[_TRIAL], nodes, out)

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code == filtering.UNLABELLED:
            return unresolvable(MISSING_LABEL)
        return unschedulable(MISMATCH)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        plan = self._plan(cycle)
        if plan.soft_error is not None:
            raise plan.soft_error
        if not plan.soft:
            return SKIP
        counters = PodCounters.of(cycle.table)
        cycle.state[_WEIGHED] = scoring.weigh(counters, plan, nodes)
        return None

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        weighed = cycle.state[_WEIGHED]
        scoring.score(PodCounters.of(cycle.table), weighed, nodes, out)

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: NDArray[np.int64]) -> None:
        counters = PodCounters.of(cycle.table)
        scoring.normalize(counters, cycle.state[_WEIGHED], nodes, scores)

    def _plan(self, cycle: Cycle) -> Plan:
        """The pod's constraints compiled, once per attempt."""
        plan: Plan | None = cycle.state.get(_PLAN)
        if plan is None:
            plan = cycle.state[_PLAN] = self._compile(cycle)
        return plan

    def _compile(self, cycle: Cycle) -> Plan:
        """The pod's constraints compiled, or the defaults where it brings none."""
        pod = cycle.pod
        plans: Plans | None = cycle.shared.get(_NAME)
        if plans is None:
            plans = cycle.shared[_NAME] = Plans()
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
            EventHint(ClusterEvent(Resource.ASSIGNED_POD, assigned), self._after_assigned_pod),
            EventHint(ClusterEvent(Resource.TARGET_POD, target), self._after_target_pod),
            EventHint(ClusterEvent(Resource.NODE, node), self._after_node),
        )

    def _hard(self, pod: Pod) -> tuple[Constraint, ...] | None:
        """What a hint can know of the pod's hard constraints; None where it cannot know."""
        if pod.spec.topology_spread_constraints:
            plan = constraints.compile_plan(pod, pod.spec.topology_spread_constraints, None, True)
            return plan.hard if plan.hard_error is None else None
        defaulted = any(each.when_unsatisfiable == HARD for each in self.defaults)
        return None if defaulted else ()

    def _after_assigned_pod(self, pod: Pod, old: Any, new: Any) -> Hint:
        hard = self._hard(pod)
        if hard is None:
            return Hint.QUEUE
        return hints.after_assigned_pod_change(pod, hard, old, new)

    def _after_target_pod(self, pod: Pod, old: Any, new: Any) -> Hint:
        hard = self._hard(pod)
        return Hint.QUEUE if hard is None else hints.after_target_pod_change(hard, old, new)

    def _after_node(self, pod: Pod, old: Any, new: Any) -> Hint:
        hard = self._hard(pod)
        return Hint.QUEUE if hard is None else hints.after_node_change(hard, old, new)
