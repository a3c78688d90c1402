"""The scheduler: one task group, one loop.

1. Every resource is followed by a task of its own; nothing is attempted before all are synced.
2. The loop pops a pod, decides, assumes it on its node, and starts a task that binds it.
3. A pod that fits nowhere, or whose attempt failed, goes back to the queue with its reason; its
   status and an event say so.
4. While nothing is ready the loop sleeps until something changes or a back-off ends.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.bind.client import PluginClient
from moorage.bind.permits import WaitingPods
from moorage.bind.preparing import Preparing
from moorage.bind.recorder import EventRecorder
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.extender.asking import Turns
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import NO_EXTENDERS, Extenders
from moorage.framework.queued import QueuedPod
from moorage.framework.verdicts import PluginError, Rejection, SchedulingError
from moorage.observe.observers import Observers
from moorage.observe.room import Room
from moorage.policies.gang.directory import Directory
from moorage.policies.gang.holds import Holds
from moorage.queue.backoff import Backoff
from moorage.scheduler.canarying import Canarying
from moorage.scheduler.cooling import Cooling
from moorage.scheduler.deciding import Deciding
from moorage.scheduler.ending import Ending
from moorage.scheduler.following import FOLLOWED, Following
from moorage.scheduler.ganging import Ganging
from moorage.scheduler.guard_telling import GuardTelling
from moorage.scheduler.handling import Handler
from moorage.scheduler.ledger import Ledger
from moorage.scheduler.lineup import Lineup
from moorage.scheduler.looping import Loop
from moorage.scheduler.ordering import Ordering
from moorage.scheduler.placing import Placement, place
from moorage.scheduler.preempting import Preempting
from moorage.scheduler.queueing import attach, queue_for
from moorage.scheduler.quoting import Quoting
from moorage.scheduler.rejecting import Rejecting
from moorage.scheduler.reporting import Reporting
from moorage.scheduler.standing import Standing
from moorage.watch.resources import Resource
from moorage.watch.surface import ApiServer


class Scheduler:
    """Schedules the pods of its profiles on one API server.

    While `active` is cleared everything is followed but nothing attempted: a standby keeps warm.
    Attempts that ask `extenders` take `turns` with the event loop, or keep it waiting without.
    """

    def __init__(
        self,
        server: ApiServer,
        profiles: Mapping[str, Profile],
        *,
        clock: Clock,
        rng: random.Random,
        observers: Iterable[Any] = (),
        backoff: tuple[float, float] = (1.0, 10.0),
        followed: Iterable[Resource] = FOLLOWED,
        instance: str = "moorage",
        extenders: Extenders = NO_EXTENDERS,
        turns: Turns | None = None,
    ) -> None:
        self.server = server
        self.lineup = Lineup(profiles)
        self.profiles = self.lineup.profiles
        self.backoff = Backoff(*backoff)
        self.about: KubeObject | None = None
        """What events about the configuration refer to."""
        self.clock = clock
        self.rng = rng
        self.cache = Cache()
        self.guard_telling = GuardTelling(self)
        attach(self.lineup, self.cache, clock, self.guard_telling)
        self.groups, self.holds = Directory(self.profiles), Holds()
        self.queue = queue_for(
            self.lineup, clock.now, self.backoff, self.groups, self._plugin_failed
        )
        self.extenders, self.deciding = extenders, Deciding(turns)
        self.ordering = Ordering(self.lineup, self.cache, self.queue)
        self.waiting, self.preparing = WaitingPods(), Preparing()
        self.observers = Observers(observers)
        self.recorder = EventRecorder(server, clock, instance=instance)
        self.reporting = Reporting(self)
        self.ending = Ending(self)
        self.cooling = Cooling(self.cache, self.queue)
        self.handler = Handler(
            self.cache,
            self.queue,
            self.profiles,
            self._pod_gone,
            Rejecting(self),
            clock.now,
        )
        self.client = PluginClient(server, clock)
        self.binding = 0
        self.following = Following(self, followed)
        self.reflectors = self.following.reflectors
        self.active = asyncio.Event()
        self.active.set()
        self.leads: Callable[[], bool] = lambda: True
        """Asked before each attempt: one who slept through the end of his lease has to hear it."""
        self._loop = Loop(self)
        self.attempts = 0
        self.canarying = Canarying(self)
        self.ganging = Ganging(self)
        self.preempting = Preempting(self)
        self.ledger = Ledger(self)
        self.quoting = Quoting(self)
        self.standing = Standing(self)
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def synced(self) -> bool:
        """Whether every resource has been listed once."""
        return self.following.synced

    def room(self) -> Room:
        """How room was made for pods, and what is still under way."""
        return self.preempting.room()

    async def run(self) -> None:
        """Schedule for ever; ends by cancellation, or with the error of a task that broke."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self.following.start(tasks)
            self.standing.start(tasks)
            tasks.create_task(self.recorder.run(), name="events")
            tasks.create_task(self._loop.run(), name="schedule")

    async def settled(self) -> None:
        """Return when no pod is being bound."""
        await self._loop.settled()

    def start(self, work: Any, name: str) -> None:
        """Begin something that the loop does not wait for."""
        if self._tasks is None:
            raise RuntimeError("the scheduler is not running")
        self._tasks.create_task(work, name=name)

    def wake(self) -> None:
        """Let the loop look again."""
        self._loop.wake()

    def schedule_one(self) -> bool:
        """One attempt, if a pod is ready: pop, decide, assume. No `await` in here.

        Where extenders are asked, this is not the event loop's own thread.
        """
        queued = self.queue.pop(self.clock.now())
        if queued is None:
            return False
        pod = queued.info.pod
        if pod.is_terminating or pod.uid in self.cache.assumed:
            self.ending.skip(queued)
            return True
        if self.ganging.schedule(queued):
            return True
        profile = self.lineup.of(pod)
        cycle = self.cycle(queued, profile)
        try:
            outcome = attempt.run(profile, cycle)
            cycle.timer.step("")
            placed: Placement | Rejection | Unschedulable = (
                place(profile, cycle, queued, outcome) if isinstance(outcome, Decision) else outcome
            )
        except Exception as error:  # a bug of ours costs an attempt too, not the process
            cycle.timer.step("", "Error")
            self.ending.failed(queued, cycle, profile, _as_scheduling_error(error))
            return True
        if isinstance(placed, Placement):
            self.reporting.placed(placed)
            self.start(self.ending.bind(placed), f"bind/{pod.key}")
            self.binding += 1
        else:
            self.ending.unschedulable(queued, cycle, profile, placed)
        return True

    def cycle(self, queued: QueuedPod, profile: Profile) -> Cycle:
        """What one attempt at a pod sees and keeps."""
        self.attempts += 1
        return Cycle(
            self.cache,
            queued.info,
            random=self.rng,
            now=self.clock.now(),
            attempt=f"{self.attempts:x}",
            generation=self.lineup.generation,
            shared=profile.shared,
            client=self.client,
            timer=self.observers.timer(profile.scheduler_name),
            extenders=self.extenders,
        )

    def _plugin_failed(self, error: PluginError) -> None:
        self.observers.failed("", "", error)

    def _pod_gone(self, pod: Pod) -> None:
        waiting = self.waiting.get(pod.uid)
        if waiting is not None:
            waiting.reject("", "the pod was deleted")


def _as_scheduling_error(error: Exception) -> SchedulingError:
    if isinstance(error, SchedulingError):
        return error
    wrapped = SchedulingError(f"internal error: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
