from collections.abc import Callable
from typing import Any

import pytest

from moorage.api.pod import Pod, Toleration
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.events import (
    ANY_EVENT,
    Action,
    ClusterEvent,
    EventHint,
    Hint,
    Resource,
)
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue import change_events
from moorage.queue.scheduling_queue import SchedulingQueue

SCHEDULER = "default-scheduler"
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
NODE_TAINT = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)
NODE_DELETE = ClusterEvent(Resource.NODE, Action.DELETE)
TOLERATION = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION)

Refuse = Callable[..., QueuedPod]


@pytest.fixture
def refuse(queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock) -> Refuse:
    """Let a pod be attempted and refused by plugins."""
    return refuser(queue, pod, clock)


def refuser(queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock) -> Refuse:
    def refuse(name: str, *plugins: str, pending: tuple[str, ...] = (), **spec: Any) -> QueuedPod:
        queue.add(pod(name, **spec), clock.now())
        popped = queue.pop(clock.now())
        assert popped is not None
        assert popped.info.uid == name
        queue.put_back(popped, plugins, pending, False, clock.now())
        return popped

    return refuse


class TestEvents:
    def test_move_pods_whose_plugins_registered_for_them(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        by_fit, by_taints, by_both, by_deaf = (
            refuse("a", "Fit"),
            refuse("b", "Taints"),
            refuse("c", "Fit", "Taints"),
            refuse("d", "Deaf"),
        )

        assert queue.move(NODE_ADD, None, None, clock.now()) == 2

        states = [queued.state for queued in (by_fit, by_taints, by_both, by_deaf)]
        waits = State.UNSCHEDULABLE
        assert states == [State.BACKOFF, waits, State.BACKOFF, waits]

    def test_put_pods_past_their_backoff_straight_into_the_active_queue(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        queued = refuse("a", "Fit")

        queue.move(NODE_ADD, None, None, clock.now() + 2)

        assert queued.state is State.ACTIVE

    def test_put_pending_pods_straight_into_the_active_queue(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        queued = refuse("a", "Taints", pending=("Fit",))

        queue.move(NODE_ADD, None, None, clock.now())

        assert queued.state is State.ACTIVE

    def test_leave_out_pods_that_were_not_chosen(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        high, low = refuse("high", "Fit", priority=10), refuse("low", "Fit", priority=1)

        assert (
            queue.move(
                NODE_ADD, None, None, clock.now(), only=change_events.has_priority_at_most(1)
            )
            == 1
        )

        assert (high.state, low.state) == (State.UNSCHEDULABLE, State.BACKOFF)

    def test_do_not_even_look_at_pods_whose_plugins_registered_for_none_of_them(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        refuse("a", "Fit")
        refuse("b", "Taints")
        looked: list[str] = []

        def look(pod: Pod) -> bool:
            looked.append(pod.name)
            return True

        queue.move(NODE_TAINT, None, None, clock.now(), only=look)

        assert looked == ["b"]

    def test_move_everyone_when_they_are_wildcards(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        refuse("a", "Deaf")
        refuse("b", "Fit")

        assert queue.move(ANY_EVENT, None, None, clock.now()) == 2

    def test_move_the_one_pod_that_a_wildcard_carries(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        refuse("a", "Fit")
        queued = refuse("b", "Deaf")

        assert queue.move(ANY_EVENT, None, queued.info.pod, clock.now()) == 1

        assert queued.state is State.BACKOFF

    def test_are_asked_about_once_for_a_class_of_pods_that_share_the_answer(
        self,
        queue_of: Callable[..., SchedulingQueue],
        pod: Callable[..., PodInfo],
        clock: VirtualClock,
    ) -> None:
        asked: list[str] = []

        def hint(pod: Pod, old: Any, new: Any) -> Hint:
            asked.append(pod.name)
            return Hint.SKIP

        registered = {"Fit": [EventHint(NODE_ADD, hint, per_class=True)]}
        queue = queue_of(hints={SCHEDULER: registered})
        refuse = refuser(queue, pod, clock)
        for name in ("a", "b", "c"):
            refuse(name, "Fit")
        refuse("d", "Fit", priority=5)

        assert queue.move(NODE_ADD, None, None, clock.now()) == 0

        assert asked == ["a", "d"]

    @pytest.mark.parametrize("answer", Hint)
    def test_are_asked_about_once_for_pods_that_differ_in_labels_alone(
        self,
        queue_of: Callable[..., SchedulingQueue],
        pod: Callable[..., PodInfo],
        clock: VirtualClock,
        answer: Hint,
    ) -> None:
        asked: list[str] = []

        def hint(pod: Pod, old: Any, new: Any) -> Hint:
            asked.append(pod.name)
            return answer

        registered = {"Fit": [EventHint(NODE_ADD, hint, per_spec=True)]}
        queue = queue_of(hints={SCHEDULER: registered})
        refuse = refuser(queue, pod, clock)
        for name in ("a", "b", "c"):
            refuse(name, "Fit", labels={"pod": name})
        refuse("d", "Fit", priority=5)

        moved = queue.move(NODE_ADD, None, None, clock.now())

        assert moved == (4 if answer is Hint.QUEUE else 0)
        assert asked == ["a", "d"]

    def test_reach_pods_whose_plugin_cannot_tell_who_shares_the_answer(
        self,
        queue_of: Callable[..., SchedulingQueue],
        pod: Callable[..., PodInfo],
        clock: VirtualClock,
    ) -> None:
        def broken(pod: Pod) -> bool:
            raise ValueError("no such pod")

        def hint(pod: Pod, old: Any, new: Any) -> Hint:
            return Hint.QUEUE if pod.labels["pod"] == "b" else Hint.SKIP

        registered = {"Fit": [EventHint(NODE_ADD, hint, per_spec=broken)]}
        queue = queue_of(hints={SCHEDULER: registered})
        refuse = refuser(queue, pod, clock)
        pods = {name: refuse(name, "Fit", labels={"pod": name}) for name in ("a", "b")}

        assert queue.move(NODE_ADD, None, None, clock.now()) == 1

        assert pods["b"].state is not State.UNSCHEDULABLE

    def test_that_some_of_a_spec_may_like_are_asked_about_for_each(
        self,
        queue_of: Callable[..., SchedulingQueue],
        pod: Callable[..., PodInfo],
        clock: VirtualClock,
    ) -> None:
        def hint(pod: Pod, old: Any, new: Any) -> Hint:
            return Hint.QUEUE if pod.labels["pod"] == "b" else Hint.SKIP

        def some(pod: Pod, old: Any, new: Any) -> Hint:
            return Hint.QUEUE

        registered = {"Fit": [EventHint(NODE_ADD, hint, class_hint=some, per_spec=True)]}
        queue = queue_of(hints={SCHEDULER: registered})
        refuse = refuser(queue, pod, clock)
        pods = {name: refuse(name, "Fit", labels={"pod": name}) for name in ("a", "b", "c")}

        assert queue.move(NODE_ADD, None, None, clock.now()) == 1

        assert pods["b"].state is not State.UNSCHEDULABLE


class TestMissedEvents:
    def attempt(
        self, queue: SchedulingQueue, info: PodInfo, clock: VirtualClock, *missed: ClusterEvent
    ) -> QueuedPod:
        queue.add(info, clock.now())
        popped = queue.pop(clock.now())
        assert popped is not None
        for event in missed:
            queue.move(event, None, None, clock.now())
        return popped

    @pytest.mark.parametrize(
        ("missed", "by", "pending", "want"),
        [
            pytest.param([], "Fit", "", State.UNSCHEDULABLE, id="without any, the pod waits"),
            pytest.param([NODE_ADD], "Fit", "", State.BACKOFF, id="one of its plugin's retries it"),
            pytest.param(
                [NODE_ADD], "Taints", "", State.UNSCHEDULABLE, id="one of others does not"
            ),
            pytest.param([NODE_ADD], "", "Fit", State.ACTIVE, id="a pending plugin skips backoff"),
            pytest.param([NODE_TAINT, NODE_ADD], "Taints", "Fit", State.ACTIVE, id="the best wins"),
            pytest.param([NODE_TAINT], "Taints", "Fit", State.BACKOFF, id="pending or not"),
        ],
    )
    def test_are_weighed_when_the_pod_comes_back(
        self,
        queue: SchedulingQueue,
        pod: Callable[..., PodInfo],
        clock: VirtualClock,
        missed: list[ClusterEvent],
        by: str,
        pending: str,
        want: State,
    ) -> None:
        popped = self.attempt(queue, pod("web"), clock, *missed)

        state = queue.put_back(popped, {by} - {""}, {pending} - {""}, False, clock.now())

        assert state is want

    def test_do_not_include_those_before_the_attempt(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        self.attempt(queue, pod("other"), clock, NODE_ADD)
        popped = self.attempt(queue, pod("web"), clock)

        assert queue.put_back(popped, {"Fit"}, (), False, clock.now()) is State.UNSCHEDULABLE

    def test_include_those_hidden_from_pods_that_wait(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        popped = self.attempt(queue, pod("web"), clock)
        queue.move(NODE_ADD, None, None, clock.now(), only=lambda pod: False)

        assert queue.put_back(popped, {"Fit"}, (), False, clock.now()) is State.BACKOFF

    def test_are_not_kept_when_no_plugin_wants_them(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        self.attempt(queue, pod("web"), clock, NODE_DELETE, NODE_ADD)

        assert queue.in_flight_events() == {"NodeAdd": 1}

    def test_are_dropped_when_the_attempt_is_done(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        popped = self.attempt(queue, pod("web"), clock, NODE_ADD)

        queue.done(popped.info.uid)

        assert not queue.in_flight_events()

    def test_include_an_activation(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        popped, other = (self.attempt(queue, pod(name), clock) for name in ("web", "db"))

        assert queue.activate(["web"]) == 0

        assert queue.put_back(popped, {"Deaf"}, (), False, clock.now()) is State.BACKOFF
        assert queue.put_back(other, {"Deaf"}, (), False, clock.now()) is State.UNSCHEDULABLE

    def test_include_the_flush_of_others(
        self,
        queue: SchedulingQueue,
        refuse: Refuse,
        pod: Callable[..., PodInfo],
        clock: VirtualClock,
    ) -> None:
        refuse("old", "Deaf")
        queue.add(pod("web"), clock.now())
        popped = queue.pop(clock.now())
        assert popped is not None

        queue.tick(clock.now() + 600)

        assert queue.put_back(popped, {"Deaf"}, (), False, clock.now() + 600) is State.BACKOFF


class TestActivation:
    def test_skips_hints_and_backoff(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        waiting, backing_off = refuse("a", "Deaf"), refuse("b", "Fit")
        queue.move(NODE_ADD, None, None, clock.now())
        assert queue.pending_counts()["backoff"] == 1

        assert queue.activate(["a", "b"]) == 2

        assert waiting.state is backing_off.state is State.ACTIVE

    def test_does_not_disturb_active_pods_and_knows_no_others(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())

        assert queue.activate(["web", "stranger"]) == 0

        assert queue.pending_counts()["active"] == 1


class TestUpdate:
    @pytest.fixture
    def queue(self, queue_of: Callable[..., SchedulingQueue]) -> SchedulingQueue:
        hints = {"Taints": [EventHint(TOLERATION)], "Fit": [EventHint(NODE_ADD)]}
        return queue_of(hints={SCHEDULER: hints})

    @pytest.fixture
    def tolerant(self, pod: Callable[..., PodInfo]) -> PodInfo:
        return pod("web", tolerations=(Toleration(operator="Exists"),))

    def test_adds_a_pod_that_is_not_here(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo]
    ) -> None:
        assert queue.update(pod("web").pod, pod("web", priority=3)) is State.ACTIVE

    @pytest.mark.parametrize(
        ("by", "after", "want"),
        [
            pytest.param("Taints", 0.0, State.BACKOFF, id="moves it if its plugin hoped for that"),
            pytest.param("Taints", 9.0, State.ACTIVE, id="without backoff when that is over"),
            pytest.param("Fit", 9.0, State.UNSCHEDULABLE, id="leaves it if its plugin did not"),
        ],
    )
    def test_of_a_refused_pod(
        self,
        queue: SchedulingQueue,
        pod: Callable[..., PodInfo],
        tolerant: PodInfo,
        clock: VirtualClock,
        by: str,
        after: float,
        want: State,
    ) -> None:
        queued = refuser(queue, pod, clock)("web", by)

        assert queue.update(queued.info.pod, tolerant, clock.now() + after) is want

        assert queued.info is tolerant

    def test_of_a_pod_in_flight_is_remembered_until_it_comes_back(
        self,
        queue: SchedulingQueue,
        pod: Callable[..., PodInfo],
        tolerant: PodInfo,
        clock: VirtualClock,
    ) -> None:
        first = pod("web")
        queue.add(first, clock.now())
        popped = queue.pop(clock.now())
        assert popped is not None

        assert queue.update(first.pod, tolerant) is State.IN_FLIGHT
        assert popped.info is first

        assert queue.put_back(popped, {"Taints"}, (), False, clock.now()) is State.BACKOFF
        assert popped.info is tolerant

    def test_of_one_pod_in_flight_is_nothing_to_another(
        self,
        queue: SchedulingQueue,
        pod: Callable[..., PodInfo],
        tolerant: PodInfo,
        clock: VirtualClock,
    ) -> None:
        for name in ("web", "db"):
            queue.add(pod(name), clock.now())
        web, db = (queue.pop(clock.now()) for _ in range(2))
        assert web is not None
        assert db is not None

        queue.update(web.info.pod, tolerant)

        assert queue.put_back(db, {"Taints"}, (), False, clock.now()) is State.UNSCHEDULABLE

    def test_of_an_active_pod_gives_it_its_new_place(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        first, second = pod("first"), pod("second")
        queue.add(first, clock.now())
        queue.add(second, clock.now())

        queue.update(second.pod, pod("second", priority=9))

        popped = queue.pop(clock.now())
        assert popped is not None
        assert popped.info.uid == "second"

    def test_of_an_active_pod_that_changes_no_order_keeps_its_place(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        first, second = pod("first"), pod("second")
        queue.add(first, clock.now())
        queue.add(second, clock.now())

        relabelled = pod("first", labels={"tier": "front"})
        queue.update(first.pod, relabelled)

        popped = queue.pop(clock.now())
        assert popped is not None
        assert popped.info is relabelled

    def test_of_a_pod_backing_off_lets_it_back_off(
        self, queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        queued = refuser(queue, pod, clock)("web", "Fit")
        queue.move(NODE_ADD, None, None, clock.now())
        urgent = pod("web", priority=9)

        assert queue.update(queued.info.pod, urgent) is State.BACKOFF

        assert queued.info is urgent
        assert queue.pop(clock.now()) is queued


class TestFlush:
    def test_retries_pods_that_no_event_has_woken_for_five_minutes(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        queued = refuse("web", "Deaf")

        queue.tick(clock.now() + 300)
        assert queue.pending_counts()["unschedulable"] == 1
        queue.tick(clock.now() + 330)
        assert queued.state is State.ACTIVE
        assert queued.flushed

    def test_looks_every_thirty_seconds(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        clock.advance(5)
        queued = refuse("web", "Deaf")

        queue.tick(clock.now() + 296)
        queue.tick(clock.now() + 301)
        assert queue.pending_counts()["unschedulable"] == 1
        queue.tick(clock.now() + 325)
        assert queued.state is State.ACTIVE

    def test_is_forgotten_when_the_attempt_fails(
        self, queue: SchedulingQueue, refuse: Refuse, clock: VirtualClock
    ) -> None:
        queued = refuse("web", "Deaf")
        later = clock.now() + 330
        assert queue.pop(later) is queued
        assert queued.flushed

        queue.put_back(queued, {"Deaf"}, (), False, later)

        assert not queued.flushed

    def test_leaves_pods_gated_and_asks_again_after_another_five_minutes(
        self, gated_queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
    ) -> None:
        gated_queue.add(pod("gated"), clock.now())
        queued = gated_queue.find("gated")
        assert queued is not None

        for passed in (330, 360, 600, 660, 690):
            gated_queue.tick(clock.now() + passed)

        flushes = [n.time - 1000 for n in gated_queue.story("gated") if "Timeout" in n.event]
        assert flushes == [330, 660]
        assert not queued.flushed
