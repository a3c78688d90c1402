from collections.abc import Callable

from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.framework.queued_pod import State
from moorage.queue.scheduling_queue import SchedulingQueue


def test_a_story_tells_what_became_of_a_pod_and_why(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    queue.add(pod("web"), clock.now())
    queue.add(pod("other"), clock.now())
    queued = queue.pop(clock.now())
    assert queued is not None
    queue.put_back(queued, {"Taints", "Fit"}, (), False, clock.now())
    clock.advance(0.5)
    queue.move(ClusterEvent(Resource.NODE, Action.ADD), None, None, clock.now())
    queue.delete("web")

    assert [str(note) for note in queue.story("web")] == [
        "1000.000 outside -> active by UnscheduledPodAdd",
        "1000.000 active -> in flight by Pop, attempts 1",
        "1000.000 in flight -> unschedulable by ScheduleAttemptFailure, attempts 1, "
        "refused by Fit, Taints",
        "1000.500 unschedulable -> backoff by NodeAdd, attempts 1, refused by Fit, Taints",
        "1000.500 backoff -> outside by Delete, attempts 1, refused by Fit, Taints",
    ]


def test_a_story_gives_the_reason_of_a_gate(
    gated_queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    gated_queue.add(pod("gated"), clock.now())

    assert [str(note) for note in gated_queue.story("gated")] == [
        "1000.000 outside -> gated by UnscheduledPodAdd, refused by OnlyNamed: not yet"
    ]


def test_the_oldest_notes_are_forgotten_first(
    queue_of: Callable[..., SchedulingQueue], pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    queue = queue_of(notes=3)
    for name in ("a", "b", "c", "d"):
        queue.add(pod(name), clock.now())

    assert queue.story("a") == []
    assert [note.target for note in queue.story("d")] == [State.ACTIVE]
