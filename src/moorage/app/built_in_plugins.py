"""Every built-in plugin in one table, and those of installed packages by entry point."""

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moorage.config.plugin_catalogue import PluginInfo
from moorage.framework.plugin import Plugin
from moorage.framework.plugin_registry import Registry, RegistryError
from moorage.framework.points import points_of
from moorage.gang.plugin import Coscheduling, GangScheduling
from moorage.guard.guards import is_custom
from moorage.plugins.default_binder import DefaultBinder
from moorage.plugins.dynamic_resources.plugin import DynamicResources
from moorage.plugins.image_locality import ImageLocality
from moorage.plugins.inter_pod_affinity.plugin import InterPodAffinity
from moorage.plugins.node_affinity import NodeAffinity
from moorage.plugins.node_declared_features import NodeDeclaredFeatures
from moorage.plugins.node_name import NodeName
from moorage.plugins.node_ports import NodePorts
from moorage.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources.fit import NodeResourcesFit
from moorage.plugins.node_unschedulable import NodeUnschedulable
from moorage.plugins.node_volume_limits.plugin import NodeVolumeLimits
from moorage.plugins.pod_topology_spread.plugin import PodTopologySpread
from moorage.plugins.priority_sort import PrioritySort
from moorage.plugins.scheduling_gates import SchedulingGates
from moorage.plugins.taint_toleration import TaintToleration
from moorage.plugins.volume_binding.plugin import VolumeBinding
from moorage.plugins.volume_restrictions import VolumeRestrictions
from moorage.plugins.volume_zone import VolumeZone
from moorage.policies.app_concentration import AppConcentration
from moorage.policies.business.business_affinity import BusinessAffinityPlugin
from moorage.policies.business.business_score import BusinessScorePlugin
from moorage.policies.business.cost_optimization import CostOptimizationPlugin
from moorage.policies.cluster_capacity import ClusterCapacity
from moorage.policies.compliance import Compliance
from moorage.policies.energy_aware import EnergyAware
from moorage.policies.gpu.gpu_largest_first import GPULargestFirst
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.policies.gpu.gpu_priority import GPUPriorityPlugin
from moorage.policies.gpu.gpu_topology import GPUTopology
from moorage.policies.load.adaptive_scheduling import AdaptiveSchedulingPlugin
from moorage.policies.load.load_balancing import LoadBalancingPlugin
from moorage.policies.load.low_cpu import LowCpuScheduler
from moorage.policies.network_latency import NetworkLatencyPlugin
from moorage.policies.node_affinity_plugin import NodeAffinityPlugin
from moorage.policies.reserved_room import ReservedRoom
from moorage.policies.scheduling_policies import SchedulingPolicies
from moorage.policies.tenant_isolation import TenantIsolation
from moorage.preemption.plugin import DefaultPreemption
from moorage.tenancy.capacity_scheduling import CapacityScheduling
from moorage.tenancy.fair_share import FairShare

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

POLICIES: tuple[type[Plugin], ...] = (
    AdaptiveSchedulingPlugin,
    AppConcentration,
    BusinessAffinityPlugin,
    BusinessScorePlugin,
    CapacityScheduling,
    ClusterCapacity,
    Compliance,
    Coscheduling,
    CostOptimizationPlugin,
    EnergyAware,
    FairShare,
    GangScheduling,
    GPULargestFirst,
    GPUPacking,
    GPUPriorityPlugin,
    GPUTopology,
    LoadBalancingPlugin,
    LowCpuScheduler,
    NetworkLatencyPlugin,
    NodeAffinityPlugin,
    ReservedRoom,
    SchedulingPolicies,
    TenantIsolation,
)


BUILT_IN: tuple[type[Plugin], ...] = (
    DefaultBinder,
    DefaultPreemption,
    DynamicResources,
    ImageLocality,
    InterPodAffinity,
    NodeAffinity,
    NodeDeclaredFeatures,
    NodeName,
    NodePorts,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
    NodeUnschedulable,
    NodeVolumeLimits,
    PodTopologySpread,
    PrioritySort,
    SchedulingGates,
    TaintToleration,
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
)

ENTRY_POINT = "moorage.plugins"


def built_in() -> Registry:
    """The built-ins, in a registry of the caller's own."""
    return _checked_once().copy()


@cache
def _checked_once() -> Registry:
    return Registry((*BUILT_IN, *POLICIES))


def installed() -> Registry:
    """The built-ins and the plugins of installed packages, by entry point."""
    registry = built_in()
    for entry in plugin_entry_points():
        registry.add(_loaded(entry))
    return registry


def plugin_entry_points() -> "Iterator[EntryPoint]":
    """The entry points of installed packages in the group of plugins.

    Mostly there are none. That can be seen from files on the path, in a tenth of the time that it
    takes to import `importlib.metadata`.
    """
    if any(map(_may_bring_plugins, sys.path)):
        from importlib.metadata import entry_points

        yield from entry_points(group=ENTRY_POINT)


def _may_bring_plugins(place: str) -> bool:
    """Whether an entry of `sys.path` may have a package with plugins; always True for archives."""
    if os.path.isfile(place):
        return True
    found = Path(place).glob("*.*-info/entry_points.txt")
    return any(f"[{ENTRY_POINT}]".encode() in file.read_bytes() for file in found)


def _loaded(entry: "EntryPoint") -> Any:
    try:
        return entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else "an installed package"
        raise RegistryError(
            f'plugin "{entry.name}" of {package} ({entry.value}) does not load: '
            f"{type(error).__name__}: {error}; mend the package, or uninstall it"
        ) from error


def describe_plugins(registry: Mapping[str, type[Plugin]]) -> dict[str, PluginInfo]:
    """What the configuration needs to know of each plugin."""
    return {
        name: PluginInfo(
            plugin.plugin_name(),
            points_of(plugin),
            plugin if plugin.__struct_fields__ else None,
            plugin.needs,
            _hook_faults(plugin) if is_custom(plugin) else (),
        )
        for name, plugin in registry.items()
    }


def _hook_faults(plugin: type[Plugin]) -> tuple[str, ...]:
    from moorage.framework.hook_faults import hook_faults  # built-in plugins are spared it

    return tuple(hook_faults(plugin))


def describe_installed() -> dict[str, PluginInfo]:
    return describe_plugins(installed())
