"""PodTopologySpread: spreads pods evenly over zones, nodes or any other topology key.

    plugin               the plugin: its arguments, its hooks, the events that may help
    spread_constraints   constraints compiled for a pod, and the nodes they count
    default_constraints  constraints for pods that bring none
    spread_filter        DoNotSchedule: which nodes would make the skew too large
    spread_score         ScheduleAnyway: the fewer pods in a node's domains, the better

Law of the package: pods are counted by `moorage.cache.pod_counters`; no attempt walks all pods.
"""

from moorage.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
