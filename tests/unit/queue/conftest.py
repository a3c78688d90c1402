from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moorage.api.meta import ObjectMeta
from moorage.api.pod import Pod, PodSpec
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import PreEnqueue
from moorage.framework.verdicts import Rejection, unschedulable
from moorage.plugins.priority_sort import PrioritySort
from moorage.queue.scheduling_queue import SchedulingQueue

SCHEDULER = "default-scheduler"
HINTS = {
    "Fit": (EventHint(ClusterEvent(Resource.NODE, Action.ADD)),),
    "Taints": (EventHint(ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)),),
    "Deaf": (),
}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(start=1000.0)


@pytest.fixture
def pod() -> Callable[..., PodInfo]:
    """Make a pod; its name is its uid, and what is not metadata goes into its spec."""
    cache = Cache()

    def make(name: str = "web", labels: dict[str, str] | None = None, **spec: Any) -> PodInfo:
        meta = ObjectMeta(name=name, namespace="shop", uid=name, labels=labels or {})
        return cache.info(Pod(metadata=meta, spec=PodSpec(**spec)))

    return make


@pytest.fixture
def queue_of(clock: VirtualClock) -> Iterator[Callable[..., SchedulingQueue]]:
    """Make a queue whose plugins Fit, Taints and Deaf are told of some, other and no events.

    Every queue made is validated at the end.
    """
    made: list[SchedulingQueue] = []

    def make(**settings: Any) -> SchedulingQueue:
        settings = {"pre_enqueue": {SCHEDULER: ()}, "hints": {SCHEDULER: HINTS}, **settings}
        queue = SchedulingQueue(PrioritySort().sort_key, now=clock.now, **settings)
        made.append(queue)
        return queue

    yield make
    for queue in made:
        queue.validate()


@pytest.fixture
def queue(queue_of: Callable[..., SchedulingQueue]) -> SchedulingQueue:
    return queue_of()


class OnlyNamed(PreEnqueue, frozen=True):
    """Gates the pods named `gated`."""

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        return unschedulable("not yet") if pod.name == "gated" else None


@pytest.fixture
def gated_queue(queue_of: Callable[..., SchedulingQueue]) -> SchedulingQueue:
    """A queue that gates the pods named `gated`."""
    return queue_of(pre_enqueue={SCHEDULER: [("OnlyNamed", OnlyNamed())]})
