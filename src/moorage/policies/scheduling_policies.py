"""SchedulingPolicies: applies SchedulingPolicy documents to the pods they are assigned to."""

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.api.pod import Pod
from moorage.api.resource_amounts import is_scalar
from moorage.api.selectors import SelectorError
from moorage.cache import selector_masks
from moorage.cache.column_cache import Depends
from moorage.cache.node_view import Nodes
from moorage.config import scheduling_policy
from moorage.config.field_errors import ConfigError
from moorage.config.scheduling_policy import SchedulingPolicy
from moorage.framework import score_range
from moorage.framework.cycle import Cycle
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import Filter, PreFilter, Score
from moorage.framework.verdicts import MAX_SCORE, SKIP, Rejection, Skip, unresolvable
from moorage.policies import label_values, scheduling_policy_rules
from moorage.policies.load import requested_load
from moorage.policies.scheduling_policy_rules import Assignment, PolicyChooser, PolicyRules

MISMATCH: Final = "node(s) didn't match the node affinity of the pod's SchedulingPolicy"
NO_SUCH_POLICY: Final = 'the pod names the SchedulingPolicy "{}", which does not exist'

_MISMATCH, _NO_SUCH_POLICY = 1, 2

Floats = NDArray[np.float64]


class SchedulingPolicies(PreFilter, Filter, Score, frozen=True):
    """Every pod has one of the `policies`, or none; `PolicyChooser` chooses it.

    - `nodeAffinity`: required terms refuse nodes, preferred terms score.
    - `resourceWeights`: what is left of each resource scores, by weight (cpu, memory, storage,
      pods, and extended resources that the pod requests).
    - `tolerations` are added to the pod's own, for all plugins. This needs PreFilter, so enable the
      plugin at multiPoint.

    The score is the mean of those two parts that the policy has. A pod is refused if its label
    `policyLabel`, or that of its namespace, names a policy that does not exist.
    namespace's label, `policyLabel` names a policy that does not exist is refused.
    """

    policies: tuple[SchedulingPolicy, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    default_policy: str = "default-policy"
    policy_label: str = "moorage.io/scheduling-policy"

    depends = Depends.USAGE

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        names = [document["metadata"].get("name", "") for document in args["policies"]]
        return [
            *_policy_faults(args["policies"], names),
            *_assignment_faults(args["assignments"], names),
        ]

    @cached_property
    def rules(self) -> dict[str, PolicyRules]:
        """The policies by name, compiled."""
        return {each.name: scheduling_policy_rules.compile_policy(each) for each in self.policies}

    @cached_property
    def choosing(self) -> PolicyChooser:
        return PolicyChooser(
            self.policies, self.assignments, self.policy_label, self.default_policy
        )

    def name(self, cycle: Cycle) -> str | None:
        """The name of the pod's policy, or None."""
        pod = cycle.pod
        return self.choosing.name(pod, lambda key: label_values.namespace_label(cycle, pod, key))

    def sign(self, cycle: Cycle) -> Hashable:
        name = self.name(cycle)
        found = self.rules.get(name or "")
        return name, tuple(_asked(cycle, found)) if found is not None else ()

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Rejection | Skip | None:
        name = self.name(cycle)
        if name is None:
            return SKIP
        found = self.rules.get(name)
        if found is None:
            return unresolvable(NO_SUCH_POLICY.format(name))
        if found.tolerations:
            cycle.consider(cycle.cache.info(_tolerating(cycle.pod, found)))
        return None if found.required is not None else SKIP

    def filter_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int32]) -> None:
        name = self.name(cycle)
        found = self.rules.get(name or "")
        if found is not None and found.required is not None:
            out[~selector_masks.any_term(found.required, nodes)] = _MISMATCH
        elif found is None and name is not None:
            out[:] = _NO_SUCH_POLICY

    def rejection(self, cycle: Cycle, pod: Pod, code: int) -> Rejection:
        if code == _NO_SUCH_POLICY:
            return unresolvable(NO_SUCH_POLICY.format(self.name(cycle)))
        return unresolvable(MISMATCH)

    def score_all(self, cycle: Cycle, pod: Pod, nodes: Nodes, out: NDArray[np.int64]) -> None:
        found = self.rules.get(self.name(cycle) or "")
        if found is None:
            return
        parts = []
        if found.weights:
            parts.append(_left(cycle, found, nodes))
        if found.preferred:
            parts.append(_preferred(found, nodes))
        if parts:
            score_range.write_scores(np.mean(parts, axis=0), out)

    def events(self) -> tuple[EventHint, ...]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        pod = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
        return EventHint(node), EventHint(pod), label_values.NAMESPACE_LABELLED


def _tolerating(pod: Pod, found: PolicyRules) -> Pod:
    """The pod with the policy's tolerations added to its own."""
    own = pod.spec.tolerations
    added = (each for each in found.tolerations if each not in own)
    spec = msgspec.structs.replace(pod.spec, tolerations=(*own, *added))
    return msgspec.structs.replace(pod, spec=spec)


def _asked(cycle: Cycle, found: PolicyRules) -> Iterator[int]:
    """The pod's request for each resource that the policy weighs."""
    return (
        requested_load.pod_request(cycle.incoming, cycle.table, name) for name, _ in found.weights
    )


def _left(cycle: Cycle, found: PolicyRules, nodes: Nodes) -> Floats:
    """What would be left in percent, by weight; resources a node lacks do not count.  (node)"""
    total, weights = np.zeros(nodes.count), np.zeros(nodes.count)
    for (name, weight), more in zip(found.weights, _asked(cycle, found), strict=True):
        if not more and is_scalar(name):
            continue
        share = requested_load.used_share(nodes, name, more)
        total += weight * np.nan_to_num(1.0 - np.minimum(share, 1.0))
        weights += weight * ~np.isnan(share)
    return MAX_SCORE * total / np.maximum(weights, 1)


def _preferred(found: PolicyRules, nodes: Nodes) -> Floats:
    """The share of preferred terms that match, in percent, by weight.  (node)"""
    total = np.zeros(nodes.count)
    for weight, term in found.preferred:
        total += weight * selector_masks.all_requirements(term, nodes)
    return MAX_SCORE * total / sum(weight for weight, _ in found.preferred)


def _policy_faults(documents: list[dict[str, Any]], names: list[str]) -> Iterator[str]:
    for index, document in enumerate(documents):
        place = f"policies[{index}]"
        try:
            scheduling_policy.load_policies(document)
        except ConfigError as error:
            yield from (f"{place}.{problem.place}: {problem.message}" for problem in error.problems)
        if names[index] in names[:index]:
            yield f'{place}.metadata.name: Duplicate value: "{names[index]}"'


def _assignment_faults(assignments: list[dict[str, Any]], names: list[str]) -> Iterator[str]:
    for index, given in enumerate(assignments):
        place = f"assignments[{index}]"
        if given["policy"] not in names:
            yield f'{place}.policy: there is no policy "{given["policy"]}"'
        if not (given.get("podSelector") or given["namespaces"] or given["priorityClasses"]):
            yield f"{place}: give a podSelector, namespaces or priorityClasses"
        try:
            PolicyChooser((), (msgspec.convert(given, Assignment),), "", "")
        except SelectorError as error:
            yield f"{place}.podSelector: {error}"
