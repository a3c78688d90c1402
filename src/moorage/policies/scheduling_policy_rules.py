"""SchedulingPolicy documents compiled, and the choice of the one that applies to a pod."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from moorage.api import selectors
from moorage.api.meta import LabelSelector
from moorage.api.node_selectors import NodeTerm, compile_node_selector, compile_preferred
from moorage.api.pod import NodeAffinity, Pod
from moorage.api.selectors import Selector
from moorage.api.taints import Toleration
from moorage.config.scheduling_policy import SchedulingPolicy
from moorage.config.types import ConfigStruct


class Assignment(ConfigStruct, frozen=True):
    """Selects the pods of a policy: everything stated must match."""

    policy: str
    pod_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    priority_classes: tuple[str, ...] = ()


class PolicyRules(NamedTuple):
    """A compiled policy."""

    name: str
    weights: tuple[tuple[str, int], ...]
    required: tuple[NodeTerm, ...] | None
    preferred: tuple[tuple[int, NodeTerm], ...]
    tolerations: tuple[Toleration, ...]


def compile_policy(policy: SchedulingPolicy) -> PolicyRules:
    """Compile a policy."""
    spec = policy.spec
    affinity = spec.node_affinity or NodeAffinity()
    wanted = affinity.required_during_scheduling_ignored_during_execution
    required = None if wanted is None else compile_node_selector(wanted)[0]
    preferred = compile_preferred(affinity.preferred_during_scheduling_ignored_during_execution)
    weights = tuple(sorted(spec.resource_weights.items()))
    return PolicyRules(policy.name, weights, required, preferred, spec.tolerations)


class PolicyChooser:
    """Chooses the policy of a pod. The first of these that names one decides:

    1. the pod's label;
    2. an assignment with a podSelector;
    3. the label of the pod's namespace, then an assignment with namespaces;
    4. an assignment with priorityClasses, then a policy whose priorityClass is the pod's;
    5. the default policy, if there is one of that name.

    Within one step, the policy listed first wins. Everything that an assignment states must match.
    The first of its criteria in this list determines its step.
    """

    def __init__(
        self,
        policies: Iterable[SchedulingPolicy],
        assignments: Iterable[Assignment],
        label: str,
        default: str,
    ) -> None:
        listed = list(policies)
        given = [(each, _selector(each)) for each in assignments]
        self._label = label
        self._default = default if default in {policy.name for policy in listed} else None
        self._by_labels = [pair for pair in given if pair[0].pod_selector is not None]
        others = [pair for pair in given if pair[0].pod_selector is None]
        self._by_namespace = [pair for pair in others if pair[0].namespaces]
        self._by_priority = [pair for pair in others if not pair[0].namespaces]
        self._of_class: dict[str, str] = {}
        for policy in listed:
            if policy.spec.priority_class:
                self._of_class.setdefault(policy.spec.priority_class, policy.name)

    def name(self, pod: Pod, namespace_label: Callable[[str], str | None]) -> str | None:
        """The name of the pod's policy, or None."""
        return (
            pod.labels.get(self._label)
            or _first_assigned(self._by_labels, pod)
            or namespace_label(self._label)
            or _first_assigned(self._by_namespace, pod)
            or _first_assigned(self._by_priority, pod)
            or self._of_class.get(pod.spec.priority_class_name)
            or self._default
        )


def _selector(assignment: Assignment) -> Selector:
    given = assignment.pod_selector
    return selectors.EVERYTHING if given is None else selectors.compile(given)


def _first_assigned(pairs: Iterable[tuple[Assignment, Selector]], pod: Pod) -> str | None:
    return next((each.policy for each, chosen in pairs if _holds(each, chosen, pod)), None)


def _holds(assignment: Assignment, chosen: Selector, pod: Pod) -> bool:
    return (
        chosen.matches(pod.labels)
        and (not assignment.namespaces or pod.namespace in assignment.namespaces)
        and (
            not assignment.priority_classes
            or pod.spec.priority_class_name in assignment.priority_classes
        )
    )
