import re
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.queue.transitions import TABLE, QueueError, Trigger, diagram

DOCS = Path(__file__).parents[3] / "docs" / "queueing.md"
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)


def test_the_diagram_in_the_documentation_is_the_table() -> None:
    """Run `python -c "from moorage.queue.transitions import diagram; print(diagram())"`."""
    drawn = re.search(r"```mermaid\n(.*?)\n```", DOCS.read_text(), re.DOTALL)

    assert drawn is not None
    assert drawn.group(1) == diagram()


def test_the_documentation_explains_every_state_and_every_trigger() -> None:
    text = DOCS.read_text()

    for state in State:
        assert f"**{state.value}**" in text, state
    for trigger in Trigger:
        assert f"`{trigger.value}`" in text, trigger


def test_every_state_can_be_entered_and_left() -> None:
    entered = {
        state for targets in TABLE.values() for states in targets.values() for state in states
    }
    left = {
        source for source, targets in TABLE.items() if set().union(*targets.values()) - {source}
    }

    assert entered == left == set(State)


def brought_to(
    state: State, queue: SchedulingQueue, info: PodInfo, clock: VirtualClock
) -> QueuedPod:
    """A pod of the queue in the given state (gates are shut for pods named gated)."""
    queue.add(info, clock.now())
    if state not in (State.ACTIVE, State.GATED):
        popped = queue.pop(clock.now())
        assert popped is not None
        if state is State.BACKOFF:
            queue.move(NODE_ADD, None, None, clock.now())
        if state is not State.IN_FLIGHT:
            error = state is State.ERROR_BACKOFF
            queue.put_back(popped, {"Fit"}, (), error, clock.now())
    found = queue.find(info.uid)
    assert found is not None
    assert found.state is state
    return found


IN_QUEUE = [s for s in State if s not in (State.OUTSIDE, State.IN_FLIGHT)]


@pytest.mark.parametrize("state", [*IN_QUEUE, State.IN_FLIGHT], ids=lambda s: s.value)
def test_a_pod_that_is_here_cannot_be_added(
    state: State,
    gated_queue: SchedulingQueue,
    pod: Callable[..., PodInfo],
    clock: VirtualClock,
) -> None:
    queued = brought_to(state, gated_queue, pod("gated" if state is State.GATED else "web"), clock)
    counts, told = gated_queue.pending_counts(), gated_queue.story(queued.info.uid)

    with pytest.raises(QueueError, match=f"is {state.value}: add is not legal there"):
        gated_queue.add(queued.info, clock.now())

    assert gated_queue.pending_counts() == counts
    assert gated_queue.story(queued.info.uid) == told
    assert queued.state is state


@pytest.mark.parametrize("state", IN_QUEUE, ids=lambda s: s.value)
def test_only_a_pod_under_way_can_be_done_or_put_back(
    state: State,
    gated_queue: SchedulingQueue,
    pod: Callable[..., PodInfo],
    clock: VirtualClock,
) -> None:
    queued = brought_to(state, gated_queue, pod("gated" if state is State.GATED else "web"), clock)
    before = (queued.unschedulable_plugins, queued.unschedulable_count, queued.timestamp)

    with pytest.raises(QueueError, match=f"is {state.value}: done is not legal there"):
        gated_queue.done(queued.info.uid)
    with pytest.raises(QueueError, match=f"is {state.value}: put_back is not legal there"):
        gated_queue.put_back(queued, {"Taints"}, (), False, clock.now() + 1)

    assert queued.state is state
    assert (queued.unschedulable_plugins, queued.unschedulable_count, queued.timestamp) == before


def test_another_pod_with_the_uid_of_one_in_the_queue_cannot_be_put_back(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    queue.add(pod("web"), clock.now())

    with pytest.raises(QueueError, match="is another pod than the one in the queue"):
        queue.put_back(QueuedPod(pod("web"), 0.0), {"Fit"}, (), False, clock.now())


def test_a_pod_of_no_profile_is_refused_by_name(
    queue: SchedulingQueue, pod: Callable[..., PodInfo], clock: VirtualClock
) -> None:
    with pytest.raises(QueueError, match=r"shop/web asks for scheduler 'batch', but the profiles"):
        queue.add(pod("web", scheduler_name="batch"), clock.now())

    assert len(queue) == 0
