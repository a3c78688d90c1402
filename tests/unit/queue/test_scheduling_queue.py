from collections.abc import Callable

import pytest

from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue.backoff import Backoff
from moorage.queue.scheduling_queue import SchedulingQueue

NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)

MakePod = Callable[..., PodInfo]


def popped(queue: SchedulingQueue, now: float) -> QueuedPod:
    found = queue.pop(now)
    assert found is not None
    return found


class TestPop:
    def test_takes_the_highest_priority_then_the_longest_waiting(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        for name, priority in [("a", 1), ("b", 5), ("c", 1), ("d", 5)]:
            queue.add(pod(name, priority=priority), clock.now())
            clock.advance(0.1)

        order = [popped(queue, clock.now()).info.uid for _ in range(4)]

        assert order == ["b", "d", "a", "c"]

    def test_takes_pods_added_in_the_same_instant_in_their_order(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        for name in "zyx":
            queue.add(pod(name), clock.now())

        assert [popped(queue, clock.now()).info.uid for _ in range(3)] == ["z", "y", "x"]

    def test_answers_none_when_nothing_is_ready(
        self, queue: SchedulingQueue, clock: VirtualClock
    ) -> None:
        assert queue.pop(clock.now()) is None

    def test_counts_attempts_and_cycles(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        for attempt in (1, 2):
            queued = popped(queue, clock.now())
            assert queued.attempts == queue.cycle == attempt
            queue.put_back(queued, {"Fit"}, (), False, clock.now())
            queue.activate(["web"])

    def test_takes_a_pod_out_of_backoff_when_nothing_is_active(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())
        queue.move(NODE_ADD, None, None, clock.now())
        assert queue.put_back(queued, {"Fit"}, (), False, clock.now()) is State.BACKOFF
        queue.add(pod("new"), clock.now())

        assert [popped(queue, clock.now()).info.uid for _ in range(2)] == ["new", "web"]

    def test_does_not_disturb_a_pod_backing_off_from_an_error(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())
        assert queue.put_back(queued, (), (), True, clock.now()) is State.ERROR_BACKOFF

        assert queue.pop(clock.now() + 1.9) is None
        assert queue.pop(clock.now() + 2.0) is queued

    def test_orders_pods_of_one_backoff_window_by_priority(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        for name, priority, after in [("low", 1, 0.1), ("high", 9, 0.8), ("next", 99, 0.3)]:
            clock.advance(after)
            queue.add(pod(name, priority=priority), clock.now())
            queue.put_back(popped(queue, clock.now()), {"Fit"}, (), False, clock.now())
        queue.move(NODE_ADD, None, None, clock.now())
        assert queue.pending_counts()["backoff"] == 3

        order = [popped(queue, clock.now()).info.uid for _ in range(3)]

        assert order == ["high", "low", "next"]

    def test_keeps_what_refused_the_pod_until_the_attempt_has_failed(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        queue.put_back(popped(queue, clock.now()), {"Fit"}, {"Taints"}, False, clock.now())
        queue.activate(["web"])

        assert popped(queue, clock.now()).refused_by == {"Fit", "Taints"}


class TestPutBack:
    def test_makes_a_refused_pod_wait_for_an_event(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())
        clock.advance(3)

        assert queue.put_back(queued, {"Fit"}, (), False, clock.now()) is State.UNSCHEDULABLE

        assert (queued.unschedulable_count, queued.timestamp, queued.entered) == (1, 1003, 1000)
        assert queue.pop(clock.now() + 100) is None

    @pytest.mark.parametrize(
        ("by", "error"),
        [
            pytest.param({"Fit"}, True, id="an error, whoever refused it before"),
            pytest.param(set(), False, id="refused by nobody"),
        ],
    )
    def test_retries_after_backoff(
        self,
        queue: SchedulingQueue,
        pod: MakePod,
        clock: VirtualClock,
        by: set[str],
        error: bool,
    ) -> None:
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())

        assert queue.put_back(queued, by, (), error, clock.now()) is State.ERROR_BACKOFF

        assert (queued.consecutive_errors, queued.unschedulable_count) == (1, 0)
        assert queued.refused_by == set()

    def test_a_refusal_ends_the_row_of_errors(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())
        for _ in range(2):
            queue.put_back(queued, (), (), True, clock.now())
            clock.advance(20)
            popped(queue, clock.now())
        assert queued.consecutive_errors == 2

        queue.put_back(queued, {"Fit"}, (), False, clock.now())

        assert (queued.consecutive_errors, queued.unschedulable_count) == (0, 1)

    def test_of_a_pod_that_was_already_done_backs_off(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        """Binding fails after the attempt was declared done."""
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())
        queue.done("web")

        assert queue.put_back(queued, (), (), True, clock.now()) is State.ERROR_BACKOFF
        assert queue.find("web") is queued

    def test_lets_go_of_a_pod_that_was_deleted_meanwhile(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())
        assert queue.delete("web") is State.IN_FLIGHT

        assert queue.put_back(queued, {"Fit"}, (), False, clock.now()) is State.OUTSIDE

        assert queue.find("web") is None

    def test_with_backoff_switched_off_retries_at_once(
        self, queue_of: Callable[..., SchedulingQueue], pod: MakePod, clock: VirtualClock
    ) -> None:
        queue = queue_of(backoff=Backoff(maximum=0.0))
        queue.add(pod("web"), clock.now())

        assert queue.put_back(popped(queue, clock.now()), (), (), True, clock.now()) is State.ACTIVE


class TestDone:
    def test_ends_the_pods_stay(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())

        queue.done("web")
        queue.done("web")

        assert queued.state is State.OUTSIDE
        assert len(queue) == 0


class TestDelete:
    @pytest.mark.parametrize(
        "state", [State.ACTIVE, State.BACKOFF, State.ERROR_BACKOFF, State.UNSCHEDULABLE]
    )
    def test_takes_a_pod_out_wherever_it_waits(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock, state: State
    ) -> None:
        queue.add(pod("web"), clock.now())
        if state is not State.ACTIVE:
            queued = popped(queue, clock.now())
            error = state is State.ERROR_BACKOFF
            queue.put_back(queued, {"Fit"}, (), error, clock.now())
        if state is State.BACKOFF:
            queue.move(NODE_ADD, None, None, clock.now())

        assert queue.delete("web") is state

        assert len(queue) == 0
        assert queue.pop(clock.now() + 1000) is None

    def test_of_a_stranger_is_nothing(self, queue: SchedulingQueue) -> None:
        assert queue.delete("stranger") is State.OUTSIDE

    def test_lets_a_gated_pod_go(
        self, gated_queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        gated_queue.add(pod("gated"), clock.now())

        assert gated_queue.delete("gated") is State.GATED
        assert gated_queue.pending_counts()["gated"] == 0


class TestNextWake:
    def test_is_never_in_an_empty_queue(self, queue: SchedulingQueue, clock: VirtualClock) -> None:
        assert queue.next_wake(clock.now()) is None

    def test_is_now_while_something_is_ready(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())

        assert queue.next_wake(clock.now()) == clock.now()

    def test_is_when_the_first_error_backoff_ends(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        clock.advance(0.7)
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())
        queue.put_back(queued, (), (), True, clock.now())

        wake = queue.next_wake(clock.now())

        assert wake == 1002.0
        assert queue.pop(wake - 0.01) is None
        assert queue.pop(wake) is queued

    def test_is_when_the_longest_waiting_pod_is_flushed(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        clock.advance(12)
        queue.add(pod("web"), clock.now())
        queued = popped(queue, clock.now())
        queue.put_back(queued, {"Deaf"}, (), False, clock.now())

        wake = queue.next_wake(clock.now())

        assert wake == 1330.0
        assert queue.pop(wake - 0.01) is None
        assert queue.pop(wake) is queued

    def test_does_not_wait_for_pods_in_flight(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue.add(pod("web"), clock.now())
        popped(queue, clock.now())

        assert queue.next_wake(clock.now()) is None


class TestFacts:
    def test_arrivals_are_counted_by_queue_and_event(
        self, gated_queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        queue = gated_queue
        queue.add(pod("gated"), clock.now())
        queue.add(pod("web"), clock.now())
        queue.put_back(popped(queue, clock.now()), {"Fit"}, (), False, clock.now())
        queue.move(NODE_ADD, None, None, clock.now())
        queue.put_back(popped(queue, clock.now()), (), (), True, clock.now())
        popped(queue, clock.now() + 10)

        assert queue.incoming == {
            ("unschedulable", "UnscheduledPodAdd"): 1,
            ("active", "UnscheduledPodAdd"): 1,
            ("unschedulable", "ScheduleAttemptFailure"): 1,
            ("backoff", "NodeAdd"): 1,
            ("active", "PopFromBackoffQ"): 1,
            ("backoff", "ScheduleAttemptFailure"): 1,
            ("active", "BackoffComplete"): 1,
        }

    def test_a_pod_that_stays_in_the_pool_does_not_arrive_there_again(
        self, gated_queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        gated_queue.add(pod("gated"), clock.now())

        gated_queue.activate(["gated"])
        gated_queue.update(pod("gated").pod, pod("gated", priority=1))

        assert gated_queue.incoming == {("unschedulable", "UnscheduledPodAdd"): 1}

    def test_a_pod_is_first_ready_when_it_first_enters_the_active_queue(
        self, gated_queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        gated_queue.add(pod("gated"), clock.now())
        gated_queue.add(pod("web"), clock.now())
        web, gated = gated_queue.find("web"), gated_queue.find("gated")
        assert web is not None
        assert gated is not None
        clock.advance(5)
        popped(gated_queue, clock.now())

        assert (web.first_attempt, gated.first_attempt) == (1000.0, None)

    def test_every_pod_can_be_listed(
        self, queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
    ) -> None:
        for name in ("a", "b"):
            queue.add(pod(name), clock.now())
        popped(queue, clock.now())

        assert {(queued.info.uid, queued.state) for queued in queue} == {
            ("a", State.IN_FLIGHT),
            ("b", State.ACTIVE),
        }
