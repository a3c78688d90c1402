"""The queue does what a plain list of pods would do, however it is called."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from moorage.api.meta import ObjectMeta
from moorage.api.pod import Pod, PodSpec, Toleration
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.framework.events import ANY_EVENT, Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import PreEnqueue
from moorage.framework.queued_pod import QueuedPod, State
from moorage.framework.verdicts import PluginError, Rejection, unschedulable
from moorage.plugins.priority_sort import PrioritySort
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.queue.transitions import TABLE, QueueError, Trigger

SCHEDULER = "default-scheduler"
PICKS = st.integers(0, 99)
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
NODE_TAINT = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)
NODE_LABEL = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)
TOLERATION = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION)
POD_UPDATE = ClusterEvent(Resource.TARGET_POD, Action.UPDATE)
ACTIVATION = ClusterEvent(Resource.WILDCARD, Action.ALL, "ForceActivate")

POOL = (State.UNSCHEDULABLE, State.GATED)
WAITS_OUT = (State.BACKOFF, State.ERROR_BACKOFF)
REFUSERS = ("Adds", "Taints", "Breaks", "Deaf", "Hears")
EVENTS = (NODE_ADD, NODE_TAINT, NODE_LABEL, ANY_EVENT)
SECONDS = (0.1, 0.5, 1.0, 2.0, 7.75, 30.0, 170.0, 400.0)
WANTS = {
    "Adds": {NODE_ADD},
    "Taints": {NODE_TAINT, TOLERATION},
    "Breaks": {NODE_TAINT},
    "Deaf": set[ClusterEvent](),
    "Hears": {NODE_ADD, NODE_TAINT, NODE_LABEL, TOLERATION, POD_UPDATE},
    "Gate": {NODE_LABEL},
}
"""The events after which each plugin's hint says Queue, or raises."""


def skip(pod: Pod, old: Any, new: Any) -> Hint:
    return Hint.SKIP


def breaks(pod: Pod, old: Any, new: Any) -> Hint:
    raise RuntimeError


HINTS = {
    "Adds": (EventHint(NODE_ADD), EventHint(NODE_TAINT, skip, per_class=True)),
    "Taints": (EventHint(NODE_TAINT), EventHint(TOLERATION), EventHint(NODE_ADD, skip)),
    "Breaks": (EventHint(NODE_TAINT, breaks),),
    "Deaf": (),
    "Hears": (EventHint(ANY_EVENT),),
    "Gate": (EventHint(NODE_LABEL),),
}


@dataclass
class Twin:
    """A pod as the model sees it."""

    info: PodInfo
    state: State
    since: float
    refused: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    refusals: int = 0
    errors: int = 0
    flushed: float = -math.inf
    missed: list[ClusterEvent] = field(default_factory=list)
    latest: PodInfo | None = None
    deleted: bool = False

    @property
    def until(self) -> float:
        failures = self.errors or self.refusals
        return math.floor(self.since + min(2.0 ** (failures - 1), 10.0)) if failures else -math.inf

    @property
    def key(self) -> tuple[int, float]:
        return -self.info.priority, self.since


class Gate(PreEnqueue, frozen=True):
    """Shut or open for all, as the machine wills."""

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        return unschedulable("shut") if QueueMachine.shut else None


class QueueMachine(RuleBasedStateMachine):
    """Calls the queue and its model alike, and compares."""

    shut = False

    @initialize()
    def start(self) -> None:
        type(self).shut = False
        self.now, self.made = 1000.25, 0
        self.started = self.looked = self.now
        self.twins: dict[str, Twin] = {}
        self.bound: dict[str, QueuedPod] = {}
        self.left: dict[str, Twin] = {}
        self.reported: list[PluginError] = []
        self.cache = Cache()
        self.queue = SchedulingQueue(
            PrioritySort().sort_key,
            {SCHEDULER: [("Gate", Gate())]},
            {SCHEDULER: HINTS},
            now=lambda: self.now,
            report=lambda _, error: self.reported.append(error),
        )

    def pod(self, uid: str, priority: int, tolerant: bool = False) -> PodInfo:
        meta = ObjectMeta(name=uid, namespace="shop", uid=uid)
        tolerations = (Toleration(operator="Exists"),) if tolerant else ()
        spec = PodSpec(priority=priority, tolerations=tolerations)
        return self.cache.info(Pod(metadata=meta, spec=spec))

    def enter(self, twin: Twin, how: str) -> None:
        """The model's way into the queue: skip, after backoff, or immediately."""
        if how == "skip":
            twin.state = State.UNSCHEDULABLE
        elif self.shut:
            twin.state = State.GATED
            twin.refused = twin.refused | {"Gate"}
        elif how == "after backoff" and twin.until >= math.floor(self.now):
            by = twin.refused | twin.pending
            twin.state = State.BACKOFF if by else State.ERROR_BACKOFF
        else:
            twin.state = State.ACTIVE

    def worth(self, twin: Twin, event: ClusterEvent) -> str:
        """What the model makes of an event."""
        if event.is_wildcard or not (twin.refused or twin.pending):
            return "after backoff"
        if any(event in WANTS[plugin] for plugin in twin.pending):
            return "immediately"
        return "after backoff" if any(event in WANTS[p] for p in twin.refused) else "skip"

    def hear(self, event: ClusterEvent) -> None:
        for twin in self.twins.values():
            gated = twin.state is State.GATED
            deaf = gated and not event.is_wildcard and event not in WANTS["Gate"]
            how = self.worth(twin, event)
            if twin.state in POOL and not deaf and how != "skip":
                self.enter(twin, how)
            elif twin.state is State.IN_FLIGHT:
                twin.missed.append(event)

    def pass_time(self) -> None:
        """Backoffs end; every thirty seconds those who waited for five minutes are retried."""
        for twin in self.twins.values():
            if twin.state in WAITS_OUT and twin.until < math.floor(self.now):
                twin.state = State.ACTIVE
        look = self.started + (self.now - self.started) // 30 * 30
        waiting = [twin for twin in self.twins.values() if twin.state in POOL]
        stale = [twin for twin in waiting if look - max(twin.since, twin.flushed) > 300]
        if look == self.looked:
            return
        self.looked = look
        for twin in stale:
            twin.flushed = look
            self.enter(twin, "after backoff")
        for twin in self.twins.values():
            if stale and twin.state is State.IN_FLIGHT:
                twin.missed.append(ANY_EVENT)

    def some(self, pick: int, *states: State) -> str:
        """One of the pods in these states."""
        uids = [uid for uid, twin in self.twins.items() if twin.state in states]
        return uids[pick % len(uids)]

    def any_in(self, *states: State) -> bool:
        return any(twin.state in states for twin in self.twins.values())

    @rule(priority=st.integers(0, 2))
    def add(self, priority: int) -> None:
        uid = f"pod-{self.made}"
        self.made += 1
        twin = self.twins[uid] = Twin(self.pod(uid, priority), State.OUTSIDE, self.now)
        self.enter(twin, "immediately")
        assert self.queue.add(twin.info, self.now) is twin.state

    @rule(priority=st.integers(0, 2))
    def update_a_stranger(self, priority: int) -> None:
        uid = f"pod-{self.made}"
        self.made += 1
        twin = self.twins[uid] = Twin(self.pod(uid, priority), State.OUTSIDE, self.now)
        self.enter(twin, "immediately")
        assert self.queue.update(self.pod(uid, 0).pod, twin.info) is twin.state

    @rule()
    def pop(self) -> None:
        self.pass_time()
        popped = self.queue.pop(self.now)
        active = [twin for twin in self.twins.values() if twin.state is State.ACTIVE]
        backing_off = [twin for twin in self.twins.values() if twin.state is State.BACKOFF]
        if popped is None:
            assert not active
            assert not backing_off
            return
        twin = self.twins[popped.info.uid]
        if active:
            assert twin.state is State.ACTIVE
            assert twin.key == min(other.key for other in active)
        else:
            assert twin.state is State.BACKOFF
            first = min((other.until, other.key) for other in backing_off)
            assert (twin.until, twin.key) == first
        twin.state, twin.missed = State.IN_FLIGHT, []

    @precondition(lambda self: self.any_in(State.IN_FLIGHT))
    @rule(
        pick=PICKS,
        refused=st.sets(st.sampled_from(REFUSERS), max_size=2),
        pending=st.sets(st.sampled_from(REFUSERS), max_size=1),
        error=st.booleans(),
    )
    def put_back(self, pick: int, refused: set[str], pending: set[str], error: bool) -> None:
        self.fail(self.some(pick, State.IN_FLIGHT), refused, pending, error)

    def fail(self, uid: str, refused: set[str], pending: set[str], error: bool) -> None:
        twin = self.twins[uid]
        twin.refused, twin.pending = (set(), set()) if error else (refused, pending)
        failed = bool(twin.refused or twin.pending)
        twin.refusals, twin.errors = twin.refusals + failed, 0 if failed else twin.errors + 1
        twin.since, twin.info = self.now, twin.latest or twin.info
        hows = {self.worth(twin, event) for event in twin.missed} if failed else {"after backoff"}
        hows |= {"after backoff"} if twin.state is State.OUTSIDE else set()
        best = next(
            how for how in ("immediately", "after backoff", "skip") if how in hows | {"skip"}
        )
        if twin.deleted:
            del self.twins[uid]
        else:
            self.enter(twin, best)
        queued = self.queue.find(uid) or self.bound.pop(uid)
        state = self.queue.put_back(queued, refused, pending, error, self.now)
        assert state is (State.OUTSIDE if twin.deleted else twin.state)

    @rule(priority=st.integers(0, 2), refused=st.sets(st.sampled_from(REFUSERS), max_size=2))
    def add_and_refuse(self, priority: int, refused: set[str]) -> None:
        """A short cut to where it gets interesting."""
        self.add(priority)
        self.pop()
        for uid, twin in list(self.twins.items()):
            if twin.state is State.IN_FLIGHT:
                self.fail(uid, refused, set(), False)

    @precondition(lambda self: self.any_in(State.IN_FLIGHT))
    @rule(pick=PICKS)
    def done(self, pick: int) -> None:
        uid = self.some(pick, State.IN_FLIGHT)
        queued = self.queue.find(uid)
        assert queued is not None
        self.queue.done(uid)
        self.bound[uid], self.left[uid] = queued, self.twins.pop(uid)

    @precondition(lambda self: self.bound)
    @rule(error=st.booleans())
    def fail_to_bind(self, error: bool) -> None:
        uid = next(iter(self.bound))
        twin = self.twins[uid] = self.left.pop(uid)
        twin.state, twin.missed = State.OUTSIDE, []
        self.fail(uid, {"Adds"}, set(), error)

    @precondition(lambda self: self.twins)
    @rule(pick=PICKS)
    def delete(self, pick: int) -> None:
        uid = self.some(pick, *State)
        twin = self.twins[uid]
        assert self.queue.delete(uid) is twin.state
        if twin.state is State.IN_FLIGHT:
            twin.deleted = True
        else:
            del self.twins[uid]

    @rule(event=st.sampled_from(EVENTS))
    def move(self, event: ClusterEvent) -> None:
        waiting = {uid for uid, twin in self.twins.items() if twin.state in POOL}
        self.hear(event)
        woken = self.queue.move(event, None, None, self.now)
        assert woken == sum(self.twins[uid].state not in POOL for uid in waiting)

    @precondition(lambda self: self.twins)
    @rule(pick=PICKS)
    def activate(self, pick: int) -> None:
        uid = self.some(pick, *State)
        twin = self.twins[uid]
        if twin.state in POOL:
            self.enter(twin, "immediately")
        elif twin.state in WAITS_OUT:
            twin.state = State.ACTIVE
        elif twin.state is State.IN_FLIGHT:
            twin.missed.append(ACTIVATION)
        self.queue.activate([uid])

    @precondition(lambda self: self.twins)
    @rule(pick=PICKS, priority=st.integers(0, 2), tolerant=st.booleans())
    def update(self, pick: int, priority: int, tolerant: bool) -> None:
        uid = self.some(pick, *State)
        twin = self.twins[uid]
        old = (twin.latest or twin.info).pod
        new = self.pod(uid, priority, tolerant)
        changed = len(old.spec.tolerations) != len(new.pod.spec.tolerations)
        event = TOLERATION if changed else POD_UPDATE
        if twin.state is State.IN_FLIGHT:
            twin.latest = new
            twin.missed.append(event)
        else:
            twin.info = twin.latest = new
            how = self.worth(twin, event)
            if twin.state in POOL and how != "skip":
                self.enter(twin, how)
        assert self.queue.update(old, new) is twin.state

    @rule(seconds=st.sampled_from(SECONDS))
    def advance(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def sleep_until_woken(self) -> None:
        """Nothing becomes ready before the time that the queue itself gave."""
        wake = self.queue.next_wake(self.now)
        if wake is not None and wake > self.now:
            self.now = math.nextafter(wake, 0.0)
            self.pass_time()
            assert self.queue.pop(self.now) is None
            self.now = wake

    @rule(shut=st.booleans())
    def turn_gate(self, shut: bool) -> None:
        type(self).shut = shut

    @precondition(lambda self: self.twins)
    @rule(pick=PICKS, trigger=st.sampled_from([Trigger.ADD, Trigger.DONE, Trigger.PUT_BACK]))
    def break_the_table(self, pick: int, trigger: Trigger) -> None:
        uid = self.some(pick, *State)
        queued = self.queue.find(uid)
        assert queued is not None
        if trigger in TABLE[queued.state]:
            return
        before = self.photograph(uid)
        try:
            if trigger is Trigger.ADD:
                self.queue.add(queued.info, self.now)
            elif trigger is Trigger.DONE:
                self.queue.done(uid)
            else:
                self.queue.put_back(queued, {"Adds"}, (), False, self.now)
        except QueueError:
            assert self.photograph(uid) == before
        else:
            raise AssertionError(f"{trigger} was let through for a pod {queued.state}")

    def photograph(self, uid: str) -> list[Any]:
        queued = self.queue.find(uid)
        assert queued is not None
        fields = [getattr(queued, name) for name in queued.__slots__]
        queue = self.queue
        return [fields, queue.pending_counts(), dict(queue.incoming), queue.story(uid)]

    @invariant()
    def agrees_with_the_model(self) -> None:
        if not hasattr(self, "queue"):
            return
        found = {queued.info.uid: queued.state for queued in self.queue}
        assert found == {uid: twin.state for uid, twin in self.twins.items()}
        self.queue.validate()


@pytest.mark.hypothesis
def test_the_queue_does_what_its_model_does() -> None:
    """No pod is lost or in two places, pops are in order, no event is missed in flight, and
    whatever the table of transitions does not allow raises and changes nothing."""
    run_state_machine_as_test(QueueMachine, settings=settings(stateful_step_count=50))


@pytest.mark.parametrize("seed", range(4))
def test_and_goes_on_doing_so(seed: int) -> None:
    """A long random walk, which gets to states that a short one does not."""
    machine, rng = QueueMachine(), random.Random(seed)
    machine.start()
    for _ in range(3000):
        walk(machine, rng)
        machine.agrees_with_the_model()


def walk(machine: QueueMachine, rng: random.Random) -> None:
    """One step; crowds are thinned out, or hardly a pod would ever be attempted twice."""
    pick, priority, flag = rng.randrange(99), rng.randrange(3), rng.random() < 0.5
    refused, pending = (set(rng.sample(REFUSERS, rng.randrange(n))) for n in (3, 2))
    steps: list[Callable[[], None]] = [
        lambda: machine.add(priority),
        lambda: machine.update_a_stranger(priority),
        lambda: machine.advance(rng.choice(SECONDS)),
        lambda: machine.turn_gate(rng.random() < 0.3),
        machine.sleep_until_woken,
        *[machine.pop] * 3,
        *[lambda: machine.move(rng.choice(EVENTS))] * 2,
    ]
    if machine.twins:
        illegal = rng.choice([Trigger.ADD, Trigger.DONE, Trigger.PUT_BACK])
        steps += [
            lambda: machine.activate(pick),
            lambda: machine.update(pick, priority, flag),
            lambda: machine.break_the_table(pick, illegal),
            *[lambda: machine.delete(pick)] * (1 + len(machine.twins) // 10),
        ]
    if machine.any_in(State.IN_FLIGHT):
        steps += [lambda: machine.put_back(pick, refused, pending, rng.random() < 0.2)] * 4
        steps += [lambda: machine.done(pick)]
    if machine.bound:
        steps += [lambda: machine.fail_to_bind(flag)]
    rng.choice(steps)()
