"""What a pod is labelled with, by itself or through its namespace."""

from moorage.api.pod import Pod
from moorage.api.workloads import Namespace
from moorage.framework.cycle import Cycle


def label(cycle: Cycle, pod: Pod, key: str) -> str | None:
    """The pod's own value of a label, or else that of its namespace."""
    own = pod.labels.get(key)
    return namespace_label(cycle, pod, key) if own is None else own


def namespace_label(cycle: Cycle, pod: Pod, key: str) -> str | None:
    """The value that the pod's namespace has of a label."""
    found = cycle.get(Namespace, pod.namespace)
    return None if found is None else found.labels.get(key)
