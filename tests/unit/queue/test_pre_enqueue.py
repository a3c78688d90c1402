from collections.abc import Callable, Sequence

import pytest

from moorage.api.pod import Pod, PodSchedulingGate
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.points import PreEnqueue
from moorage.framework.queued_pod import State
from moorage.framework.verdicts import PluginError, Rejection, unschedulable
from moorage.plugins.scheduling_gates import SchedulingGates
from moorage.queue.scheduling_queue import SchedulingQueue

SCHEDULER = "default-scheduler"
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
NODE_DELETE = ClusterEvent(Resource.NODE, Action.DELETE)
shut: set[str] = set()
asked: list[str] = []


class First(PreEnqueue, frozen=True):
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        name = type(self).__name__
        asked.append(name)
        return unschedulable(f"{name} is shut") if name in shut else None


class Second(First, frozen=True):
    pass


class Broken(PreEnqueue, frozen=True):
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        raise KeyError("quota")


@pytest.fixture(autouse=True)
def _nothing_shut() -> None:
    shut.clear()
    asked.clear()


def entries(*plugins: PreEnqueue) -> Sequence[tuple[str, PreEnqueue]]:
    return [(type(plugin).__name__, plugin) for plugin in plugins]


@pytest.fixture
def queue(queue_of: Callable[..., SchedulingQueue]) -> SchedulingQueue:
    hints = {"First": (EventHint(NODE_ADD),), "Second": (EventHint(NODE_DELETE),)}
    gates = entries(First(), Second())
    return queue_of(pre_enqueue={SCHEDULER: gates}, hints={SCHEDULER: hints})


def test_a_refused_pod_waits_outside_the_active_queue(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    shut.add("Second")

    assert queue.add(pod("web"), clock.now()) is State.GATED

    gated = queue.find("web")
    assert gated is not None
    assert (gated.gated_by, gated.gated_reason) == ("Second", "Second is shut")
    assert gated.refused_by == {"Second"}
    assert queue.pending_counts() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
    assert queue.pop(clock.now()) is None


def test_the_plugin_that_gates_is_asked_first_the_next_time(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    shut.add("Second")
    queue.add(pod("web"), clock.now())
    asked.clear()

    queue.move(NODE_DELETE, None, None, clock.now())

    assert asked == ["Second"]


def test_an_event_the_gating_plugin_registered_for_opens_the_gate(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    shut.add("First")
    queue.add(pod("web"), clock.now())
    shut.clear()

    assert queue.move(NODE_DELETE, None, None, clock.now()) == 0
    assert queue.move(NODE_ADD, None, None, clock.now()) == 1

    popped = queue.pop(clock.now())
    assert popped is not None
    assert (popped.gated_by, popped.gated_reason) == ("", "")


class Counting(PreEnqueue, frozen=True):
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        asked.append("Counting")
        return unschedulable(f"no {len(asked)}")


def test_a_pod_whose_gate_stays_shut_stays_where_it_is_and_its_reason_is_the_latest(
    queue_of: Callable[..., SchedulingQueue], pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    hinted: list[str] = []

    def hint(pod: Pod, old: object, new: object) -> Hint:
        hinted.append(pod.name)
        return Hint.QUEUE

    hints = {"Counting": (EventHint(NODE_ADD, hint),)}
    queue = queue_of(pre_enqueue={SCHEDULER: entries(Counting())}, hints={SCHEDULER: hints})
    queue.add(pod("web"), clock.now())
    gated = queue.find("web")
    assert gated is not None
    before = gated.sequence

    assert queue.move(NODE_ADD, None, None, clock.now()) == 0

    assert (gated.state, gated.sequence) == (State.GATED, before)
    assert (gated.gated_reason, hinted) == ("no 2", [])
    queue.validate()


def test_a_pod_let_go_by_one_gate_may_be_held_by_the_next(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    shut.add("First")
    queue.add(pod("web"), clock.now())
    shut.clear()
    shut.add("Second")

    assert queue.move(NODE_ADD, None, None, clock.now()) == 0

    gated = queue.find("web")
    assert gated is not None
    assert gated.gated_by == "Second"
    assert gated.refused_by == {"First", "Second"}


def test_gates_hold_a_pod_on_its_way_to_backoff(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    queue.add(pod("web"), clock.now())
    popped = queue.pop(clock.now())
    assert popped is not None
    shut.add("First")

    assert queue.put_back(popped, (), (), True, clock.now()) is State.GATED


def test_gates_are_not_asked_again_when_backoff_completes(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    queue.add(pod("web"), clock.now())
    popped = queue.pop(clock.now())
    assert popped is not None
    queue.put_back(popped, (), (), True, clock.now())
    shut.add("First")

    assert queue.pop(clock.now() + 5) is popped


def test_activation_does_not_force_a_gate(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    shut.add("First")
    queue.add(pod("web"), clock.now())

    assert queue.activate(["web"]) == 0
    shut.clear()
    assert queue.activate(["web"]) == 1


def test_a_gate_that_raises_is_reported_and_shut(
    queue_of: Callable[..., SchedulingQueue], pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    reported: list[tuple[str, PluginError]] = []
    queue = queue_of(
        pre_enqueue={SCHEDULER: entries(Broken())}, report=lambda *told: reported.append(told)
    )

    assert queue.add(pod("web"), clock.now()) is State.GATED

    assert [str(error) for _, error in reported] == [
        "running PreEnqueue plugin 'Broken': KeyError: 'quota'"
    ]
    assert isinstance(reported[0][1].__cause__, KeyError)


def test_removing_the_last_scheduling_gate_lets_the_pod_in(
    queue_of: Callable[..., SchedulingQueue], pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    gates = SchedulingGates()
    queue = queue_of(
        pre_enqueue={SCHEDULER: entries(gates)},
        hints={SCHEDULER: {"SchedulingGates": gates.events()}},
    )
    both, one, none = (
        pod("web", scheduling_gates=tuple(PodSchedulingGate(name=name) for name in names))
        for names in (["a", "b"], ["b"], [])
    )

    assert queue.add(both, clock.now()) is State.GATED
    assert queue.update(both.pod, one) is State.GATED
    assert queue.update(one.pod, none) is State.ACTIVE
