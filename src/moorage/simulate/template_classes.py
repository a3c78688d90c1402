"""Classes of pods that were made from templates: pods of one template share spec and labels."""

from typing import Any, Final

from moorage.api.pod import Pod
from moorage.cache.interner import Interner
from moorage.cache.podinfo import PodClass, PodClasses, PodInfo

MOST_KEPT: Final = 16_384


class TemplateClasses(PodClasses):
    """Finds the class of a pod by the identity of its spec, labels and status objects.

    It keeps a reference to these objects, so that their ids cannot be reused.
    """

    def __init__(self, resources: Interner[str]) -> None:
        super().__init__(resources)
        self._by_parts: dict[tuple[str, int, int, int], tuple[PodClass, Any]] = {}

    def info(self, pod: Pod) -> PodInfo:
        """The pod and its class."""
        spec, labels, status = pod.spec, pod.metadata.labels, pod.status
        key = (pod.metadata.namespace, id(spec), id(labels), id(status))
        known = self._by_parts.get(key)
        if known is not None:
            return PodInfo(pod, known[0])
        found = super().info(pod)
        if not spec.node_name:
            if len(self._by_parts) >= MOST_KEPT:
                self._by_parts.clear()
            self._by_parts[key] = found.cls, (spec, labels, status)
        return found
