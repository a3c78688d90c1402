"""The scheduling queue: kube-scheduler's PriorityQueue as a state machine without a clock.

Methods that are not given `now` call the function that the queue was made with. Methods that move
a pod return its new state, so that the caller knows whether there is something to pop. The queue
keeps no nominations: a caller that adds, updates or deletes a pod here must tell
`moorage.cache.nominator` as well.
"""

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.framework.events import UNSCHEDULED_POD_ADD, ClusterEvent
from moorage.framework.plugin_errors import OnPluginError, ignore_plugin_error
from moorage.framework.queued_pod import NO_PLUGINS, QueuedPod, State
from moorage.queue import queue_settings, sub_queues
from moorage.queue.backoff import WINDOW, Backoff
from moorage.queue.backoff_heap import Rests, Spares, nobody_rests
from moorage.queue.in_flight import InFlightPods
from moorage.queue.pre_enqueue import PreEnqueueEntry, PreEnqueuePlugins
from moorage.queue.queue_settings import QueueSettings
from moorage.queue.queueing_hints import QueueingHints, QueueingStrategy, RegisteredHints
from moorage.queue.requeuer import PodFilter, Requeuer
from moorage.queue.sub_queues import SortKey, Step, SubQueues
from moorage.queue.transitions import QueueError, TransitionLog, TransitionRecord, Trigger, require

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
POP_FROM_BACKOFF_Q: Final = "PopFromBackoffQ"
FLUSH_EVERY: Final = 30.0
MAX_IN_UNSCHEDULABLE: Final = 300.0
NOTES: Final = 1 << 15
_ARRIVAL: Final = UNSCHEDULED_POD_ADD.name


class SchedulingQueue:
    """Which pods wait, which is next, and which of them an event moves.

    `sort_key` is the QueueSort plugin's. `pre_enqueue` and `hints` are given per scheduler name,
    hints as the plugins' `events()` returned them. Errors of plugins are passed to `report`.
    `cycle` counts the pods popped, `incoming` arrivals by (queue, event), `hints_asked` answers
    by (plugin, event, answer).
    """

    def __init__(
        self,
        sort_key: SortKey,
        pre_enqueue: Mapping[str, Sequence[PreEnqueueEntry]],
        hints: RegisteredHints,
        *,
        now: Callable[[], float],
        backoff: Backoff = Backoff(),  # noqa: B008 frozen: sharing it does no harm
        max_in_unschedulable: float = MAX_IN_UNSCHEDULABLE,
        report: OnPluginError = ignore_plugin_error,
        notes: int = NOTES,
    ) -> None:
        self._gates = PreEnqueuePlugins(pre_enqueue, report)
        self._hints = QueueingHints(hints, report)
        self._diary = TransitionLog(notes)
        self._places = SubQueues(sort_key, self._gates, backoff, self._diary, self._hints.awaited)
        self._flights = InFlightPods()
        self._waking = Requeuer(self._places, self._flights, self._hints)
        self._now = now
        self._longest = max_in_unschedulable
        self._started = self._next_flush = now()
        self.cycle = 0
        self.incoming = self._places.incoming
        self.hints_asked = self._hints.asked

    def add(self, info: PodInfo, now: float) -> State:
        """Add a pod that is not here yet: to the active queue, or to the pool if it is gated."""
        return self._enter(info, Trigger.ADD, now)

    def pop(self, now: float) -> QueuedPod | None:
        """Start an attempt: the first active pod or, if there is none, the first backing off.

        None if there is neither. Pods that back off after an error are never popped early, nor
        are those that `spare` excludes.
        """
        self.tick(now)
        places = self._places
        pod = places.active.pop()
        if pod is None:
            pod = places.backoff.pop()
            if pod is None:
                return None
            self.incoming["active", POP_FROM_BACKOFF_Q] += 1
        return self._depart(pod, now)

    def spare(self, spares: Spares, rests: Rests = nobody_rests) -> None:
        """Set which early retries `pop` leaves out.

        A pod that `spares` names a refusal for is not popped before its backoff ends. While
        `rests` holds for the first of the other pods, no pod is.
        """
        self._places.backoff.spares = spares
        self._places.backoff.rests = rests

    def take(self, uid: str, now: float) -> QueuedPod | None:
        """Start an attempt at one pod out of turn, as for the other pods of a pod group.

        None unless the pod is active: call `activate` first if it may be elsewhere.
        """
        pod = self._places.pods.get(uid)
        if pod is None or pod.state is not State.ACTIVE:
            return None
        self._places.leave(pod)
        return self._depart(pod, now)

    def done(self, uid: str) -> None:
        """End an attempt that needs no retry: the pod is bound, about to be bound, or gone."""
        pod = self._places.pods.get(uid)
        if pod is None:
            return
        require(pod.info.pod.key, pod.state, Trigger.DONE)
        self._flights.land(uid)
        self._drop(pod, Step(Trigger.DONE, "Done", self._now()))

    def put_back(
        self,
        pod: QueuedPod,
        rejected_by: Iterable[str],
        pending: Iterable[str],
        error: bool,
        now: float,
    ) -> State:
        """End an attempt that failed: kube-scheduler's AddUnschedulablePodIfNotPresent.

        1. A pod that plugins refused waits for an event, unless one that helps came during the
           attempt.
        2. A pod that no plugin refused, or whose attempt ended in an error, is retried after its
           backoff.
        3. A pod that was deleted meanwhile is dropped.

        The pod must be in flight or, if binding failed after `done`, must still exist.
        """
        places, uid = self._places, pod.info.uid
        if places.pods.get(uid, pod) is not pod:
            raise QueueError(f"pod {pod.info.pod.key} is another pod than the one in the queue")
        require(pod.info.pod.key, pod.state, Trigger.PUT_BACK)
        self._count_failure(pod, frozenset(rejected_by), frozenset(pending), error, now)
        strategy = QueueingStrategy.AFTER_BACKOFF
        if pod.state is State.IN_FLIGHT:
            strategy = self._waking.weigh_missed(pod)
            self._flights.land(uid)
        step = Step(Trigger.PUT_BACK, SCHEDULE_ATTEMPT_FAILURE, now)
        if pod.deleted:
            return self._drop(pod, step)
        places.pods[uid] = pod
        return places.requeue(pod, strategy, step)

    def move(
        self, event: ClusterEvent, old: Any, new: Any, now: float, only: PodFilter | None = None
    ) -> int:
        """Retry the pods for which the hints say so; the number of pods that left the pool.

        `only` limits which pods of the pool are considered. Pods in flight get the event anyway.
        """
        return self._waking.by_event(event, old, new, now, only)

    def activate(self, uids: Iterable[str], now: float | None = None) -> int:
        """Retry pods without asking hints or waiting for backoff; the number that became active.

        PreEnqueue plugins still apply. A pod in flight is retried, after its backoff, if its
        attempt fails.
        """
        time = self._now() if now is None else now
        known = [self._places.pods[uid] for uid in uids if uid in self._places.pods]
        return sum(self._waking.by_activation(pod, time) for pod in known)

    def resort(self) -> None:
        """Order the active pods anew, for a QueueSort plugin whose key depends on the cluster too.

        Keys are computed in the old order.
        """
        self._places.resort()

    def update(self, old: Pod, new: PodInfo, now: float | None = None) -> State:
        """Take over a new version of a pod; add a pod that is not here.

        A pod of the pool is retried if its plugins' hints for its own update say so. For a pod in
        flight the update is kept until it comes back.
        """
        time = self._now() if now is None else now
        pod = self._places.pods.get(new.uid)
        if pod is None:
            return self._enter(new, Trigger.UPDATE, time)
        return self._waking.by_update(pod, old, new, time)

    def delete(self, uid: str) -> State:
        """Forget a pod and return its state; a pod in flight is forgotten when it comes back."""
        pod = self._places.pods.get(uid)
        if pod is None:
            return State.OUTSIDE
        state, step = pod.state, Step(Trigger.DELETE, "Delete", self._now())
        if state is State.IN_FLIGHT:
            pod.deleted = True
            self._places.shift(pod, state, step)
        else:
            self._places.leave(pod)
            self._drop(pod, step)
        return state

    def reconfigure(self, settings: QueueSettings, changed: Container[str], now: float) -> None:
        """Use other plugins; `changed` are the scheduler names whose plugins differ.

        Pods of scheduler names that are gone are dropped. The caller must add the pods of scheduler
        names that are new.
        """
        queue_settings.apply_settings(
            settings,
            changed,
            now,
            places=self._places,
            flights=self._flights,
            gates=self._gates,
            hints=self._hints,
        )

    def keep(self, uid: str) -> bool:
        """Undo `delete` for a pod in flight; whether the pod is in the queue or in flight."""
        pod = self._places.pods.get(uid)
        if pod is not None:
            pod.deleted = False
        return pod is not None

    def tick(self, now: float) -> None:
        """Activate pods whose backoff is over, and retry pods that have waited too long."""
        if len(self._places.backoff) or len(self._places.errors):
            self._places.complete_backoff(now)
        if now >= self._next_flush:
            self._next_flush = self._flush_after(now)
            self._waking.by_time(now, self._next_flush - FLUSH_EVERY, self._longest)

    def next_wake(self, now: float) -> float | None:
        """When there may be a pod to pop without any further call but `tick`; None for never."""
        places = self._places
        if len(places.active) or places.backoff.is_worth_a_retry():
            return now
        firsts = (places.backoff.first(), places.errors.first())
        ends = min(
            (places.delay.until(first) + WINDOW for first in firsts if first is not None),
            default=math.inf,
        )
        flush = math.inf
        if len(places.pool):
            due = places.pool.oldest + self._longest
            flush = self._next_flush if due < self._next_flush else self._flush_after(due)
        wake = min(ends, flush)
        return None if wake == math.inf else max(wake, now)

    def pending_counts(self) -> dict[str, int]:
        """How many pods wait where, by kube-scheduler's labels of pending_pods."""
        places = self._places
        return {
            "active": len(places.active),
            "backoff": len(places.backoff) + len(places.errors),
            "unschedulable": len(places.pool.unschedulable),
            "gated": len(places.pool.gated),
        }

    def in_flight_events(self) -> Counter[str]:
        """How many events are kept for pods in flight, by name."""
        return self._flights.counts()

    def find(self, uid: str) -> QueuedPod | None:
        """A pod in the queue or in flight."""
        return self._places.pods.get(uid)

    def rank(self, pod: QueuedPod) -> Any:
        """The QueueSort key of a pod, which need not be in the queue."""
        return self._places.rank(pod)

    def __iter__(self) -> Iterator[QueuedPod]:
        """Every pod in the queue or in flight."""
        return iter(self._places.pods.values())

    def __len__(self) -> int:
        return len(self._places.pods)

    def story(self, uid: str) -> list[TransitionRecord]:
        """A pod's transitions and their reasons, as far back as the log reaches; oldest first."""
        return self._diary.story(uid)

    def validate(self) -> None:
        """Raise AssertionError if the queue is inconsistent."""
        sub_queues.validate_queue(self._places, self._flights)

    def _enter(self, info: PodInfo, trigger: Trigger, now: float) -> State:
        known = self._places.pods.get(info.uid)
        if known is not None:
            require(info.pod.key, known.state, trigger)
        self._gates.check_profile(info.pod)
        pod = QueuedPod(info, now)
        state = self._places.activate(pod, Step(trigger, _ARRIVAL, now))
        self._places.pods[info.uid] = pod
        return state

    def _depart(self, pod: QueuedPod, now: float) -> QueuedPod:
        pod.attempts += 1
        self.cycle += 1
        self._flights.depart(pod.info.uid)
        self._places.shift(pod, State.IN_FLIGHT, Step(Trigger.POP, "Pop", now))
        return pod

    def _drop(self, pod: QueuedPod, step: Step) -> State:
        self._places.shift(pod, State.OUTSIDE, step)
        self._places.pods.pop(pod.info.uid, None)
        return State.OUTSIDE

    def _count_failure(
        self,
        pod: QueuedPod,
        rejected_by: frozenset[str],
        pending: frozenset[str],
        error: bool,
        now: float,
    ) -> None:
        pod.unschedulable_plugins = NO_PLUGINS if error else rejected_by
        pod.pending_plugins = NO_PLUGINS if error else pending
        if pod.refused_by:
            pod.unschedulable_count += 1
            pod.consecutive_errors = 0
        else:
            pod.consecutive_errors += 1
        pod.info = pod.latest
        pod.timestamp = now
        pod.backoff_until = None
        pod.flushed = False

    def _flush_after(self, time: float) -> float:
        ticks = math.floor((time - self._started) / FLUSH_EVERY) + 1
        return self._started + ticks * FLUSH_EVERY
