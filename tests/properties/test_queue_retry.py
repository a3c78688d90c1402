"""A refused pod is retried after an event that may undo the refusal, and as soon as it may."""

from hypothesis import example, given
from hypothesis import strategies as st

from moorage.api.meta import ObjectMeta
from moorage.api.pod import Pod, PodSpec
from moorage.cache.cache import Cache
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.queued_pod import QueuedPod, State
from moorage.plugins.priority_sort import PrioritySort
from moorage.queue.backoff import WINDOW, Backoff
from moorage.queue.scheduling_queue import SchedulingQueue

SCHEDULER = "default-scheduler"
EVENTS = [
    ClusterEvent(resource, action)
    for resource in (Resource.NODE, Resource.ASSIGNED_POD, Resource.CSI_NODE)
    for action in (Action.ADD, Action.DELETE, Action.UPDATE, Action.UPDATE_NODE_LABEL)
]
SECONDS = st.floats(0, 40, allow_nan=False)
FAILURES = st.integers(1, 8)


def queue_where(registered: list[EventHint], backoff: Backoff) -> SchedulingQueue:
    hints = {SCHEDULER: {"Fit": registered, "Other": [EventHint(e) for e in EVENTS]}}
    return SchedulingQueue(
        PrioritySort().sort_key, {SCHEDULER: ()}, hints, now=lambda: 0.0, backoff=backoff
    )


def failed_before(queue: SchedulingQueue, failures: int) -> QueuedPod:
    """A pod in flight that was refused so many times less one; the time is 0."""
    meta = ObjectMeta(name="web", namespace="shop", uid="web")
    queue.add(Cache().info(Pod(metadata=meta, spec=PodSpec())), 0.0)
    queued = queue.pop(0.0)
    assert queued is not None
    for _ in range(failures - 1):
        queue.put_back(queued, {"Fit"}, (), False, 0.0)
        queue.activate(["web"], 0.0)
        assert queue.pop(0.0) is queued
    return queued


BACKOFFS = st.builds(
    Backoff, initial=st.sampled_from([0.5, 1.0, 3.0]), maximum=st.sampled_from([5.0, 10.0, 60.0])
)


@given(
    event=st.sampled_from(EVENTS),
    failures=FAILURES,
    backoff=BACKOFFS,
    refused_at=SECONDS,
    after=st.floats(-10, 90, allow_nan=False),
)
@example(event=EVENTS[0], failures=1, backoff=Backoff(), refused_at=0.999, after=0.0)
def test_any_event_its_plugin_registered_for_retries_a_pod_within_its_backoff(
    event: ClusterEvent, failures: int, backoff: Backoff, refused_at: float, after: float
) -> None:
    """It does not matter whether the event comes during the attempt or when the pod waits."""
    queue = queue_where([EventHint(event)], backoff)
    queued = failed_before(queue, failures)
    heard_at = max(refused_at + after, 0.0)
    if heard_at < refused_at:
        queue.move(event, None, None, heard_at)
    queue.put_back(queued, {"Fit"}, (), False, refused_at)
    if heard_at >= refused_at:
        assert queued.state is State.UNSCHEDULABLE
        queue.move(event, None, None, heard_at)

    ready_by = max(refused_at + backoff.duration(failures) + WINDOW, heard_at)
    queue.tick(ready_by)

    assert queued.state is State.ACTIVE
    queue.validate()


@given(event=st.sampled_from(EVENTS), failures=FAILURES, refused_at=SECONDS, after=SECONDS)
def test_a_pending_plugin_retries_it_at_once(
    event: ClusterEvent, failures: int, refused_at: float, after: float
) -> None:
    queue = queue_where([EventHint(event)], Backoff())
    queued = failed_before(queue, failures)
    queue.put_back(queued, (), {"Fit"}, False, refused_at)

    queue.move(event, None, None, refused_at + after)

    assert queued.state is State.ACTIVE


@given(
    registered=st.sampled_from(EVENTS),
    event=st.sampled_from(EVENTS),
    answer=st.sampled_from(Hint),
    during=st.booleans(),
)
def test_no_other_event_retries_it(
    registered: ClusterEvent, event: ClusterEvent, answer: Hint, during: bool
) -> None:
    queue = queue_where([EventHint(registered, lambda pod, old, new: answer)], Backoff())
    queued = failed_before(queue, 1)
    if during:
        queue.move(event, None, None, 0.0)
    queue.put_back(queued, {"Fit"}, (), False, 0.0)
    if not during:
        queue.move(event, None, None, 0.0)

    expected = registered.matches(event) and answer is Hint.QUEUE
    assert queued.state is (State.BACKOFF if expected else State.UNSCHEDULABLE)
