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
from moorage.bind.event_recorder import EventRecorder
from moorage.bind.permits import PodsInPreBind, WaitingPods
from moorage.bind.plugin_client import PluginClient
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.extender.async_bridge import DecisionThread
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import NO_EXTENDERS, Extenders
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import PluginError, Rejection, SchedulingError
from moorage.gang.directory import Directory
from moorage.gang.feature import Gangs
from moorage.gang.holds import Holds
from moorage.observe.observers import Observers
from moorage.observe.state_metrics import PreemptionCounts
from moorage.preemption.budget_ledger import BudgetLedger
from moorage.preemption.feature import Preemption
from moorage.queue.backoff import Backoff
from moorage.rollout.rollback import CanaryWatch
from moorage.rollout.standin import StandIns
from moorage.scheduler.event_handlers import EventHandlers
from moorage.scheduler.intake import FOLLOWED, Intake
from moorage.scheduler.kubelet_rejections import KubeletRejections, NodeCooldown
from moorage.scheduler.loop import AttemptGate, Loop
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.placement import Placement, place
from moorage.scheduler.profile_queue import QueueOrder, attach, queue_for
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.report import BreakerReporter, Reporter
from moorage.tenancy.feature import ElasticQuotas
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer


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
        turns: DecisionThread | None = None,
    ) -> None:
        self.server = server
        self.lineup = Profiles(profiles)
        self.profiles = self.lineup.profiles
        self.backoff = Backoff(*backoff)
        self.about: KubeObject | None = None
        """What events about the configuration refer to."""
        self.clock = clock
        self.rng = rng
        self.cache = Cache()
        self.guard_telling = BreakerReporter(self)
        attach(self.lineup, self.cache, clock, self.guard_telling)
        self.groups, self.holds = Directory(self.profiles), Holds()
        self.queue = queue_for(
            self.lineup, clock.now, self.backoff, self.groups, self._plugin_failed
        )
        self.extenders, self.deciding = extenders, AttemptGate(turns)
        self.ordering = QueueOrder(self.lineup, self.cache, self.queue)
        self.waiting, self.preparing = WaitingPods(), PodsInPreBind()
        self.observers = Observers(observers)
        self.recorder = EventRecorder(server, clock, instance=instance)
        self.reporting = Reporter(self)
        self.ending = Outcome(self)
        self.cooling = NodeCooldown(self.cache, self.queue)
        self.handler = EventHandlers(
            self.cache,
            self.queue,
            self.profiles,
            self._pod_gone,
            KubeletRejections(self),
            clock.now,
        )
        self.client = PluginClient(server, clock)
        self.binding = 0
        self.following = Intake(self, followed)
        self.reflectors = self.following.reflectors
        self.active = asyncio.Event()
        self.active.set()
        self.leads: Callable[[], bool] = lambda: True
        """Asked before each attempt: one who slept through the end of his lease has to hear it."""
        self._loop = Loop(self)
        self.attempts = 0
        self.canarying = CanaryWatch(self)
        self.ganging = Gangs(self)
        self.preempting = Preemption(self)
        self.ledger = BudgetLedger(self)
        self.quoting = ElasticQuotas(self)
        self.standing = StandIns(self)
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def synced(self) -> bool:
        """Whether every resource has been listed once."""
        return self.following.synced

    def room(self) -> PreemptionCounts:
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
