"""The sub-queues (active, backoff, unschedulable), the only code that moves pods between them.

A pod that enters the active queue or the backoff heaps passes the PreEnqueue plugins first; one
whose backoff is over has passed them already. Each arrival is checked against the table of
transitions, counted and logged.
"""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from moorage.cache.podinfo import PodInfo
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue.backoff import Backoff, window
from moorage.queue.backoff_heap import BackoffHeap
from moorage.queue.heap import Heap
from moorage.queue.in_flight import InFlightPods
from moorage.queue.pre_enqueue import PreEnqueuePlugins
from moorage.queue.queueing_hints import QueueingStrategy
from moorage.queue.transitions import TABLE, QueueError, TransitionLog, Trigger
from moorage.queue.unschedulable_pods import (
    Awaited,
    UnschedulablePods,
    alike,
    awaits_anything,
    last_seen,
    refusers,
)

SortKey = Callable[[QueuedPod], Any]

BACKOFF_COMPLETE: Final = "BackoffComplete"

_POOLED: Final = frozenset({State.UNSCHEDULABLE, State.GATED})
_LOOKS_IN_POOL: Final = frozenset({Trigger.UPDATE, Trigger.ACTIVATE})


class Step(NamedTuple):
    """Why a pod changes its state: the trigger, the name of the event behind it, the time."""

    trigger: Trigger
    event: str
    now: float


class SubQueues:
    """The heaps and the pool.

    `incoming` counts arrivals by (queue, event) as kube-scheduler's queue_incoming_pods_total
    does: gated pods arrive in `unschedulable`.
    """

    def __init__(
        self,
        sort_key: SortKey,
        gates: PreEnqueuePlugins,
        backoff: Backoff,
        diary: TransitionLog,
        awaited: Awaited = awaits_anything,
    ) -> None:
        self.pods: dict[str, QueuedPod] = {}
        self.active = Heap()
        self.backoff = BackoffHeap()
        self.errors = Heap()
        self.pool = UnschedulablePods(awaited)
        self.incoming: Counter[tuple[str, str]] = Counter()
        self.delay = backoff
        self._sort_key = sort_key
        self._gates = gates
        self._diary = diary
        self._sequence = itertools.count(1)

    def go_by(self, sort_key: SortKey, backoff: Backoff) -> None:
        """Use this sort key and this backoff from now on; the caller must requeue pods in heaps."""
        self._sort_key = sort_key
        self.delay = backoff

    def requeue(self, pod: QueuedPod, strategy: QueueingStrategy, step: Step) -> State:
        """Put a pod where the strategy and its backoff require, or in the pool if it is gated."""
        if strategy is QueueingStrategy.SKIP:
            return self._wait(pod, State.UNSCHEDULABLE, step)
        if strategy is QueueingStrategy.AFTER_BACKOFF and self.delay.is_backing_off(pod, step.now):
            return self._back_off(pod, step)
        return self.activate(pod, step)

    def activate(self, pod: QueuedPod, step: Step, *, gates: bool = True) -> State:
        """Put a pod in the active queue, or in the pool if it is gated."""
        if gates and self._gates.refuse(pod):
            return self._gate(pod, step)
        if pod.first_attempt is None:
            pod.first_attempt = step.now
        key = self._sort_key(pod)
        self._arrive(pod, State.ACTIVE, step)
        self.active.push(key, pod)
        self.incoming["active", step.event] += 1
        return State.ACTIVE

    def leave(self, pod: QueuedPod) -> None:
        """Take a pod out of its heap or the pool; the caller must put it in another place."""
        heap = self._heap(pod.state)
        if heap is not None:
            heap.discard(pod)
        else:
            self.pool.take(pod)

    def stays_gated(self, pod: QueuedPod) -> bool:
        """Whether a pod is gated, and its plugin would gate it again."""
        return pod.state is State.GATED and self._gates.still_refuses(pod)

    def return_to_pool(self, pod: QueuedPod) -> None:
        """Undo `leave` for a pod of the pool that is to stay there."""
        pod.sequence = next(self._sequence)
        self.pool.put(pod)

    def replace(self, pod: QueuedPod, new: PodInfo) -> None:
        """Update a pod in a heap; it moves if its key changes.

        It also moves if it was set aside in the backoff heap and its class changes: it may no
        longer be refused.
        """
        heap, before = self._heap(pod.state), self._key(pod)
        is_another = new.cls is not pod.info.cls and self.backoff.has_set_aside(pod)
        pod.info = pod.latest = new
        after = self._key(pod)
        if heap is not None and (after != before or is_another):
            heap.discard(pod)
            pod.sequence = next(self._sequence)
            heap.push(after, pod)

    def resort(self) -> None:
        """Order the active pods by their present keys."""
        before, self.active = self.active.in_order(), Heap()
        for pod in before:
            self.active.push(self._sort_key(pod), pod)

    def complete_backoff(self, now: float) -> None:
        """Activate every pod whose backoff is over."""
        step, current = Step(Trigger.BACKOFF_COMPLETE, BACKOFF_COMPLETE, now), window(now)
        while (pod := self.backoff.first()) is not None and self.delay.until(pod) < current:
            self.backoff.pop_first()
            self.activate(pod, step, gates=False)
        while (pod := self.errors.first()) is not None and self.delay.until(pod) < current:
            self.errors.pop()
            self.activate(pod, step, gates=False)

    def rank(self, pod: QueuedPod) -> Any:
        """The QueueSort key of a pod."""
        return self._sort_key(pod)

    def _key(self, pod: QueuedPod) -> Any:
        """The key of a pod in the heap it is in."""
        if pod.state is State.ACTIVE:
            return self._sort_key(pod)
        until = self.delay.until(pod)
        return (until, self._sort_key(pod)) if pod.state is State.BACKOFF else until

    def shift(self, pod: QueuedPod, state: State, step: Step) -> None:
        """Give a pod a new state; check it against the table, and log it."""
        source = pod.state
        if state not in TABLE[source].get(step.trigger, ()):
            raise QueueError(
                f"pod {pod.info.pod.key}: {step.trigger.value} does not lead "
                f"from {source.value} to {state.value}"
            )
        pod.state = state
        if self._diary.is_kept:
            self._diary.write(pod, step.event, source, step.now)

    def _arrive(self, pod: QueuedPod, state: State, step: Step) -> None:
        self.shift(pod, state, step)
        pod.sequence = next(self._sequence)

    def _back_off(self, pod: QueuedPod, step: Step) -> State:
        if self._gates.refuse(pod):
            return self._gate(pod, step)
        state = State.BACKOFF if pod.refused_by else State.ERROR_BACKOFF
        self._arrive(pod, state, step)
        key = self._key(pod)
        if state is State.BACKOFF:
            self.backoff.push(key, pod)
        else:
            self.errors.push(key, pod)
        self.incoming["backoff", step.event] += 1
        return state

    def _gate(self, pod: QueuedPod, step: Step) -> State:
        pod.flushed = False
        return self._wait(pod, State.GATED, step)

    def _wait(self, pod: QueuedPod, state: State, step: Step) -> State:
        never_left = pod.state in _POOLED and step.trigger in _LOOKS_IN_POOL
        self._arrive(pod, state, step)
        self.pool.put(pod)
        if not never_left:
            self.incoming["unschedulable", step.event] += 1
        return state

    def _heap(self, state: State) -> Heap | BackoffHeap | None:
        if state is State.ACTIVE:
            return self.active
        if state is State.BACKOFF:
            return self.backoff
        return self.errors if state is State.ERROR_BACKOFF else None


def validate_queue(places: SubQueues, flights: InFlightPods) -> None:
    """Raise AssertionError naming the first pod or index that is inconsistent."""
    for uid, pod in places.pods.items():
        assert pod.info.uid == uid, f"{pod} is filed under {uid}"
        _check_pod(pod)
    _check_heap(places, places.active, State.ACTIVE)
    _check_heap(places, places.backoff, State.BACKOFF)
    _check_heap(places, places.errors, State.ERROR_BACKOFF)
    _check_pool(places)
    airborne = {uid for uid, pod in places.pods.items() if pod.state is State.IN_FLIGHT}
    assert set(flights.uids()) == airborne, "pods in flight differ from the flights recorded"
    flights.validate()


def _check_pod(pod: QueuedPod) -> None:
    assert pod.state is not State.OUTSIDE, f"{pod} is outside, yet known"
    assert (pod.state is State.GATED) == bool(pod.gated_by), f"{pod}: gated by {pod.gated_by!r}"
    if pod.state is State.ERROR_BACKOFF:
        assert not pod.refused_by, f"{pod} was refused, and waits as if after an error"
    if pod.state in (State.BACKOFF, State.UNSCHEDULABLE, State.GATED):
        assert pod.refused_by, f"{pod} was refused by nobody"


def _check_heap(places: SubQueues, heap: Heap | BackoffHeap, state: State) -> None:
    want = {uid for uid, pod in places.pods.items() if pod.state is state}
    found = [pod.info.uid for pod in heap]
    assert len(heap) == len(found), f"{state.value}: counts {len(heap)}, holds {len(found)}"
    assert sorted(found) == sorted(want), f"{state.value}: holds {found}, not {sorted(want)}"


def _check_pool(places: SubQueues) -> None:
    pool = places.pool
    for half, state in ((pool.unschedulable, State.UNSCHEDULABLE), (pool.gated, State.GATED)):
        want = {uid for uid, pod in places.pods.items() if pod.state is state}
        assert set(half) == want, f"{state.value}: holds {sorted(half)}, not {sorted(want)}"
    assert _indexed(pool) == _expected(pool), "pods are not indexed by who refused them"
    pool.validate()
    assert all(pool.oldest <= last_seen(pod) for pod in pool), "a pod would be flushed too late"


def _indexed(pool: UnschedulablePods) -> set[tuple[object, ...]]:
    return {
        (refuser, spec, cls.id, uid)
        for refuser, specs in pool.refused.items()
        for spec, classes in specs.items()
        for cls, pods in classes.items()
        for uid in pods or [None]
    }


def _expected(pool: UnschedulablePods) -> set[tuple[object, ...]]:
    return {
        (refuser, alike(pod), pod.info.cls.id, pod.info.uid)
        for pod in pool
        for refuser in refusers(pod)
    }
