"""Pods that a kubelet refused to admit: their node rests for a while, and is read again.

Only pods count that this scheduler bound and that have not run yet: whoever may create pods can
name a node that refuses them, and an old failure says nothing of the node as it is now.

A watch that selects unfinished pods reports a pod that fails as deleted, in its state before the
failure. So a pod that vanishes before it ever ran is looked up.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.observe import catalogue
from moorage.observe.metric_families import Family, counter, gauge, unlabelled
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.feature import Feature
from moorage.scheduler.intake import Believe
from moorage.scheduler.report import Reporter
from moorage.scheduler.tasks import Later, Start
from moorage.scheduler.version import Version
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_resources import NODES, PODS
from moorage.watch.api_resources import Resource as ApiResource
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import Change

REST_SECONDS: Final = 30.0
_RESTED: Final = ClusterEvent(Resource.NODE, Action.UPDATE)
_REASONS: Final = ("OutOf", "UnexpectedAdmissionError", "NodeAffinity", "NodePorts", "Topology")
"""Prefixes of the status reasons with which kubelets refuse pods that are bound to their node."""


def is_rejection(pod: Pod) -> bool:
    """Whether a pod failed because its kubelet did not admit it."""
    refused = pod.status.phase == "Failed" and pod.status.reason.startswith(_REASONS)
    return refused and bool(pod.spec.node_name)


LOOKS: Final = 8
"""The most pods looked up at once; pods that vanish beyond that are not looked up."""


class KubeletRejections(Feature):
    """Lets nodes rest that rejected a pod: they are in `Cache.resting`, which filtering reads."""

    hears = ("pods",)

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        server: ApiServer,
        reporter: Reporter,
        observers: Observers,
        start: Start,
        later: Later,
        believe: Believe,
        seconds: float = REST_SECONDS,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._server = server
        self._reporter = reporter
        self._observers = observers
        self._start = start
        self._later = later
        self._believe = believe
        self._seconds = seconds
        self._looks = 0
        self._bound: set[str] = set()
        """The uids of pods that this scheduler has bound and that have not begun to run."""
        self.rejections = 0

    def configured(self, version: Version) -> None:
        """Take over how long nodes rest; 0 for not at all."""
        self._seconds = version.features.get(KubeletRejections, REST_SECONDS)

    def before(self, change: Change, resource: ApiResource) -> None:
        """Note a pod that appears on the node for which it was assumed."""
        new = change.new
        if not isinstance(new, Pod) or new.uid not in self._cache.assumed:
            return
        if new.spec.node_name == self._cache.node_of(new.uid):
            self._bound.add(new.uid)

    def after(self, change: Change, resource: ApiResource) -> None:
        """Check whether a pod that we bound has failed or vanished because it was rejected."""
        pod = change.new if change.new is not None else change.old
        if not isinstance(pod, Pod) or pod.uid not in self._bound:
            return
        if change.new is None:
            self._bound.discard(pod.uid)
            self._vanished(pod)
        elif pod.status.phase not in ("", "Pending"):
            self._bound.discard(pod.uid)
            if is_rejection(pod):
                self._rejected(pod)

    def tick(self, now: float) -> None:
        """End the rest of nodes whose time is over, and retry pods that were refused for it."""
        for node in [name for name, until in self._cache.resting.items() if until <= now]:
            del self._cache.resting[node]
            self._queue.move(_RESTED, None, None, now)

    def next_due(self) -> float | None:
        """When the rest of the next node ends."""
        return min(self._cache.resting.values(), default=None)

    def families(self) -> Iterable[Family]:
        yield gauge(catalogue.NODES_RESTING, unlabelled(len(self._cache.resting)))
        yield counter(catalogue.REJECTIONS, unlabelled(self.rejections))

    def _vanished(self, pod: Pod) -> None:
        """Look up a pod that vanished, if its kubelet may have rejected it."""
        waited = pod.spec.node_name and pod.status.phase in ("", "Pending")
        if waited and not pod.is_terminating and self._looks < LOOKS:
            self._looks += 1
            self._start(self._look_up(pod), f"look/{pod.key}")

    def _rejected(self, pod: Pod) -> None:
        """Let the pod's node rest, record an event, and read the node again."""
        node = pod.spec.node_name
        self.rejections += 1
        why = f"{pod.status.reason}: node {node} rejected the pod"
        if self._seconds > 0:
            self._cache.resting[node] = self._clock.now() + self._seconds
            why += " and is left alone for a while"
        self._reporter.event(pod, "Warning", "NodeRejected", "Scheduling", why)
        self._start(self._reread(node), f"reread/{node}")

    async def _look_up(self, pod: Pod) -> None:
        try:
            found = decode_as(await self._server.get(PODS, pod.namespace, pod.name), Pod)
        except NotFound:
            return
        except ApiError as error:
            self._observers.failed(pod.key, "", error)
            return
        finally:
            self._looks -= 1
        if found.uid == pod.uid and is_rejection(found):
            self._rejected(found)

    async def _reread(self, name: str) -> None:
        try:
            node = decode_as(await self._server.get(NODES, "", name), Node)
        except ApiError as error:
            self._observers.failed(f"Node {name}", "", error)
            return
        self._later(partial(self._take_in, node))

    def _take_in(self, node: Node) -> None:
        row = self._cache.table.row_of.get(node.name)
        if row is not None:
            self._believe(Change("updated", self._cache.table.node(row), node), NODES)
