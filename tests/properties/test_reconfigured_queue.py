"""However often a queue is reconfigured between whatever else happens, no pod is lost from it."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.api.meta import ObjectMeta
from moorage.api.pod import Pod, PodSpec
from moorage.cache.cache import Cache
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.framework.points import PreEnqueue
from moorage.framework.queued_pod import QueuedPod, State
from moorage.framework.verdicts import Rejection, unschedulable
from moorage.plugins.priority_sort import PrioritySort
from moorage.queue.backoff import Backoff
from moorage.queue.queue_settings import QueueSettings
from moorage.queue.scheduling_queue import SchedulingQueue

SCHEDULERS = ("one", "two", "three")
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)


class Odd(PreEnqueue, frozen=True):
    """Gates every other pod."""

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        return unschedulable("odd") if int(pod.name) % 2 else None


def by_name(queued: QueuedPod) -> Any:
    return int(queued.info.pod.name)


class Life:
    """A queue, and every pod that exists and waits, whether or not a profile is its."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.cache = Cache()
        self.waiting: dict[str, Pod] = {}
        self.flying: list[QueuedPod] = []
        self.names: set[str] = set(SCHEDULERS)
        chosen = self.settings()
        self.queue = SchedulingQueue(
            chosen.sort_key, chosen.pre_enqueue, chosen.hints, now=lambda: self.now
        )

    def settings(self) -> QueueSettings:
        sort = self.rng.choice([PrioritySort().sort_key, by_name])
        gates = {name: [("Odd", Odd())] if self.rng.random() < 0.3 else [] for name in self.names}
        hints = {name: {"Fit": (EventHint(NODE_ADD),), "Odd": ()} for name in self.names}
        return QueueSettings(sort, gates, hints, Backoff(self.rng.choice([0.5, 5.0]), 10.0))

    def step(self, kind: str) -> None:
        self.now += self.rng.random()
        getattr(self, kind)()
        self.queue.validate()

    def add(self) -> None:
        name, scheduler = str(self.rng.randrange(10**9)), self.rng.choice(SCHEDULERS)
        meta = ObjectMeta(name=name, namespace="shop", uid=name)
        self.waiting[name] = pod = Pod(metadata=meta, spec=PodSpec(scheduler_name=scheduler))
        if scheduler in self.names:
            self.queue.add(self.cache.info(pod), self.now)

    def pop(self) -> None:
        queued = self.queue.pop(self.now)
        if queued is not None:
            self.flying.append(queued)

    def land(self) -> None:
        if not self.flying:
            return
        queued = self.flying.pop(self.rng.randrange(len(self.flying)))
        if self.rng.random() < 0.3:
            self.queue.done(queued.info.uid)
            del self.waiting[queued.info.uid]
        else:
            refused = {"Fit"} if self.rng.random() < 0.7 else set()
            self.queue.put_back(queued, refused, (), not refused, self.now)

    def move(self) -> None:
        self.queue.move(NODE_ADD, None, None, self.now)

    def reconfigure(self) -> None:
        before = set(self.names)
        self.names = set(self.rng.sample(SCHEDULERS, self.rng.randint(1, 3)))
        changed = {name for name in self.names if self.rng.random() < 0.5}
        self.queue.reconfigure(self.settings(), changed, self.now)
        for uid, pod in self.waiting.items():
            if pod.spec.scheduler_name in self.names - before and not self.queue.keep(uid):
                self.queue.add(self.cache.info(pod), self.now)

    def check(self) -> None:
        ours = {u for u, pod in self.waiting.items() if pod.spec.scheduler_name in self.names}
        flying = {queued.info.uid for queued in self.flying}
        known = {queued.info.uid for queued in self.queue}
        assert ours <= known | flying
        assert known - flying <= ours


@given(
    seed=st.integers(0, 2**16),
    steps=st.lists(
        st.sampled_from(["add", "add", "pop", "land", "move", "reconfigure"]), max_size=60
    ),
)
def test_every_pod_of_a_profile_in_force_is_in_the_queue_or_under_way(
    seed: int, steps: list[str]
) -> None:
    life = Life(seed)
    for kind in steps:
        life.step(kind)
        life.check()
    while life.flying:
        life.step("land")
    life.check()
    assert all(queued.state is not State.IN_FLIGHT for queued in life.queue)
