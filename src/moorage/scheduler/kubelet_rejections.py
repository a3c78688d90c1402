"""Pods that a kubelet refused to admit: their node is left alone for a while and read again.

An API server that is asked for unfinished pods shows one that has failed as deleted, and as it was
before. So one that vanishes before it ever ran is looked up.
"""

from typing import TYPE_CHECKING, Final

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import NODES, PODS
from moorage.watch.reflector import Change

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler


REST_SECONDS: Final = 30.0
_RESTED: Final = ClusterEvent(Resource.NODE, Action.UPDATE)
_REASONS: Final = ("OutOf", "UnexpectedAdmissionError", "NodeAffinity", "NodePorts")
"""How the reasons begin with which kubelets refuse pods that were bound to their node."""


def is_rejection(pod: Pod) -> bool:
    """Whether a pod has failed because its kubelet would not admit it."""
    refused = pod.status.phase == "Failed" and pod.status.reason.startswith(_REASONS)
    return refused and bool(pod.spec.node_name)


class NodeCooldown:
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


LOOKS: Final = 8
"""How many pods are looked up at once; where more vanish, not all of them are."""


class KubeletRejections:
    """Hears of pods that were rejected."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler
        self._looks = 0

    def vanished(self, pod: Pod) -> None:
        """A pod of ours is not heard of any more: find out whether its kubelet rejected it."""
        waited = pod.spec.node_name and pod.status.phase in ("", "Pending")
        if waited and not pod.is_terminating and self._looks < LOOKS:
            self._looks += 1
            self._desk.start(self._look_up(pod), f"look/{pod.key}")

    def rejected(self, pod: Pod) -> None:
        """Leave the pod's node alone, say so, and read the node again."""
        desk, node = self._desk, pod.spec.node_name
        desk.cooling.begin(node, desk.clock.now())
        why = f"{pod.status.reason}: node {node} rejected the pod and is left alone for a while"
        desk.reporting.event(pod, "Warning", "NodeRejected", "Scheduling", why)
        desk.start(self._reread(node), f"reread/{node}")

    async def _look_up(self, pod: Pod) -> None:
        desk = self._desk
        try:
            found = decode_as(await desk.server.get(PODS, pod.namespace, pod.name), Pod)
        except NotFound:
            return
        except ApiError as error:
            desk.observers.failed(pod.key, "", error)
            return
        finally:
            self._looks -= 1
        if found.uid == pod.uid and is_rejection(found):
            self.rejected(found)

    async def _reread(self, name: str) -> None:
        desk = self._desk
        try:
            node = decode_as(await desk.server.get(NODES, "", name), Node)
        except ApiError as error:
            desk.observers.failed(f"Node {name}", "", error)
            return
        desk.deciding.later(lambda: self._believe(node))

    def _believe(self, node: Node) -> None:
        desk = self._desk
        row = desk.cache.table.row_of.get(node.name)
        if row is not None:
            desk.handler.apply(Change("updated", desk.cache.table.node(row), node))
