"""The scheduling queue: kube-scheduler's PriorityQueue as a state machine without a clock.

Calls that take `now` are told the time; the others ask the function the queue was made with. Each
call returns where the pod went, so that the caller knows whether there is something to pop. The
queue keeps no nominations: whoever adds, updates or deletes a pod here tells
`moorage.cache.nominator` too.
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
    """Who waits, who is next, and what each event is worth to those who wait.

    `sort_key` is the QueueSort plugin's; `pre_enqueue` and `hints` are given per scheduler name,
    hints as the plugins' `events()` returned them. Plugins that raise are handed to `report`.
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
        """Let in a pod that is not here: into the active queue, unless it is gated."""
        return self._enter(info, Trigger.ADD, now)

    def pop(self, now: float) -> QueuedPod | None:
        """Start an attempt: the first active pod or, when none is, the first backing off.

        None when neither is there; pods backing off from an error are not disturbed, nor those
        that are spared (`spare`).
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
        """Do not try pods before their backoff ends for which that is known to be of no use, nor
        anybody while the first of the others rests."""
        self._places.backoff.spares = spares
        self._places.backoff.rests = rests

    def take(self, uid: str, now: float) -> QueuedPod | None:
        """Start an attempt at one pod, out of turn: with others that it is placed together with.

        None unless the pod is active; `activate` it first where it may have to wait elsewhere.
        """
        pod = self._places.pods.get(uid)
        if pod is None or pod.state is not State.ACTIVE:
            return None
        self._places.leave(pod)
        return self._depart(pod, now)

    def done(self, uid: str) -> None:
        """End an attempt that needs no other: the pod is bound, or about to be, or gone."""
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

        With plugins that refused it the pod waits for an event, unless one came during the
        attempt; without any, or after an error, it is retried after its backoff. A pod that was
        deleted meanwhile is let go. To be called with the pod in flight; or, when binding fails
        after `done`, with a pod that still exists.
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
        """Retry the pods an event is worth it for; say how many that was.

        `only` leaves out pods in the pool; pods in flight hear of the event all the same.
        """
        return self._waking.by_event(event, old, new, now, only)

    def activate(self, uids: Iterable[str], now: float | None = None) -> int:
        """Retry pods without asking hints or waiting for backoff; say how many became active.

        Gates still hold. A pod in flight is retried, after its backoff, if its attempt fails.
        """
        time = self._now() if now is None else now
        known = [self._places.pods[uid] for uid in uids if uid in self._places.pods]
        return sum(self._waking.by_activation(pod, time) for pod in known)

    def resort(self) -> None:
        """Line up the active pods anew, for a QueueSort plugin that goes by more than the pod.

        They are asked about in the order in which they stood.
        """
        self._places.resort()

    def update(self, old: Pod, new: PodInfo, now: float | None = None) -> State:
        """Take over a new version of a pod; one that is not here is added.

        A pod of the pool moves if its plugins' hints for its own update say so; a pod in flight
        remembers the update until it comes back.
        """
        time = self._now() if now is None else now
        pod = self._places.pods.get(new.uid)
        if pod is None:
            return self._enter(new, Trigger.UPDATE, time)
        return self._waking.by_update(pod, old, new, time)

    def delete(self, uid: str) -> State:
        """Forget a pod, and say where it was; one in flight is forgotten when it comes back."""
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
        """Go by other plugins; `changed` are the schedulers whose plugins are not the same.

        Pods of schedulers that are gone are let go; whoever has a new scheduler's is to add them.
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
        """Take back that a pod in flight was to be forgotten; whether the pod is in the queue."""
        pod = self._places.pods.get(uid)
        if pod is not None:
            pod.deleted = False
        return pod is not None

    def tick(self, now: float) -> None:
        """Let time pass: backoffs end, and pods that waited too long are retried."""
        if len(self._places.backoff) or len(self._places.errors):
            self._places.complete_backoff(now)
        if now >= self._next_flush:
            self._next_flush = self._flush_after(now)
            self._waking.by_time(now, self._next_flush - FLUSH_EVERY, self._longest)

    def next_wake(self, now: float) -> float | None:
        """When there may be something to pop without anyone's doing; None for never."""
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
        """What QueueSort orders a pod by, be it in the queue or imagined there."""
        return self._places.rank(pod)

    def __iter__(self) -> Iterator[QueuedPod]:
        """Every pod in the queue or in flight."""
        return iter(self._places.pods.values())

    def __len__(self) -> int:
        return len(self._places.pods)

    def story(self, uid: str) -> list[TransitionRecord]:
        """What became of a pod and why, as far back as the log reaches; oldest first."""
        return self._diary.story(uid)

    def validate(self) -> None:
        """Raise AssertionError where the queue contradicts itself."""
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
