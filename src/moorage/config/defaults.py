"""kube-scheduler's own plugins: the points each implements, the default order, default weights.

As of kube-scheduler 1.38 with its default feature gates.
"""

from typing import Final

from moorage.config.types import PluginRef, Plugins, PluginSet

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
"""The plugins of a profile that says nothing, in order, with their weights."""

PLUGINS: Final = Plugins(multi_point=PluginSet(enabled=ENABLED))
SCHEDULER_NAME: Final = "default-scheduler"
PERCENTAGE_OF_NODES_TO_SCORE: Final = 100
"""All nodes are scored. kube-scheduler's default is 0: a sample that shrinks as clusters grow."""
