from collections.abc import Callable

from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.queued_pod import State
from moorage.queue.scheduling_queue import SchedulingQueue

MakePod = Callable[..., PodInfo]


def test_a_pod_is_taken_out_of_turn(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    for name in "abc":
        queue.add(pod(name), clock.now())

    taken = queue.take("b", clock.now())

    assert taken is not None
    assert (taken.info.uid, taken.state, taken.attempts) == ("b", State.IN_FLIGHT, 1)
    first, second = queue.pop(clock.now()), queue.pop(clock.now())
    assert first is not None
    assert second is not None
    assert [first.info.uid, second.info.uid] == ["a", "c"]


def test_a_pod_that_waits_elsewhere_must_be_activated_first(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queue.add(pod("web"), clock.now())
    popped = queue.pop(clock.now())
    assert popped is not None
    queue.put_back(popped, {"Fit"}, (), False, clock.now())

    assert queue.take("web", clock.now()) is None
    queue.activate(["web"], clock.now())
    assert queue.take("web", clock.now()) is popped


def test_a_gated_pod_cannot_be_taken(
    gated_queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    gated_queue.add(pod("gated"), clock.now())
    gated_queue.activate(["gated"], clock.now())

    assert gated_queue.take("gated", clock.now()) is None


def test_there_is_nothing_to_take_of_a_pod_that_is_not_here(
    queue: SchedulingQueue, clock: VirtualClock
) -> None:
    assert queue.take("web", clock.now()) is None
