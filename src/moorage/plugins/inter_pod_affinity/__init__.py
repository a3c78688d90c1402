"""InterPodAffinity: pod affinity and anti-affinity, of the incoming pod and of existing pods.

plugin        the plugin: its arguments and its hooks
incoming      what the incoming pod says of the pods that are there
existing      what the pods that are there say of the incoming one
filtering     required terms: which nodes they rule out
scoring       preferred terms: which nodes they favour
hints         which events may let a refused pod through
"""

from moorage.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
