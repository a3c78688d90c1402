"""Validation of the arguments of kube-scheduler's own plugins, with its error texts."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from moorage.api import name_validation
from moorage.api.pod import TopologySpreadConstraint
from moorage.config import node_affinity_validation
from moorage.config import plugin_args as types
from moorage.config.durations import Duration
from moorage.config.field_errors import (
    Path,
    Report,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from moorage.config.types import ConfigStruct
from moorage.devices import feature_gates

_STRATEGIES: Final = (
    types.LEAST_ALLOCATED,
    types.MOST_ALLOCATED,
    types.REQUESTED_TO_CAPACITY_RATIO,
)
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")


def validate_plugin_args(args: ConfigStruct, report: Report, path: Path) -> None:
    """Report problems in the completed arguments of a plugin, which are at `path`."""
    _CHECKS[type(args)](args, report, path)


def _preemption(args: types.DefaultPreemptionArgs, report: Report, path: Path) -> None:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    at_percentage = (*path, "minCandidateNodesPercentage")
    at_absolute = (*path, "minCandidateNodesAbsolute")
    if not 0 <= percentage <= 100:
        report.problem(at_percentage, invalid(percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        report.problem(at_absolute, invalid(absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        both = "cannot be zero at the same time as "
        report.problem(at_percentage, invalid(0, both + "minCandidateNodesAbsolute"))
        report.problem(at_absolute, invalid(0, both + "minCandidateNodesPercentage"))
    own = {
        "minimumRuntimeSeconds": args.minimum_runtime_seconds,
        "nominationSeconds": args.nomination_seconds,
        "loopGuard": args.loop_guard,
    }
    for name, value in own.items():
        if value is not None and value < 0:
            report.problem((*path, name), invalid(value, "must be zero or positive"))


def _dynamic(args: types.DynamicResourcesArgs, report: Report, path: Path) -> None:
    if args.filter_timeout < 0:
        detail = invalid(args.filter_timeout, "must be zero or positive")
        report.problem((*path, "filterTimeout"), detail)
    if args.binding_timeout < Duration.of_seconds(1):
        detail = invalid(args.binding_timeout, "must be at least 1 second")
        report.problem((*path, "bindingTimeout"), detail)
    for gate in args.feature_gates or {}:
        if gate not in feature_gates.GATES:
            detail = unsupported(gate, tuple(feature_gates.GATES))
            report.problem((*path, "featureGates", gate), detail)


def _interpod(args: types.InterPodAffinityArgs, report: Report, path: Path) -> None:
    weight = args.hard_pod_affinity_weight
    if not 0 <= weight <= 100:
        detail = invalid(weight, "not in valid range [0, 100]")
        report.problem((*path, "hardPodAffinityWeight"), detail)


def _affinity(args: types.NodeAffinityArgs, report: Report, path: Path) -> None:
    if args.added_affinity is not None:
        node_affinity_validation.validate_node_affinity(
            args.added_affinity, report, (*path, "addedAffinity")
        )


def _balanced(args: types.NodeResourcesBalancedAllocationArgs, report: Report, path: Path) -> None:
    seen: set[str] = set()
    for i, resource in enumerate(args.resources):
        at = (*path, "resources", i)
        if resource.name in seen:
            report.problem((*at, "name"), duplicate(resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            report.problem((*at, "weight"), invalid(resource.weight, "must be 1"))


def _fit(args: types.NodeResourcesFitArgs, report: Report, path: Path) -> None:
    for i, name in enumerate(args.ignored_resources):
        _label_name(name, report, (*path, "ignoredResources", i))
    for i, group in enumerate(args.ignored_resource_groups):
        at = (*path, "ignoredResourceGroups", i)
        if "/" in group:
            report.problem(at, invalid(group, "resource group name can't contain '/'"))
        _label_name(group, report, at)
    _strategy(args.scoring_strategy, report, (*path, "scoringStrategy"))


def _strategy(strategy: types.ScoringStrategy, report: Report, path: Path) -> None:
    if strategy.type not in _STRATEGIES:
        report.problem((*path, "type"), unsupported(strategy.type, _STRATEGIES))
    for i, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            at = (*path, "resources", i, "weight")
            report.problem(at, invalid(resource.weight, detail))
    at, ratio = (*path, "requestedToCapacityRatio"), strategy.requested_to_capacity_ratio
    if strategy.type != types.REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            detail = "must be nil when type is not RequestedToCapacityRatio"
            report.problem(at, forbidden(detail))
    elif ratio is None:
        detail = "must be specified when type is RequestedToCapacityRatio"
        report.problem(at, required(detail))
    else:
        _shape(ratio.shape, report, (*at, "shape"))


def _spread(args: types.PodTopologySpreadArgs, report: Report, path: Path) -> None:
    at, kind = (*path, "defaultingType"), args.defaulting_type
    if kind not in (types.SYSTEM_DEFAULTING, types.LIST_DEFAULTING):
        choices = (types.SYSTEM_DEFAULTING, types.LIST_DEFAULTING)
        report.problem(at, unsupported(kind, choices))
    elif kind == types.SYSTEM_DEFAULTING and args.default_constraints:
        report.problem(at, invalid(kind, "when .defaultConstraints are not empty"))
    seen: set[tuple[str, str]] = set()
    for i, constraint in enumerate(args.default_constraints):
        at_constraint = (*path, "defaultConstraints", i)
        _constraint(constraint, report, at_constraint)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in seen:
            report.problem(at_constraint, duplicate(f"{{{key[0]}, {key[1]}}}"))
        seen.add(key)


def _constraint(constraint: TopologySpreadConstraint, report: Report, path: Path) -> None:
    if constraint.max_skew <= 0:
        detail = invalid(constraint.max_skew, "not in valid range (0, inf)")
        report.problem((*path, "maxSkew"), detail)
    if not constraint.topology_key:
        report.problem((*path, "topologyKey"), required("can not be empty"))
    else:
        _label_name(constraint.topology_key, report, (*path, "topologyKey"))
    action = constraint.when_unsatisfiable
    if not action:
        report.problem((*path, "whenUnsatisfiable"), required("can not be empty"))
    elif action not in _ACTIONS:
        report.problem((*path, "whenUnsatisfiable"), unsupported(action, _ACTIONS))
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        report.problem((*path, "labelSelector"), forbidden(detail))


def _binding(args: types.VolumeBindingArgs, report: Report, path: Path) -> None:
    seconds = args.bind_timeout_seconds
    if seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        report.problem((*path, "bindTimeoutSeconds"), invalid(seconds, detail))
    _shape(args.shape, report, (*path, "shape"))


def _shape(shape: Sequence[types.UtilizationShapePoint], report: Report, path: Path) -> None:
    if not shape:
        report.problem(path, required("at least one point must be specified"))
    for i, point in enumerate(shape):
        if i and shape[i - 1].utilization >= point.utilization:
            detail = "values must be sorted in increasing order"
            report.problem((*path, i, "utilization"), invalid(point.utilization, detail))
            break
    for i, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            detail = invalid(point.utilization, "not in valid range [0, 100]")
            report.problem((*path, i, "utilization"), detail)
        if not 0 <= point.score <= 10:
            detail = invalid(point.score, "not in valid range [0, 10]")
            report.problem((*path, i, "score"), detail)


def _label_name(name: str, report: Report, path: Path) -> None:
    for fault in name_validation.label_key_faults(name):
        report.problem(path, invalid(name, fault))


_CHECKS: Final[dict[type, Callable[[Any, Report, Path], None]]] = {
    types.DefaultPreemptionArgs: _preemption,
    types.DynamicResourcesArgs: _dynamic,
    types.InterPodAffinityArgs: _interpod,
    types.NodeAffinityArgs: _affinity,
    types.NodeResourcesBalancedAllocationArgs: _balanced,
    types.NodeResourcesFitArgs: _fit,
    types.PodTopologySpreadArgs: _spread,
    types.VolumeBindingArgs: _binding,
}
