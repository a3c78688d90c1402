from collections.abc import Callable

import pytest

from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.queued_pod import QueuedPod, State
from moorage.plugins.priority_sort import PrioritySort
from moorage.queue.scheduling_queue import SchedulingQueue


@pytest.fixture
def broken(pod: Callable[..., PodInfo], clock: VirtualClock) -> SchedulingQueue:
    """A queue with one pod waiting and one active, for the test to break."""
    queue = SchedulingQueue(PrioritySort().sort_key, {"default-scheduler": ()}, {}, now=clock.now)
    queue.add(pod("waits"), clock.now())
    queued = queue.pop(clock.now())
    assert queued is not None
    queue.put_back(queued, {"Fit"}, (), False, clock.now())
    queue.add(pod("ready"), clock.now())
    queue.validate()
    return queue


def get(queue: SchedulingQueue, uid: str) -> QueuedPod:
    found = queue.find(uid)
    assert found is not None
    return found


def lose(queue: SchedulingQueue) -> None:
    queue._places.active.pop()


def duplicate(queue: SchedulingQueue) -> None:
    ready = get(queue, "ready")
    queue._places.active.push((0, 0.0), ready)


def lie(queue: SchedulingQueue) -> None:
    get(queue, "ready").state = State.BACKOFF


def forget_departure(queue: SchedulingQueue) -> None:
    queue._places.active.pop()
    get(queue, "ready").state = State.IN_FLIGHT


def change_refuser(queue: SchedulingQueue) -> None:
    get(queue, "waits").unschedulable_plugins = frozenset({"Taints"})


def gate(queue: SchedulingQueue) -> None:
    get(queue, "ready").gated_by = "Gate"


def hide_age(queue: SchedulingQueue) -> None:
    queue._places.pool.oldest = 1e9


@pytest.mark.parametrize(
    ("breakage", "want"),
    [
        pytest.param(lose, "active: holds", id="a pod that is in no heap"),
        pytest.param(duplicate, "active: holds", id="a pod that is in a heap twice"),
        pytest.param(lie, "refused by nobody", id="a state without what belongs to it"),
        pytest.param(forget_departure, "pods in flight differ", id="a flight nobody recorded"),
        pytest.param(change_refuser, "not indexed by who refused", id="an index out of date"),
        pytest.param(gate, "gated by 'Gate'", id="a gate that does not hold"),
        pytest.param(hide_age, "flushed too late", id="a pod that would wait too long"),
    ],
)
def test_validate_finds(
    broken: SchedulingQueue, breakage: Callable[[SchedulingQueue], None], want: str
) -> None:
    breakage(broken)

    with pytest.raises(AssertionError, match=want):
        broken.validate()
