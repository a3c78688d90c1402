"""InterPodAffinity: pod affinity and anti-affinity, of the incoming pod and of existing pods.

    plugin           the plugin: its arguments, its hooks, the events that may help
    compiled_terms   the incoming pod's terms, and existing pods' terms that match it
    affinity_filter  required terms: which nodes they rule out
    affinity_score   preferred terms: which nodes they favour

Law of the package: terms are parsed once per class of pods. Pods are counted, never matched one by
one.
"""

from moorage.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
