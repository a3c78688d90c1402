"""The requeuer: moves waiting pods on events, on their updates, on activation and on timeout."""

from collections.abc import Callable
from typing import Any, Final

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.framework.events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, ClusterEvent
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue import change_events
from moorage.queue.in_flight import InFlightEvent, InFlightPods
from moorage.queue.queueing_hints import (
    QueueEvent,
    QueueingHints,
    QueueingStrategy,
    SharedAnswers,
    target_uid,
)
from moorage.queue.sub_queues import Step, SubQueues
from moorage.queue.transitions import Trigger

PodFilter = Callable[[Pod], bool]

POOLED: Final = frozenset({State.UNSCHEDULABLE, State.GATED})
BACKING_OFF: Final = frozenset({State.BACKOFF, State.ERROR_BACKOFF})


class Requeuer:
    """Moves pods out of the pool on events, and records the events for pods in flight."""

    __slots__ = ("_flights", "_hints", "_places")

    def __init__(self, places: SubQueues, flights: InFlightPods, hints: QueueingHints) -> None:
        self._places = places
        self._flights = flights
        self._hints = hints

    def by_event(
        self, event: ClusterEvent, old: Any, new: Any, now: float, only: PodFilter | None
    ) -> int:
        """Retry the pods for which the hints say so; the number of pods that left the pool.

        `only` excludes pods of the pool, never pods in flight.
        """
        in_flight = self._flights.uids()
        if not len(self._places.pool) and not in_flight:
            return 0
        heard = self._hints.hear(event)
        if not heard.is_of_interest:
            return 0
        woken, answers = 0, SharedAnswers(old, new)
        candidates = self._candidates(heard, answers)
        if candidates:
            step = Step(Trigger.MOVE, heard.name, now)
            for pod in candidates:
                if self._places.stays_gated(pod):
                    continue
                if only is None or only(pod.info.pod):
                    woken += self._try(pod, heard, answers, step)
        if in_flight:
            self._flights.record(InFlightEvent(event, old, new, target_uid(event, new)))
        return woken

    def by_time(self, now: float, looked: float, longest: float) -> None:
        """Retry pods that, at `looked`, had been in the pool for more than `longest` seconds."""
        stale = self._places.pool.stale(looked, longest)
        heard = self._hints.hear(UNSCHEDULABLE_TIMEOUT)
        step, answers = Step(Trigger.FLUSH, heard.name, now), SharedAnswers(None, None)
        for pod in stale:
            pod.flushed, pod.flushed_at = True, looked
            self._try(pod, heard, answers, step)
        if stale:
            self._flights.record(InFlightEvent(UNSCHEDULABLE_TIMEOUT, None, None))

    def by_activation(self, pod: QueuedPod, now: float) -> bool:
        """Retry a pod without hints or backoff; whether it became active.

        A pod in flight gets the event recorded, and is retried if its attempt fails.
        """
        step = Step(Trigger.ACTIVATE, FORCE_ACTIVATE.name, now)
        if pod.state is State.IN_FLIGHT:
            self._flights.record(InFlightEvent(FORCE_ACTIVATE, None, pod.latest.pod, pod.info.uid))
        elif pod.state in POOLED or pod.state in BACKING_OFF:
            gates = pod.state in POOLED
            self._places.leave(pod)
            return self._places.activate(pod, step, gates=gates) is State.ACTIVE
        return False

    def by_update(self, pod: QueuedPod, old: Pod, new: PodInfo, now: float) -> State:
        """Take over a new version of a pod, and retry it if its plugins' hints say so.

        1. In flight: the new version and its events are kept until the pod comes back.
        2. In a heap: the pod moves to the position of its new key.
        3. In the pool: the pod is retried if an event is worth it. If its class is unchanged and no
           event is worth it, it keeps its position in the pool.
        """
        events = change_events.events_of_pod_update(old, new.pod)
        if pod.state is State.IN_FLIGHT:
            pod.latest = new
            for event in events:
                self._flights.record(InFlightEvent(event, old, new.pod, new.uid))
            return pod.state
        if pod.state not in POOLED:
            self._places.replace(pod, new)
            return pod.state
        if new.cls is pod.info.cls:
            pod.info = pod.latest = new
            if not self._hears(pod, events, old):
                return pod.state
        self._places.leave(pod)
        pod.info = pod.latest = new
        return self._try_each(pod, events, old, now)

    def weigh_missed(self, pod: QueuedPod) -> QueueingStrategy:
        """What to do with a pod in flight after the events that came during its attempt."""
        best = QueueingStrategy.SKIP
        if not pod.refused_by:
            return QueueingStrategy.AFTER_BACKOFF
        for event, old, new, _ in self._flights.missed(pod.info.uid):
            answers = SharedAnswers(old, new)
            strategy = self._hints.weigh(pod, self._hints.hear(event), answers)
            if strategy is QueueingStrategy.IMMEDIATELY:
                return strategy
            if strategy is QueueingStrategy.AFTER_BACKOFF:
                best = strategy
                if not pod.pending_plugins:
                    break
        return best

    def _try(self, pod: QueuedPod, heard: QueueEvent, answers: SharedAnswers, step: Step) -> bool:
        strategy = self._hints.weigh(pod, heard, answers)
        if strategy is QueueingStrategy.SKIP:
            return False
        self._places.leave(pod)
        return self._places.requeue(pod, strategy, step) not in POOLED

    def _hears(self, pod: QueuedPod, events: change_events.Events, old: Pod) -> bool:
        """Whether one of the events is worth another attempt at a pod of the pool."""
        answers = SharedAnswers(old, pod.info.pod)
        heard = map(self._hints.hear, events)
        return any(
            self._hints.weigh(pod, each, answers) is not QueueingStrategy.SKIP for each in heard
        )

    def _try_each(
        self, pod: QueuedPod, events: change_events.Events, old: Pod, now: float
    ) -> State:
        for heard in map(self._hints.hear, events):
            strategy = self._hints.weigh(pod, heard, SharedAnswers(old, pod.info.pod))
            if strategy is not QueueingStrategy.SKIP:
                step = Step(Trigger.UPDATE, heard.name, now)
                if self._places.requeue(pod, strategy, step) not in POOLED:
                    return pod.state
                self._places.leave(pod)
        self._places.return_to_pool(pod)
        return pod.state

    def _candidates(self, heard: QueueEvent, answers: SharedAnswers) -> list[QueuedPod]:
        """Pods of the pool that the event may concern, in the order they entered it."""
        pool, aim = self._places.pool, target_uid(heard.event, answers.new)
        if aim is not None:
            pod = pool.get(aim)
            return [pod] if pod is not None else []
        if heard.is_wildcard:
            return sorted(pool, key=_sequence)
        found: dict[str, QueuedPod] = {}
        for refuser in pool.refused:
            scheduler, plugin = refuser
            wanted = heard.wanted.get(scheduler)
            hints = wanted.get(plugin) if wanted else None
            if hints is not None:
                specs = pool.concerned(refuser, hints.keys(answers.old, answers.new))
                for pods in self._hints.may_wake(hints, specs, answers):
                    found.update(pods)
        return sorted(found.values(), key=_sequence) if found else []


def _sequence(pod: QueuedPod) -> int:
    return pod.sequence
