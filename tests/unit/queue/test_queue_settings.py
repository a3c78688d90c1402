"""Another configuration: every pod that waits is put where it belongs now, and none is lost."""

from collections.abc import Callable
from typing import Any

import pytest

from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import PreEnqueue
from moorage.framework.queued_pod import QueuedPod, State
from moorage.framework.verdicts import Rejection, unschedulable
from moorage.plugins.priority_sort import PrioritySort
from moorage.queue.backoff import Backoff
from moorage.queue.queue_settings import QueueSettings
from moorage.queue.scheduling_queue import SchedulingQueue

OURS, OTHER = "default-scheduler", "batch"
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
HINTS = {"Fit": (EventHint(NODE_ADD),), "Deaf": ()}
MakePod = Callable[..., PodInfo]


class Shut(PreEnqueue, frozen=True):
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        return unschedulable("shut")


def by_name(queued: QueuedPod) -> Any:
    return queued.info.pod.name


def settings(**changed: Any) -> QueueSettings:
    """What the queue of these tests goes by at first, but for what is given."""
    first: dict[str, Any] = {
        "sort_key": PrioritySort().sort_key,
        "pre_enqueue": {OURS: ()},
        "hints": {OURS: HINTS},
        "backoff": Backoff(),
    }
    return QueueSettings(**{**first, **changed})


@pytest.fixture
def queue(queue_of: Callable[..., SchedulingQueue]) -> SchedulingQueue:
    return queue_of(
        pre_enqueue={OURS: (), OTHER: ()}, hints={OURS: HINTS, OTHER: HINTS}, backoff=Backoff()
    )


def refused(queue: SchedulingQueue, info: PodInfo, now: float) -> QueuedPod:
    """A pod that Deaf has refused: no event will wake it."""
    queue.add(info, now)
    queued = queue.pop(now)
    assert queued is not None
    queue.put_back(queued, {"Deaf"}, (), False, now)
    assert queued.state is State.UNSCHEDULABLE
    return queued


def test_ready_pods_leave_in_the_new_order(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    for name in ("b", "a", "c"):
        queue.add(pod(name), clock.now())
    queue.reconfigure(settings(sort_key=by_name), {OURS}, clock.now())

    order = [queue.pop(clock.now()) for _ in range(3)]
    assert [queued.info.pod.name for queued in order if queued] == ["a", "b", "c"]


def test_equal_keys_stay_in_the_order_in_which_the_pods_came(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    for name in ("b", "a", "c"):
        queue.add(pod(name), clock.now())
    queue.reconfigure(settings(), (), clock.now())

    order = [queue.pop(clock.now()) for _ in range(3)]
    assert [queued.info.pod.name for queued in order if queued] == ["b", "a", "c"]


def test_a_new_gate_stops_pods_that_were_ready(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queue.add(pod("web"), clock.now())
    queue.reconfigure(settings(pre_enqueue={OURS: [("Shut", Shut())]}), {OURS}, clock.now())

    assert queue.pending_counts() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}


def test_a_gate_that_is_gone_holds_nobody(
    queue_of: Callable[..., SchedulingQueue], pod: MakePod, clock: VirtualClock
) -> None:
    queue = queue_of(pre_enqueue={OURS: [("Shut", Shut())]})
    assert queue.add(pod("web"), clock.now()) is State.GATED
    queue.reconfigure(settings(), {OURS}, clock.now())

    assert queue.pop(clock.now()) is not None


def test_refused_pods_of_a_changed_profile_are_tried_again_and_keep_their_history(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queued = refused(queue, pod("web"), clock.now())
    queue.reconfigure(settings(), {OURS}, clock.now())

    assert queued.state is State.BACKOFF
    assert (queued.attempts, queued.unschedulable_count) == (1, 1)


def test_refused_pods_of_a_profile_that_stays_the_same_are_left_alone(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queued = refused(queue, pod("web"), clock.now())
    queue.reconfigure(settings(), (), clock.now())

    assert queued.state is State.UNSCHEDULABLE


def test_backoff_is_counted_anew_from_the_failure_by_the_new_settings(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queued = refused(queue, pod("web"), clock.now())
    queue.reconfigure(settings(backoff=Backoff(60.0, 120.0)), {OURS}, clock.now())
    waits_until = queued.backoff_until
    assert waits_until == clock.now() + 60.0
    queue.reconfigure(settings(backoff=Backoff(0.0, 0.0)), (), clock.now())

    assert queued.state is State.ACTIVE


def test_a_pod_that_failed_by_error_goes_on_backing_off(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queue.add(pod("web"), clock.now())
    queued = queue.pop(clock.now())
    assert queued is not None
    queue.put_back(queued, (), (), True, clock.now())
    queue.reconfigure(settings(), {OURS}, clock.now())

    assert queued.state is State.ERROR_BACKOFF


def test_a_pod_in_flight_has_missed_the_change(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    """Refused by plugins that are no longer in force, it must not wait for their events."""
    queue.add(pod("web"), clock.now())
    queued = queue.pop(clock.now())
    assert queued is not None
    queue.reconfigure(settings(), {OURS}, clock.now())

    assert queue.put_back(queued, {"Deaf"}, (), False, clock.now()) is State.BACKOFF


@pytest.mark.parametrize("state", ["active", "unschedulable", "gated"])
def test_pods_of_a_profile_that_is_gone_are_let_go(
    queue_of: Callable[..., SchedulingQueue], pod: MakePod, clock: VirtualClock, state: str
) -> None:
    gates = {OURS: (), OTHER: [("Shut", Shut())] if state == "gated" else ()}
    queue = queue_of(pre_enqueue=gates, hints={OURS: HINTS, OTHER: HINTS})
    batch = pod("batch", scheduler_name=OTHER)
    if state == "unschedulable":
        refused(queue, batch, clock.now())
    else:
        queue.add(batch, clock.now())
    assert queue.pending_counts()[state] == 1
    queue.reconfigure(settings(), (), clock.now())

    assert len(queue) == 0


def test_a_pod_in_flight_whose_profile_is_gone_is_let_go_when_it_comes_back(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queue.add(pod("batch", scheduler_name=OTHER), clock.now())
    queued = queue.pop(clock.now())
    assert queued is not None
    queue.reconfigure(settings(), (), clock.now())

    assert queue.put_back(queued, {"Deaf"}, (), False, clock.now()) is State.OUTSIDE
    assert len(queue) == 0


def test_a_pod_in_flight_is_kept_if_its_profile_comes_back_before_it_does(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queue.add(pod("batch", scheduler_name=OTHER), clock.now())
    queued = queue.pop(clock.now())
    assert queued is not None
    queue.reconfigure(settings(), (), clock.now())
    both = {OURS: (), OTHER: ()}
    queue.reconfigure(settings(pre_enqueue=both, hints={OTHER: HINTS}), {OTHER}, clock.now())
    assert queue.keep("batch")

    assert queue.put_back(queued, {"Deaf"}, (), False, clock.now()) is State.BACKOFF


def test_pods_of_a_profile_that_has_appeared_may_enter(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    both = {OURS: (), "new": ()}
    queue.reconfigure(settings(pre_enqueue=both), {"new"}, clock.now())

    assert queue.add(pod("web", scheduler_name="new"), clock.now()) is State.ACTIVE


def test_events_are_weighed_by_the_new_hints(
    queue: SchedulingQueue, pod: MakePod, clock: VirtualClock
) -> None:
    queue.move(NODE_ADD, None, None, clock.now())
    queue.reconfigure(settings(hints={OURS: {"Deaf": (EventHint(NODE_ADD),)}}), (), clock.now())
    queued = refused(queue, pod("web"), clock.now())

    assert queue.move(NODE_ADD, None, None, clock.now()) == 1
    assert queued.state is State.BACKOFF
