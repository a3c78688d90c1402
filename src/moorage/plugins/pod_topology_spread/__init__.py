"""PodTopologySpread: spreads pods evenly over zones, nodes or any other topology key.

plugin        the plugin: its arguments and its hooks
constraints   constraints compiled for a pod, and the nodes they count
defaults      constraints for pods that bring none, and whose pods they are about
plans         plans made before
filtering     hard constraints: which nodes would make the skew too large
scoring       soft constraints: the fewer pods in a node's domains, the better
logarithm     Go's natural logarithm, which weighs topologies
hints         which events may let a refused pod through
"""

from moorage.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
