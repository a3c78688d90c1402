"""Nodes at rest: a kubelet that rejected our pod knows something that we do not.

Another scheduler may have filled the node at the same moment, or its status is behind. The node is
left alone for a while and read again, so that the pod's replacement does not hit the same wall.
"""

from typing import Final

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.queue.queue import SchedulingQueue

REST_SECONDS: Final = 30.0
_RESTED: Final = ClusterEvent(Resource.NODE, Action.UPDATE)
_REASONS: Final = ("OutOf", "UnexpectedAdmissionError", "NodeAffinity", "NodePorts")
"""How the reasons begin with which kubelets refuse pods that were bound to their node."""


def is_rejection(pod: Pod) -> bool:
    """Whether a pod has failed because its kubelet would not admit it."""
    refused = pod.status.phase == "Failed" and pod.status.reason.startswith(_REASONS)
    return refused and bool(pod.spec.node_name)


class Cooling:
    """Which nodes are at rest, and until when; the engine reads it in `Cache.resting`."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, seconds: float = REST_SECONDS) -> None:
        self._cache = cache
        self._queue = queue
        self._seconds = seconds
        self.rejections = 0

    def begin(self, node: str, now: float) -> None:
        """Leave a node alone from now on, for a while."""
        self.rejections += 1
        self._cache.resting[node] = now + self._seconds

    def tick(self, now: float) -> None:
        """Nodes that have rested take pods again, and pods they refused are tried again."""
        for node in [name for name, until in self._cache.resting.items() if until <= now]:
            del self._cache.resting[node]
            self._queue.move(_RESTED, None, None, now)

    def next_wake(self) -> float | None:
        """When the next node has rested."""
        return min(self._cache.resting.values(), default=None)
