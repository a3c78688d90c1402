"""The arguments of kube-scheduler's own plugins: their types and their defaults.

Defaults of several values at once (the resources of a strategy, the points of a shape) are filled
in by `complete_args`.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from moorage.api.pod import NodeAffinity, TopologySpreadConstraint
from moorage.config.durations import Duration
from moorage.config.types import ConfigStruct, Int32, Int64

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"


class ResourceSpec(ConfigStruct, frozen=True):
    """A resource and its weight."""

    name: str = ""
    weight: Int64 = 0


class UtilizationShapePoint(ConfigStruct, frozen=True):
    """A point of a score function: utilization 0 to 100, score 0 to 10."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(ConfigStruct, frozen=True):
    """The score function of RequestedToCapacityRatio."""

    shape: tuple[UtilizationShapePoint, ...] = ()


CPU_AND_MEMORY: Final = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))
CAPACITY_SHAPE: Final = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))


class ScoringStrategy(ConfigStruct, frozen=True):
    """How NodeResourcesFit scores; a strategy that is given must have a type."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(ConfigStruct, frozen=True):
    """How many candidate nodes a preemption looks at, at least.

    The other arguments are Moorage's own, and written out only if they are given.
    """

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100
    eviction_api: bool | None = msgspec.field(default=None, name="evictionAPI")
    minimum_runtime_seconds: float | None = None
    nomination_seconds: float | None = None
    loop_guard: Int32 | None = None


class DynamicResourcesArgs(ConfigStruct, frozen=True):
    """How long to search for devices on a node, and to wait for them; 0s searches without end.

    `feature_gates` is Moorage's own, and written out only if it is given.
    """

    filter_timeout: Duration = Duration.of_seconds(10)
    binding_timeout: Duration = Duration.of_seconds(600)
    feature_gates: dict[str, bool] | None = None


class InterPodAffinityArgs(ConfigStruct, frozen=True):
    """What existing pods' affinities count when scoring."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(ConfigStruct, frozen=True):
    """Affinity that every pod of the profile has in addition to its own."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(ConfigStruct, frozen=True):
    """The resources whose use is to be balanced."""

    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY


class NodeResourcesFitArgs(ConfigStruct, frozen=True):
    """The resources to overlook, and how to score."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(LEAST_ALLOCATED, CPU_AND_MEMORY)


class PodTopologySpreadArgs(ConfigStruct, frozen=True):
    """The constraints of pods that have none: the system's, or those in the list."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = SYSTEM_DEFAULTING


class VolumeBindingArgs(ConfigStruct, frozen=True):
    """How long to wait for volumes, and how their capacity scores."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] = CAPACITY_SHAPE


ARGS: Final[dict[str, type[ConfigStruct]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""The arguments of the plugins that take any, by plugin."""


def complete_args(args: ConfigStruct) -> ConfigStruct:
    """Fill in the defaults that depend on what is given."""
    completer = _COMPLETERS.get(type(args))
    return completer(args) if completer else args


def _resources(given: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(ResourceSpec(r.name, r.weight or 1) for r in given) or CPU_AND_MEMORY


def _fit(args: NodeResourcesFitArgs) -> ConfigStruct:
    strategy = args.scoring_strategy
    strategy = msgspec.structs.replace(strategy, resources=_resources(strategy.resources))
    return msgspec.structs.replace(args, scoring_strategy=strategy)


def _balanced(args: NodeResourcesBalancedAllocationArgs) -> ConfigStruct:
    return msgspec.structs.replace(args, resources=_resources(args.resources))


def _spread(args: PodTopologySpreadArgs) -> ConfigStruct:
    return msgspec.structs.replace(args, defaulting_type=args.defaulting_type or SYSTEM_DEFAULTING)


def _binding(args: VolumeBindingArgs) -> ConfigStruct:
    return msgspec.structs.replace(args, shape=args.shape or CAPACITY_SHAPE)


_COMPLETERS: Final[dict[type, Callable[[Any], ConfigStruct]]] = {
    NodeResourcesFitArgs: _fit,
    NodeResourcesBalancedAllocationArgs: _balanced,
    PodTopologySpreadArgs: _spread,
    VolumeBindingArgs: _binding,
}
