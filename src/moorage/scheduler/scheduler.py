"""The scheduler: one task group, one loop.

1. Every resource is followed by a task of its own; no pod is attempted before all are synced.
2. The loop pops a pod, decides, assumes it on its node, and starts a task that binds it.
3. A pod that fits nowhere, or whose attempt failed, goes back to the queue with its reason; its
   status and an event say so.
4. While no pod is ready the loop sleeps until something changes or a backoff ends.

Everything beyond that is a feature (`moorage.scheduler.feature`), made by the `features` argument.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from moorage.bind.event_recorder import EventRecorder
from moorage.bind.permits import PodsInPreBind, WaitingPods
from moorage.bind.plugin_client import PluginClient
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle import attempt
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.extender.async_bridge import DecisionThread
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import NO_EXTENDERS, Extenders
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import PluginError
from moorage.observe.metric_families import Family
from moorage.observe.observers import Observers
from moorage.queue.backoff import Backoff
from moorage.queue.scheduling_queue import MAX_IN_UNSCHEDULABLE
from moorage.scheduler.attempt import Attempts, Cycles, Decided, Tap
from moorage.scheduler.bursts import Bursts, one_by_one
from moorage.scheduler.event_handlers import EventHandlers
from moorage.scheduler.feature import F, Feature, Features
from moorage.scheduler.handles import Handles
from moorage.scheduler.intake import FOLLOWED, Intake
from moorage.scheduler.loop import AttemptGate, Loop
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.ports import Ports
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.queue_order import queue_for
from moorage.scheduler.reconfigure import Reconfiguration
from moorage.scheduler.report import BreakerReporter, Reporter
from moorage.scheduler.status_writer import StatusWriter
from moorage.scheduler.tasks import Bindings, Tasks
from moorage.scheduler.version import Version
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import Reflector


def no_features(ports: Ports) -> Iterable[Feature]:
    """No features: pods are scheduled one by one."""
    return ()


class Scheduler:
    """Schedules the pods of its profiles on one API server.

    While `active` is cleared, resources are followed but no pod is attempted: a standby stays warm.
    `turns` is the thread in which attempts run that ask `extenders`; without it they block the
    event loop. A `tap` provides the cache and sees every decision. `bursts` says how many attempts
    come in a row; by default other tasks run after each. `rng` gives the seed of draws among equals
    first, and then spreads watches over time. `monotonic` is a clock that ends an attempt's work on
    devices; without it that work is counted alone, as in simulations.
    """

    def __init__(
        self,
        server: ApiServer,
        profiles: Mapping[str, Profile],
        *,
        clock: Clock,
        rng: random.Random,
        features: Callable[[Ports], Iterable[Feature]] = no_features,
        observers: Iterable[Any] | Observers = (),
        backoff: tuple[float, float] = (1.0, 10.0),
        followed: Iterable[Resource] = FOLLOWED,
        instance: str = "moorage",
        extenders: Extenders = NO_EXTENDERS,
        turns: DecisionThread | None = None,
        leads: Callable[[], bool] = lambda: True,
        max_in_unschedulable: float = MAX_IN_UNSCHEDULABLE,
        recorder: EventRecorder | None = None,
        tap: Tap | None = None,
        bursts: Bursts | None = None,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self.server, self.clock = server, clock
        self.cache, self.waiting = Cache() if tap is None else tap.cache, WaitingPods()
        self.observers = observers if isinstance(observers, Observers) else Observers(observers)
        self.recorder = recorder or EventRecorder(server, clock, instance=instance)
        self.gate = AttemptGate(turns)
        self.active, self._woken = asyncio.Event(), asyncio.Event()
        self.active.set()
        self._tasks, self._features = Tasks(), Features()
        self._bindings, preparing = Bindings(self.wake), PodsInPreBind()
        self.in_force = Profiles(profiles, Backoff(*backoff), self._features)
        statuses = StatusWriter(server, self.observers, self._tasks.start, clock, self._waits)
        reporter = Reporter(clock, self.in_force, self.observers, self.recorder, statuses)
        tell = BreakerReporter(self.observers, reporter)
        self._handles = Handles(self.cache, clock, self.waiting, self.recorder, tell)
        self._handles.give(self.in_force)
        self.queue = queue_for(
            self.in_force,
            clock.now,
            self.in_force.backoff,
            self._features.rank,
            self._plugin_failed,
            max_in_unschedulable,
        )
        served: dict[str, Resource] = {}
        self._cycles = Cycles(
            self.cache,
            clock,
            rng.getrandbits(64),
            self.in_force,
            PluginClient(server, clock, served),
            self.observers,
            extenders,
            attempt.run if tap is None else tap.decide,
            monotonic,
        )
        self._intake = Intake(
            server,
            clock,
            rng,
            self.observers,
            EventHandlers(self.cache, self.queue, self.profiles, self.waiting, clock.now),
            self._features,
            self.gate,
            self.wake,
            followed,
            served,
        )
        outcome = Outcome(
            self.cache,
            self.queue,
            clock,
            self.in_force,
            self._intake.known,
            reporter,
            statuses,
            self.observers,
            self.waiting,
            preparing,
            self._bindings,
            self._features,
        )
        self._reconfiguration = Reconfiguration(
            self.in_force,
            self.queue,
            clock,
            self._cycles,
            self.gate,
            self._handles,
            self._features,
            self._intake.known,
            self._intake.believe,
            self.wake,
        )
        self._attempts = Attempts(
            self.queue,
            self.cache,
            clock,
            self.in_force,
            self._cycles,
            outcome,
            reporter,
            self._bindings,
            self._tasks.start,
            self._features,
        )
        self._loop = Loop(
            self._attempts.schedule_one,
            self.gate,
            self.queue,
            clock,
            self._features,
            active=self.active,
            woken=self._woken,
            leads=leads,
            bursts=bursts or one_by_one(),
        )
        ports = Ports(
            cache=self.cache,
            queue=self.queue,
            clock=clock,
            server=server,
            profiles=self.in_force,
            observers=self.observers,
            recorder=self.recorder,
            reporter=reporter,
            statuses=statuses,
            cycles=self._cycles,
            outcome=outcome,
            known=self._intake.known,
            believe=self._intake.believe,
            bindings=self._bindings,
            waiting=self.waiting,
            preparing=preparing,
            reconfiguration=self._reconfiguration,
            features=self._features,
            start=self._tasks.start,
            wake=self.wake,
            later=self.gate.later,
            is_active=self.active.is_set,
        )
        self._features.join(features(ports))

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The profiles in force, by schedulerName."""
        return self.in_force.by_name

    @property
    def reflectors(self) -> Mapping[str, Reflector]:
        """The reflector of each resource, by its plural name."""
        return self._intake.reflectors

    def _waits(self, uid: str) -> bool:
        return self.queue.find(uid) is not None

    @property
    def optional_reflectors(self) -> Sequence[Reflector]:
        """The reflectors of optional resources that the server has."""
        return self._intake.optional_reflectors

    @property
    def synced(self) -> bool:
        """Whether every resource has been listed once."""
        return self._intake.synced

    @property
    def attempts(self) -> int:
        """How many attempts were made."""
        return self._cycles.count

    def decide(self, queued: QueuedPod) -> tuple[Cycle, Decided]:
        """One attempt at a popped pod, without what follows it: no binding, and no report."""
        profile = self.in_force.of(queued.info.pod)
        self._cycles.budget.renew()
        cycle = self._cycles.begin(queued, profile)
        return cycle, self._attempts.decide(queued, cycle, profile)[0]

    def refused(self, cycle: Cycle, why: Decided) -> None:
        """Tell the features that such an attempt was refused, after the pod was put back."""
        if isinstance(why, Unschedulable):
            self._attempts.refused(cycle, self.in_force.of(cycle.pod), why)

    @property
    def binding(self) -> int:
        """How many pods are being bound."""
        return self._bindings.count

    def families(self) -> Iterator[Family]:
        """The metrics of features and plugins."""
        yield from self._handles.families()
        for families in self._features.families:
            yield from families()

    def feature(self, kind: type[F]) -> F:
        """The feature of a class; LookupError if the scheduler was made without it."""
        found = self._features.find(kind)
        if found is None:
            raise LookupError(f"this scheduler was made without {kind.__name__}")
        return found

    def install(self, version: Version) -> frozenset[str]:
        """Put another configuration in force; the names of the profiles that have changed."""
        return self._reconfiguration.install(version)

    def check(self, version: Version) -> None:
        """Raise what plugins would raise if that version took over."""
        self._reconfiguration.check(version)

    async def run(self) -> None:
        """Schedule for ever; ends by cancellation, or with the error of a task that broke."""
        async with asyncio.TaskGroup() as group:
            self._tasks.open(group)
            self._intake.start(self._tasks.start)
            for start in self._features.start:
                start()
            self._tasks.start(self.recorder.run(), "events")
            self._tasks.start(self._loop.run(lambda: self.synced), "schedule")

    async def settled(self) -> None:
        """Return when no pod is being bound."""
        await self._loop.until(lambda: self.binding == 0)

    def wake(self) -> None:
        """End the loop's sleep, so that it looks for work again."""
        self._woken.set()

    def _plugin_failed(self, pod: str, error: PluginError) -> None:
        self.observers.failed(pod, "", error)
