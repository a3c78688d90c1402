"""Every built-in plugin, in one explicit table; third parties' enter by entry point."""

import pkgutil
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from moorage.config.known import PluginInfo
from moorage.framework.plugin import Plugin
from moorage.framework.points import points_of
from moorage.framework.registry import Registry, RegistryError
from moorage.plugins.default_binder import DefaultBinder
from moorage.plugins.default_preemption import DefaultPreemption
from moorage.plugins.dynamic_resources import DynamicResources
from moorage.plugins.image_locality import ImageLocality
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.plugins.node_affinity import NodeAffinity
from moorage.plugins.node_declared_features import NodeDeclaredFeatures
from moorage.plugins.node_name import NodeName
from moorage.plugins.node_ports import NodePorts
from moorage.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources_fit import NodeResourcesFit
from moorage.plugins.node_unschedulable import NodeUnschedulable
from moorage.plugins.node_volume_limits import NodeVolumeLimits
from moorage.plugins.pod_topology_spread import PodTopologySpread
from moorage.plugins.priority_sort import PrioritySort
from moorage.plugins.scheduling_gates import SchedulingGates
from moorage.plugins.taint_toleration import TaintToleration
from moorage.plugins.volume_binding import VolumeBinding
from moorage.plugins.volume_restrictions import VolumeRestrictions
from moorage.plugins.volume_zone import VolumeZone

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

POLICIES = "moorage.policies.registry:POLICIES"
"""The table of Moorage's own plugins; it is found by name, as anyone's plugins are."""

ENTRY_POINT = "moorage.plugins"


def built_in() -> Registry:
    return Registry((*BUILT_IN, *pkgutil.resolve_name(POLICIES)))


def installed() -> Registry:
    """The built-ins and what installed packages bring under the entry point group."""
    registry = built_in()
    for entry in entry_points(group=ENTRY_POINT):
        registry.add(_loaded(entry))
    return registry


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else "an installed package"
        raise RegistryError(
            f'plugin "{entry.name}" of {package} ({entry.value}) does not load: '
            f"{type(error).__name__}: {error}; mend the package, or uninstall it"
        ) from error


def describe(registry: Mapping[str, type[Plugin]]) -> dict[str, PluginInfo]:
    """The plugins as configuration sees them."""
    return {
        name: PluginInfo(
            plugin.plugin_name(), points_of(plugin), plugin if plugin.__struct_fields__ else None
        )
        for name, plugin in registry.items()
    }


def known() -> dict[str, PluginInfo]:
    return describe(installed())
