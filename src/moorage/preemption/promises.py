"""Promises: which node a pod is nominated to, and by when the node must have come free."""

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.framework.cycle import Cycle
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.alarms import Alarms
from moorage.scheduler.feature import Features
from moorage.scheduler.report import Reporter

GIVEN_UP = "the node {} promised to the pod {:g} s ago did not come free: it will look again"


class Promises:
    """Nominates pods to nodes; `given_up` counts the nodes that did not come free in time."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        reporter: Reporter,
        others: Features,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._reporter = reporter
        self._others = others
        self._alarms = Alarms()
        self._given: dict[str, tuple[Pod, str, float]] = {}
        self.given_up = 0

    def give(self, cycle: Cycle, node: str, seconds: float) -> None:
        """Nominate a pod to a node for at most `seconds` (0 for no limit).

        An empty `node` clears the nomination.
        """
        pod = cycle.pod
        self._cache.nominations.put(cycle.incoming, node)
        if pod.status.nominated_node_name != node:
            self._reporter.nominated(pod, node)
        self._alarms.clear(pod.uid)
        self._given.pop(pod.uid, None)
        if node and seconds:
            self._given[pod.uid] = pod, node, seconds
            self._alarms.set(pod.uid, self._clock.now() + seconds)

    def take_back(self, uid: str) -> None:
        """Withdraw a nomination, and activate the pod: it is attempted anew at once."""
        self._cache.nominations.remove(uid)
        self._alarms.clear(uid)
        self._given.pop(uid, None)
        queued = self._queue.find(uid)
        if queued is not None:
            self._reporter.nominated(queued.info.pod, "")
            self._queue.activate([uid], self._clock.now())

    def tick(self, now: float) -> None:
        """Withdraw nominations to nodes that did not come free in time."""
        for uid in self._alarms.due(now):
            pod, node, seconds = self._given.pop(uid)
            queued = self._queue.find(uid)
            if queued is not None and self._cache.nominations.node_of(uid) == node:
                self.given_up += 1
                note = GIVEN_UP.format(node, seconds)
                self._reporter.event(pod, "Warning", "NominationGivenUp", "Preemption", note)
                self.take_back(uid)
                for taken_back in self._others.promise_taken_back:
                    taken_back(pod)

    def next_due(self) -> float | None:
        """When the next nomination expires."""
        return self._alarms.next()
