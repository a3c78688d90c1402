"""The scheduler: one task group, one loop.

1. Every resource is followed by a task of its own; nothing is attempted before all are synced.
2. The loop pops a pod, decides, assumes it on its node, and starts a task that binds it.
3. A pod that fits nowhere, or whose attempt failed, goes back to the queue with its reason; its
   status and an event say so.
4. While nothing is ready the loop sleeps until something changes or a back-off ends.
"""

import asyncio
import random
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.bind import binding, statuses
from moorage.bind.client import PluginClient
from moorage.bind.permits import WaitingPods
from moorage.bind.recorder import EventRecorder
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.queued import QueuedPod
from moorage.framework.verdicts import (
    NoNodesError,
    PluginError,
    Rejection,
    SchedulingError,
)
from moorage.observe.observers import Observers
from moorage.observe.records import Attempt, Bound, Result
from moorage.policies.gang.directory import Directory
from moorage.policies.gang.holds import Holds
from moorage.queue.backoff import Backoff
from moorage.scheduler import optional
from moorage.scheduler.cooling import Cooling
from moorage.scheduler.ganging import DIALECTS, Ganging
from moorage.scheduler.handling import ASSIGNED_POD_DELETE, Handler
from moorage.scheduler.ledger import Ledger
from moorage.scheduler.placing import Placement, place, unplace
from moorage.scheduler.preempting import Preempting
from moorage.scheduler.queueing import attach, queue_for
from moorage.scheduler.quoting import Quoting
from moorage.watch.errors import ApiError, NotFound
from moorage.watch.reflector import Change, Reflector
from moorage.watch.resources import NODES, PODS, PRIORITY_CLASSES, RESOURCES, Resource
from moorage.watch.surface import ApiServer

FOLLOWED = tuple(
    resource
    for plural, resource in RESOURCES.items()
    if plural not in {"events", "leases", "configmaps", "podgroups", "elasticquotas"}
)

OPTIONAL = (*DIALECTS, (RESOURCES["elasticquotas"],))
"""Resources that are followed where they are served, each in the first version that is."""


class Scheduler:
    """Schedules the pods of its profiles on one API server.

    While `active` is cleared everything is followed but nothing attempted: a standby keeps warm.
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
    ) -> None:
        self.server = server
        self.profiles = dict(profiles)
        self.clock = clock
        self.rng = rng
        self.cache = Cache()
        attach(self.profiles, self.cache)
        self.groups, self.holds = Directory(self.profiles), Holds()
        self.queue = queue_for(
            self.profiles, clock.now, Backoff(*backoff), self.groups, self._plugin_failed
        )
        self.waiting = WaitingPods()
        self.observers = Observers(observers)
        self.recorder = EventRecorder(server, clock, instance=instance)
        self.cooling = Cooling(self.cache, self.queue)
        self.handler = Handler(
            self.cache, self.queue, self.profiles, self._pod_gone, self._rejected, clock.now
        )
        self.client = PluginClient(server, clock)
        self.binding = 0
        self.reflectors = {resource.plural: self._reflector(resource) for resource in followed}
        self._optional = [versions for versions in OPTIONAL if not set(versions) & set(followed)]
        self.active = asyncio.Event()
        self.active.set()
        self._unsynced = len(self.reflectors) + len(self._optional)
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self.attempts = 0
        self.ganging = Ganging(self, Backoff(*backoff))
        self.preempting = Preempting(self)
        self.ledger = Ledger(self)
        self.quoting = Quoting(self)
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def synced(self) -> bool:
        """Whether every resource has been listed once."""
        return self._unsynced == 0

    async def run(self) -> None:
        """Schedule for ever; ends by cancellation, or with the error of a task that broke."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for plural, reflector in self.reflectors.items():
                tasks.create_task(self._follow(reflector), name=f"watch/{plural}")
            for versions in self._optional:
                name = f"watch/{versions[0].qualified}"
                tasks.create_task(self._follow_where_served(versions), name=name)
            tasks.create_task(self.recorder.run(), name="events")
            tasks.create_task(self._loop(), name="schedule")

    async def settled(self) -> None:
        """Return when no pod is being bound."""
        while self.binding:
            self._wake.clear()
            await self._wake.wait()

    async def _follow(self, reflector: Reflector) -> None:
        async for change in reflector.changes():
            self._heard(change, reflector.resource)
            self._unsynced -= change.type == "synced"

    async def _follow_where_served(self, versions: tuple[Resource, ...]) -> None:
        known = False
        following = optional.changes(
            self.server, versions, self._reflector, self.clock, self._watch_failed
        )
        async for resource, change in following:
            if change is None:
                self.ganging.served(resource, known=False)
            else:
                self._heard(change, resource)
            if not known and (change is None or change.type == "synced"):
                known = True
                self._unsynced -= 1
                self._wake.set()

    def _heard(self, change: Change, resource: Resource) -> None:
        if change.type == "synced":
            self.ganging.served(resource, known=True)
        else:
            try:
                self.ganging.apply(self.ledger.adjust(change), resource)
                self.quoting.see(change)
            except Exception as error:  # one object that breaks us must not stop the others
                self.observers.failed(_key(change), "", error)
            if resource == PRIORITY_CLASSES:
                self.preempting.sparing.review(self.clock.now())
        self._wake.set()

    async def _loop(self) -> None:
        while not self.synced:
            await self._wake.wait()
            self._wake.clear()
        while True:
            await self.active.wait()
            self.ganging.tick(self.clock.now())
            self.preempting.tick(self.clock.now())
            self.quoting.tick(self.clock.now())
            self.cooling.tick(self.clock.now())
            if self.schedule_one():
                await asyncio.sleep(0)
            else:
                await self._rest()

    async def _rest(self) -> None:
        """Sleep until something changes or the queue has something to do by itself."""
        self._wake.clear()
        wakes = (
            self.queue.next_wake(self.clock.now()),
            self.ganging.alarms.next(),
            self.preempting.alarms.next(),
            self.quoting.alarms.next(),
            self.cooling.next_wake(),
        )
        due = [when for when in wakes if when is not None]
        alarm = None
        if due:
            pause = max(0.0, min(due) - self.clock.now())
            alarm = asyncio.ensure_future(self._wake_after(pause))
        try:
            await self._wake.wait()
        finally:
            if alarm is not None:
                alarm.cancel()

    async def _wake_after(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self._wake.set()

    def schedule_one(self) -> bool:
        """One attempt, if a pod is ready: pop, decide, assume. No `await` in here."""
        queued = self.queue.pop(self.clock.now())
        if queued is None:
            return False
        pod = queued.info.pod
        if pod.is_terminating or pod.uid in self.cache.assumed:
            self._skip(queued)
            return True
        if self.ganging.schedule(queued):
            return True
        profile = self.profiles[pod.spec.scheduler_name]
        cycle = self.cycle(queued, profile)
        try:
            outcome = attempt.run(profile, cycle)
            cycle.timer.step("")
            placed: Placement | Rejection | Unschedulable = (
                place(profile, cycle, queued, outcome) if isinstance(outcome, Decision) else outcome
            )
        except Exception as error:  # a bug of ours costs an attempt too, not the process
            cycle.timer.step("", "Error")
            self.failed(queued, cycle, profile, _as_scheduling_error(error))
            return True
        if isinstance(placed, Placement):
            self.placed(placed)
            self.start(self._bind(placed), f"bind/{pod.key}")
            self.binding += 1
        else:
            self.unschedulable(queued, cycle, profile, placed)
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
            shared=profile.shared,
            client=self.client,
            timer=self.observers.timer(profile.scheduler_name),
        )

    def placed(self, placement: Placement) -> None:
        """Report that a pod was assumed on a node."""
        queued, profile, cycle, _, decision, _ = placement
        self.report(
            queued,
            cycle,
            profile,
            Result.SCHEDULED,
            node=decision.node,
            score=decision.score,
            feasible=decision.feasible,
            evaluated=decision.evaluated,
        )

    def wake(self) -> None:
        """Let the loop look again."""
        self._wake.set()

    def _skip(self, queued: QueuedPod) -> None:
        pod = queued.info.pod
        if pod.is_terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self.record(pod, "Warning", "FailedScheduling", "Scheduling", note)
        self.queue.done(pod.uid)

    async def _bind(self, placement: Placement) -> None:
        queued, profile, cycle, node, _, waits = placement
        try:
            refused = await binding.wait_for_permits(cycle, node, waits, self.waiting, self.clock)
            if refused is None:
                self.queue.done(queued.info.uid)
                refused = await binding.bind(profile, cycle, node)
        except SchedulingError as error:
            cycle.timer.step("", "Error")
            self.undo(placement)
            self.failed(queued, cycle, profile, error)
        else:
            if refused is not None:
                self.undo(placement)
                self.unschedulable(queued, cycle, profile, refused)
            else:
                self.bound(placement)
        finally:
            self.binding -= 1
            self._wake.set()

    def undo(self, placement: Placement) -> None:
        for error in unplace(placement.profile, placement.cycle, placement.node):
            self.observers.failed(placement.cycle.pod.key, placement.cycle.attempt, error)
        pod = placement.cycle.pod
        spec = msgspec.structs.replace(pod.spec, node_name=placement.node.name)
        left = msgspec.structs.replace(pod, spec=spec)
        self.queue.move(ASSIGNED_POD_DELETE, left, None, self.clock.now())

    def bound(self, placement: Placement) -> None:
        queued, profile, cycle, node, _, _ = placement
        pod, now = cycle.pod, self.clock.now()
        note = f"Successfully assigned {pod.key} to {node.name}"
        self.record(pod, "Normal", "Scheduled", "Binding", note, cycle.attempt)
        self.observers.bound(
            Bound(
                attempt=cycle.attempt,
                pod=pod.key,
                uid=pod.uid,
                profile=profile.scheduler_name,
                node=node.name,
                time=now,
                attempts=queued.attempts,
                since_added=now - queued.entered,
                since_ready=now - (queued.first_attempt or queued.entered),
                seconds=now - cycle.now,
                flushed=queued.flushed,
            )
        )
        try:
            binding.post_bind(profile, cycle, node)
        except SchedulingError as error:
            cycle.timer.step("", "Error")
            self.observers.failed(pod.key, cycle.attempt, error)

    def failed(
        self, queued: QueuedPod, cycle: Cycle, profile: Profile, error: SchedulingError
    ) -> None:
        plugin, point = (error.plugin, error.point) if isinstance(error, PluginError) else ("", "")
        message, empty = str(error), isinstance(error, NoNodesError)
        result = Result.UNSCHEDULABLE if empty else Result.ERROR
        self.report(queued, cycle, profile, result, message=message, plugin=plugin, point=point)
        if self.put_back(queued, (), (), error=True):
            self.say_why(cycle, "Unschedulable" if empty else "SchedulerError", message)

    def unschedulable(
        self,
        queued: QueuedPod,
        cycle: Cycle,
        profile: Profile,
        why: Unschedulable | Rejection,
    ) -> None:
        if isinstance(why, Unschedulable):
            rejected, pending = why.diagnosis.unschedulable_plugins, why.diagnosis.pending_plugins
            message, nominated = why.message, why.nominated
        else:
            rejected, pending = {why.plugin}, set()
            message, nominated = f"0/1 nodes are available: 1 {why.message}.", None
        self.report(
            queued,
            cycle,
            profile,
            Result.UNSCHEDULABLE,
            message=message,
            nominated=nominated.node if nominated else "",
            victims=len(nominated.victims) if nominated else 0,
        )
        if nominated is not None:
            self.preempting.make_room(cycle, profile, nominated)
        if self.put_back(queued, rejected, pending):
            self.say_why(cycle, "Unschedulable", message)

    def put_back(
        self,
        queued: QueuedPod,
        rejected_by: Iterable[str],
        pending: Iterable[str],
        *,
        error: bool = False,
    ) -> bool:
        """Back to the queue, as the pod is now; False: it is gone or bound, and is let go."""
        known = self.reflectors[PODS.plural].known.get(queued.info.pod.key)
        if not isinstance(known, Pod) or known.uid != queued.info.uid or known.spec.node_name:
            self.queue.done(queued.info.uid)
            return False
        queued.latest = self.cache.info(known)
        self.queue.put_back(queued, rejected_by, pending, error, self.clock.now())
        return True

    def say_why(self, cycle: Cycle, reason: statuses.Reason, message: str) -> None:
        self.say_to(cycle.pod, reason, message, cycle.attempt)

    def say_to(self, pod: Pod, reason: statuses.Reason, message: str, attempt_id: str = "") -> None:
        """Tell a pod why it waits, by an event and in its status."""
        self.record(pod, "Warning", "FailedScheduling", "Scheduling", message, attempt_id)
        patch = statuses.not_scheduled(pod, reason, message, self.clock.now())
        if patch is not None:
            self.start(self.patch_status(pod, patch), f"status/{pod.key}")

    async def patch_status(self, pod: Pod, patch: dict[str, Any]) -> None:
        try:
            await self.server.patch_pod_status(pod.namespace, pod.name, patch, pod.uid)
        except NotFound:
            pass
        except ApiError as error:
            self.observers.failed(pod.key, "", error)

    def record(
        self, pod: Pod, type_: Any, reason: str, action: str, note: str, attempt_id: str = ""
    ) -> None:
        name = pod.spec.scheduler_name
        self.recorder.record(name, pod, type_, reason, action, note, attempt=attempt_id)

    def report(
        self,
        queued: QueuedPod,
        cycle: Cycle,
        profile: Profile,
        result: Result,
        **more: Any,
    ) -> None:
        self.observers.attempted(
            Attempt(
                id=cycle.attempt,
                pod=cycle.pod.key,
                uid=cycle.pod.uid,
                profile=profile.scheduler_name,
                result=result,
                time=cycle.now,
                seconds=self.clock.now() - cycle.now,
                attempts=queued.attempts,
                **more,
            )
        )

    def _reflector(self, resource: Resource) -> Reflector:
        return Reflector(
            self.server,
            resource,
            clock=self.clock,
            rng=self.rng,
            on_error=partial(self._watch_failed, resource),
        )

    def _watch_failed(self, resource: Resource, error: ApiError, delay: float = 0.0) -> None:
        self.observers.failed(f"watch/{resource.plural}", "", error)

    def _plugin_failed(self, error: PluginError) -> None:
        self.observers.failed("", "", error)

    def _rejected(self, pod: Pod) -> None:
        """A kubelet would not take our pod: leave its node alone, and look at it again."""
        node = pod.spec.node_name
        self.cooling.begin(node, self.clock.now())
        note = f"{pod.status.reason}: node {node} rejected the pod and is left alone for a while"
        self.record(pod, "Warning", "NodeRejected", "Scheduling", note)
        self.start(self._reread(node), f"reread/{node}")

    async def _reread(self, name: str) -> None:
        try:
            node = decode_as(await self.server.get(NODES, "", name), Node)
        except ApiError as error:
            self.observers.failed(f"Node {name}", "", error)
            return
        row = self.cache.table.row_of.get(name)
        if row is not None:
            self.handler.apply(Change("updated", self.cache.table.node(row), node))

    def _pod_gone(self, pod: Pod) -> None:
        waiting = self.waiting.get(pod.uid)
        if waiting is not None:
            waiting.reject("", "the pod was deleted")

    def start(self, work: Any, name: str) -> None:
        if self._tasks is None:
            raise RuntimeError("the scheduler is not running")
        self._tasks.create_task(work, name=name)


def _key(change: Change) -> str:
    obj = change.new if change.new is not None else change.old
    return "" if obj is None else f"{type(obj).__name__} {obj.key}"


def _as_scheduling_error(error: Exception) -> SchedulingError:
    if isinstance(error, SchedulingError):
        return error
    wrapped = SchedulingError(f"internal error: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
