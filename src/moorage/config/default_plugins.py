"""kube-scheduler's default plugins: points, order, weights; and merging a profile into them.

As of kube-scheduler v1.37 with its default feature gates.
"""

from typing import Final

from moorage.config.types import ALL, MULTI_POINT, POINTS, PluginRef, Plugins, PluginSet


def merge_plugins(default: Plugins, custom: Plugins) -> Plugins:
    """Merge the plugins of a profile into the default ones."""
    points = (MULTI_POINT, *POINTS)
    return custom.replace(**{at: merge_plugin_set(default.at(at), custom.at(at)) for at in points})


def merge_plugin_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    """Merge one plugin set into the default one of the same point."""
    disabled = tuple(PluginRef(ref.name) for ref in (*custom.disabled, *default.disabled))
    left_out = {ref.name for ref in disabled}
    last = {ref.name: i for i, ref in enumerate(custom.enabled)}
    enabled: list[PluginRef] = []
    replacing: set[int] = set()
    for ref in default.enabled if ALL not in left_out else ():
        if ref.name in left_out:
            continue
        if ref.name in last:
            replacing.add(last[ref.name])
            ref = custom.enabled[last[ref.name]]
        enabled.append(ref)
    enabled += [ref for i, ref in enumerate(custom.enabled) if i not in replacing]
    return PluginSet(tuple(enabled), disabled)


_FILTER: Final = frozenset({"preFilter", "filter"})
_SCORE: Final = frozenset({"preScore", "score"})
_GIVE_UP: Final = frozenset({"postFilter", "podGroupPostFilter"})

POINTS_OF: Final[dict[str, frozenset[str]]] = {
    "SchedulingGates": frozenset({"preEnqueue"}),
    "PrioritySort": frozenset({"queueSort"}),
    "NodeName": _FILTER,
    "NodeUnschedulable": _FILTER,
    "TaintToleration": _FILTER | _SCORE,
    "NodeAffinity": _FILTER | _SCORE,
    "NodePorts": _FILTER,
    "NodeResourcesFit": _FILTER | _SCORE | {"placementScore"},
    "VolumeRestrictions": _FILTER,
    "NodeVolumeLimits": _FILTER,
    "VolumeBinding": _FILTER | _SCORE | {"reserve", "preBind"},
    "VolumeZone": _FILTER,
    "PodTopologySpread": _FILTER | _SCORE,
    "InterPodAffinity": _FILTER | _SCORE,
    "DynamicResources": _FILTER | _GIVE_UP | {"preEnqueue", "score", "reserve", "preBind"},
    "DefaultPreemption": _GIVE_UP | {"preEnqueue"},
    "NodeResourcesBalancedAllocation": _SCORE,
    "ImageLocality": frozenset({"score"}),
    "DefaultBinder": frozenset({"bind"}),
    "NodeDeclaredFeatures": _FILTER,
    "DeferredPodScheduling": _FILTER | {"permit"},
    "GangScheduling": frozenset({"preEnqueue", "permit"}),
    "TopologyPlacementGenerator": frozenset({"placementGenerate"}),
    "PodGroupPodsCount": frozenset({"placementScore"}),
}
"""The points each of kube-scheduler's plugins implements, by config name."""

ENABLED: Final = (
    PluginRef("SchedulingGates"),
    PluginRef("PrioritySort"),
    PluginRef("NodeName"),
    PluginRef("NodeUnschedulable"),
    PluginRef("TaintToleration", 3),
    PluginRef("NodeAffinity", 2),
    PluginRef("NodePorts"),
    PluginRef("NodeResourcesFit", 1),
    PluginRef("VolumeRestrictions"),
    PluginRef("NodeVolumeLimits"),
    PluginRef("VolumeBinding"),
    PluginRef("VolumeZone"),
    PluginRef("PodTopologySpread", 2),
    PluginRef("InterPodAffinity", 2),
    PluginRef("DynamicResources", 2),
    PluginRef("DefaultPreemption"),
    PluginRef("NodeResourcesBalancedAllocation", 1),
    PluginRef("ImageLocality", 1),
    PluginRef("DefaultBinder"),
    PluginRef("NodeDeclaredFeatures"),
)
"""The plugins of a profile that names none, in order, with their weights."""

PLUGINS: Final = Plugins(multi_point=PluginSet(enabled=ENABLED))
SCHEDULER_NAME: Final = "default-scheduler"
PERCENTAGE_OF_NODES_TO_SCORE: Final = 100
"""All nodes are scored. kube-scheduler's default is 0: a sample that shrinks as clusters grow."""
