"""The scheduler without its features, for scenarios that cannot need them: much faster.

Queue, cache, event handlers, profile and attempt are the scheduler's own. Gangs, preemption,
quotas, permits, extenders and other schedulers are left out, and with them every asyncio task
they need: a change enters the cache at once, and binding is a plain call. Tests assert that the
outcome equals that of the whole scheduler, bit for bit.
"""

import asyncio
import copy
import random
from collections.abc import Callable
from typing import Final

import msgspec

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.batching.quick_attempt import QuickAttempts
from moorage.bind.permits import WaitingPods
from moorage.bind.plugin_client import PluginClient
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualCall, VirtualClock
from moorage.config.loader import Loaded
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.draws import tie_key
from moorage.framework.events import ASSIGNED_POD_ADD, UNSCHEDULED_POD_ADD
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import NoNodesError, Rejection
from moorage.guard.breaker_events import ignore_breaker_event
from moorage.guard.guards import is_custom
from moorage.policies.load import adaptive_scheduling
from moorage.queue.backoff import Backoff
from moorage.scheduler.event_handlers import EventHandlers
from moorage.scheduler.handles import Handles
from moorage.scheduler.placement import Placement, place
from moorage.scheduler.queue_order import queue_for
from moorage.simulate.pod_lifecycle import PENDING
from moorage.simulate.scenario import Scenario
from moorage.simulate.simulated_server import SilentRecorder, SimulatedServer
from moorage.simulate.template_classes import TemplateClasses
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.reflector import Change

FIT: Final = "NodeResourcesFit"
SORT: Final = "PrioritySort"
BINDER: Final = "DefaultBinder"
OPEN_GATES: Final = frozenset(
    {"SchedulingGates", "DefaultPreemption", "DynamicResources", "GangScheduling"}
)
"""PreEnqueue plugins that admit every pod without gates, claims, a group and victims."""


class DirectServer(SimulatedServer):
    """Passes every change to the scheduler's event handlers at once, without a watch."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.believe: Callable[[Change], None] = _nobody

    def put(self, resource: Resource, found: KubeObject) -> KubeObject:
        """Create an object, or replace it by another version."""
        table, key = self._tables[resource.plural], found.key
        old = table.get(key)
        table[key] = found
        self.believe(Change("added" if old is None else "updated", old, found))
        return found

    def listed(self) -> list[KubeObject]:
        """Every object, in the order of lists: it is the order of the rows of nodes, too."""
        return [table[key] for table in self._tables.values() for key in sorted(table)]

    def keep(self, pod: Pod) -> None:
        """Replace a pod by a version that the scheduler knows already: nothing is published."""
        self._tables[PODS.plural][pod.key] = pod

    def remove(self, resource: Resource, key: str) -> None:
        """Delete an object."""
        gone = self._tables[resource.plural].pop(key, None)
        if gone is not None:
            self.believe(Change("deleted", gone))


def needs_no_features(scenario: Scenario, loaded: Loaded, profile: Profile) -> bool:
    """Whether a run comes out the same without gangs, preemption, permits, extenders and so on."""
    configuration = loaded.configuration
    alone = len(configuration.profiles) == 1 and not (scenario.beside or configuration.extenders)
    learns = adaptive_scheduling.NAME in profile.plugins
    ours = not any(is_custom(type(plugin)) for plugin in profile.plugins.values())
    fits = any(each.name == FIT for each in profile.filter)
    plain = {name for name, _ in profile.queue_sort} == {SORT}
    binds = {name for name, _ in profile.bind} == {BINDER} and not profile.post_bind
    return bool(scenario.is_plain and alone and ours and fits and plain and binds and not learns)


def _ungated(profile: Profile) -> Profile:
    """The profile without its PreEnqueue plugins, if no pod of such a scenario is held by one."""
    if {name for name, _ in profile.pre_enqueue} <= OPEN_GATES:
        profile = copy.copy(profile)
        profile.pre_enqueue = []
    return profile


def _nobody(change: Change) -> None:
    """Ignore a change: the engine does not exist yet."""


class DirectEngine:
    """One profile, one pod after the other."""

    def __init__(
        self,
        server: DirectServer,
        profile: Profile,
        clock: VirtualClock,
        rng: random.Random,
        backoff: Backoff,
        attempted: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        self._server = server
        self._profile = profile
        self._clock = clock
        self._seed = rng.getrandbits(64)
        self._attempted = attempted
        self._failed = failed
        self._cache = Cache(TemplateClasses)
        self._client = PluginClient(server, clock)
        waiting = WaitingPods()
        recorder = SilentRecorder(server, clock, instance="simulation")
        Handles(self._cache, clock, waiting, recorder, ignore_breaker_event).give((profile,))
        self._queue = queue_for((_ungated(profile),), clock.now, backoff, notes=0)
        handlers = EventHandlers(
            self._cache, self._queue, {profile.scheduler_name}, waiting, clock.now
        )
        self._apply = handlers.apply
        self._count = 0
        self._quick = QuickAttempts(profile, self._cache, self._begin)
        self._is_busy = False
        self._woken = asyncio.Event()
        self._alarm: VirtualCall | None = None
        self._alarm_due = 0.0

    async def run(self) -> None:
        """Attempt pods for ever; objects that are there already come first, as in a list."""
        self._server.believe = self._believe
        for found in self._server.listed():
            self._believe(Change("added", None, found))
        while True:
            self._attempt_all()
            self._woken.clear()
            await self._woken.wait()

    def _believe(self, change: Change) -> None:
        new = change.new
        if change.old is None and isinstance(new, Pod) and self._is_new(new):
            now = self._clock.now()
            self._queue.add(self._cache.info(new), now)
            self._queue.move(UNSCHEDULED_POD_ADD, None, new, now)
        else:
            self._apply(change)
        if not self._is_busy and self._is_ready():
            self._wake()

    def _is_new(self, pod: Pod) -> bool:
        """Whether a pod is ours, has no node, and has the status of a pod just created."""
        return (
            pod.spec.scheduler_name == self._profile.scheduler_name
            and not pod.spec.node_name
            and pod.status is PENDING
        )

    def _is_ready(self) -> bool:
        if not len(self._queue):
            return False
        now = self._clock.now()
        return self._queue.next_wake(now) == now

    def _wake(self) -> None:
        """Attempt pods after every other event of this virtual time, in a task if necessary."""
        self._is_busy = True
        if not self._clock.afterwards(self._attempt_all):
            self._woken.set()

    def _set_alarm(self) -> None:
        due = self._queue.next_wake(self._clock.now()) if len(self._queue) else None
        if due is None or (self._alarm is not None and self._alarm_due == due):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_due = due
        self._alarm = self._clock.call_at(due, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if not self._is_busy:
            self._wake()

    def _attempt_all(self) -> None:
        now = self._clock.now()
        while (queued := self._queue.pop(now)) is not None:
            self._attempt(queued, now)
        self._is_busy = False
        self._set_alarm()

    def _attempt(self, queued: QueuedPod, now: float) -> None:
        self._count += 1
        self._attempted()
        totals = self._quick.totals(queued.info)
        if totals is None:
            self._attempt_in_full(queued, now)
            return
        node = self._quick.choose(totals, lambda: self._tie_key(queued))
        if node is None:
            self._queue.put_back(queued, totals.refused_by, totals.pending, False, now)
            return
        self._queue.done(queued.info.uid)
        bound = self._bound(queued.info.pod, node)
        self._server.keep(bound)
        self._cache.add_pod(PodInfo(bound, queued.info.cls), node)
        if len(self._queue):
            self._queue.move(ASSIGNED_POD_ADD, None, bound, now)
        self._run_pod(bound)

    def _tie_key(self, queued: QueuedPod) -> int:
        return tie_key(self._seed, queued.info.uid, queued.attempts)

    def _begin(self, info: PodInfo, number: int = 1) -> Cycle:
        return Cycle(
            self._cache,
            info,
            seed=self._seed,
            number=number,
            now=self._clock.now(),
            attempt=f"{self._count:x}",
            shared=self._profile.shared,
            client=self._client,
        )

    def _attempt_in_full(self, queued: QueuedPod, now: float) -> None:
        cycle = self._begin(queued.info, queued.attempts)
        try:
            outcome = attempt.run(self._profile, cycle)
            placed: Placement | Rejection | Unschedulable = (
                place(self._profile, cycle, queued, outcome)
                if isinstance(outcome, Decision)
                else outcome
            )
        except Exception as error:  # as in the scheduler, that costs an attempt
            if not isinstance(error, NoNodesError):
                self._failed(str(error))
            self._queue.put_back(queued, (), (), True, now)
            return
        if isinstance(placed, Placement):
            self._queue.done(queued.info.uid)
            self._bind(queued.info.pod, placed.node.name)
        elif isinstance(placed, Rejection):
            self._queue.put_back(queued, {placed.plugin}, (), False, now)
        else:
            self._put_back(queued, placed, now)

    def _bind(self, pod: Pod, node: str) -> None:
        bound = self._bound(pod, node)
        self._server.put(PODS, bound)
        self._run_pod(bound)

    def _bound(self, pod: Pod, node: str) -> Pod:
        spec = msgspec.structs.replace(pod.spec, node_name=node)
        return msgspec.structs.replace(pod, spec=spec)

    def _run_pod(self, pod: Pod) -> None:
        if self._server.kubelet is not None:
            self._server.kubelet.bound(pod)

    def _put_back(self, queued: QueuedPod, why: Unschedulable, now: float) -> None:
        diagnosis = why.diagnosis
        self._queue.put_back(
            queued, diagnosis.unschedulable_plugins, diagnosis.pending_plugins, False, now
        )
