"""Groups of pods: who waits for whom, when a group is tried, and what became of it.

The queue holds pods, one by one. A group is tried when any of its pods is popped: all others that
wait are taken with it, wherever they are. While it may not be tried its pods are gated, and when
that ends they are let go together.
"""

import math
from typing import TYPE_CHECKING, Final

from moorage.api import podgroup
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.framework.queued_pod import QueuedPod, State
from moorage.gang.attempt import GangAttempt
from moorage.gang.group import Group
from moorage.gang.plugin import GangScheduling
from moorage.gang.preemption import LeavingVictims
from moorage.gang.reservation import Reservations
from moorage.gang.status import GangStatus
from moorage.queue.backoff import Backoff
from moorage.scheduler.alarms import Alarms
from moorage.scheduler.placement import Placement
from moorage.watch.api_resources import RESOURCES, Resource
from moorage.watch.reflector import Change

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler

POD_GROUPS: Final = (RESOURCES["podgroups"],)
WORKLOAD_POD_GROUPS: Final = tuple(
    Resource("scheduling.k8s.io", version, "podgroups", "PodGroup", namespaced=True)
    for version in ("v1beta1", "v1alpha3")
)
"""Kubernetes' own groups, in the versions we know, the one to ask for first."""
DIALECTS: Final = (POD_GROUPS, WORKLOAD_POD_GROUPS)

Alarm = tuple[str, str]
BACKOFF: Final = "backoff"
TELL: Final = "tell"
TIMEOUT: Final = "timeout"
STARVING: Final = "starving"
LOOK_AGAIN_SECONDS: Final = 60.0
"""How often the room that is kept for a group is chosen anew."""


class Gangs:
    """Follows groups, and tries them as a whole."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler
        self.groups, self.holds = scheduler.groups, scheduler.holds
        self.alarms = Alarms()
        self.telling = GangStatus(scheduler)
        self._plugins = self._enlist()
        self._served: dict[str, bool] = {}
        self.groups.in_use = bool(self._plugins)
        self.leaving = LeavingVictims(scheduler, self)
        self.holding = Reservations(scheduler, self)
        self._attempting = GangAttempt(scheduler, self)

    def rejoin(self) -> None:
        """Other profiles are in force: treat groups as they say."""
        had, self._plugins = bool(self._plugins), self._enlist()
        if not self._plugins:
            self.groups.in_use = False
        elif not had:
            self.groups.in_use = any(self._served.values()) or len(self._served) < len(DIALECTS)
        self._attempting.rejoin()

    def _enlist(self) -> dict[str, GangScheduling]:
        """The plugin of each profile that has one; all look at the same groups."""
        found: dict[str, GangScheduling] = {}
        for profile in self._desk.lineup:
            for plugin in profile.plugins.values():
                if isinstance(plugin, GangScheduling):
                    plugin.join(self.groups, self.holds)
                    if plugin.enabled:
                        found.setdefault(profile.scheduler_name, plugin)
        return found

    def _settings(self, group: Group) -> GangScheduling:
        """How a group is to be treated: as the profile of the first of its pods says."""
        pods = (*group.waiting.values(), *group.placed.values())
        named = (self._plugins.get(pod.spec.scheduler_name) for pod in pods)
        return next((plugin for plugin in named if plugin is not None), GangScheduling())

    def served(self, resource: Resource, known: bool) -> None:
        """Objects of a resource are all known, or it turns out that there can be none.

        Where there can be no groups, naming one means nothing.
        """
        if resource.kind != "PodGroup":
            return
        self._served[resource.group] = known
        if not self._plugins:
            return
        self.groups.in_use = any(self._served.values()) or len(self._served) < len(DIALECTS)
        if not self.groups.in_use:
            waiting = [uid for group in self.groups for uid in group.waiting]
            self._desk.queue.activate(waiting, self._desk.clock.now())

    def apply(self, change: Change, resource: Resource) -> None:
        """Believe one change, and let go whom it makes ready."""
        touched = self._see(change, resource)
        self._desk.handler.apply(change)
        for group in touched:
            self.review(group)

    def _see(self, change: Change, resource: Resource) -> list[Group]:
        sample = change.new if change.new is not None else change.old
        if isinstance(sample, Pod):
            if change.new is None or sample.is_terminal:
                self.groups.spare(sample.uid)
                self._desk.preempting.leaving.discard(sample.uid)
                self.telling.forget(sample.uid)
                return self.groups.remove_pod(sample.uid) + self.leaving.left(sample.uid)
            if len(podgroup.group_names(sample)) > 1:
                self.alarms.set((TELL, sample.uid), self._desk.clock.now())
            return self.groups.put_pod(sample, self._desk.clock.now())
        if not isinstance(sample, PodGroup):
            return []
        if change.new is None:
            group = self.groups.remove_object(sample)
            self.telling.forget(sample.uid)
            return [] if group is None else [group]
        self.telling.note(sample.uid, resource)
        return [self.groups.put_object(sample)]

    def review(self, group: Group) -> None:
        """Let the pods of a group go if they have become ready; see what is to be told of it."""
        now = self._desk.clock.now()
        ready = bool(group.waiting) and group.refusal() is None
        if ready and not group.ready:
            self._let_go(group, now)
        group.ready = ready
        self.holding.review(group)
        if group.waiting or group.objects:
            self._watch_over(group, now)

    def _let_go(self, group: Group, now: float) -> None:
        queue = self._desk.queue
        known = [queue.find(uid) for uid in group.waiting]
        held = [
            queued.info.uid
            for queued in known
            if queued is not None and (group.retry or queued.state is State.GATED)
            if queued.state is not State.IN_FLIGHT
        ]
        group.retry = False
        queue.activate(held, now)

    def _watch_over(self, group: Group, now: float) -> None:
        """Set the alarms that a group needs as it is now."""
        if not group.waiting:
            self.alarms.clear((TIMEOUT, group.key))
            self.alarms.set((TELL, group.key), now)
            return
        arrived = now if group.arrived is None else group.arrived
        settings = self._settings(group)
        is_waited_for = group.is_incomplete or not group.objects
        patience = settings.incomplete_after_seconds if is_waited_for else 0.0
        self.alarms.set((TELL, group.key), max(now, arrived + patience))
        if not group.timed_out:
            self.alarms.set((TIMEOUT, group.key), arrived + self.patience(group))
        if group.minimum >= 1:
            self._consider_holding(group, arrived, settings.reservation_after_seconds)

    def _consider_holding(self, group: Group, arrived: float, after: float) -> None:
        """Look at a group when it has waited long enough to be kept room."""
        now, alarm = self._desk.clock.now(), (STARVING, group.key)
        if after and (arrived + after > now or alarm not in self.alarms):
            self.alarms.set(alarm, max(arrived + after, now))

    def patience(self, group: Group) -> float:
        """How many seconds a group may take from its first pod to its last."""
        found = group.object
        given = None if found is None else found.spec.schedule_timeout_seconds
        if given is not None and given > 0:
            return float(given)
        return self._settings(group).permit_waiting_time_seconds

    def schedule(self, queued: QueuedPod) -> bool:
        """Try the group of a pod that was popped; False where it is to be tried alone."""
        pod = queued.info.pod
        if not self.groups.in_use or pod.spec.scheduler_name not in self._plugins:
            return False
        if not podgroup.group_names(pod):
            return False
        refusal = self.groups.refusal(pod)
        if refusal is not None:
            self._attempting.refuse(queued, refusal)
            return True
        group = self.groups.of(pod)
        if group is None or group.minimum < 1 or group.is_replacing:
            return False
        if self.scheduled(group) >= group.minimum:
            return False
        self._attempting.attempt(group, queued)
        return True

    def scheduled(self, group: Group) -> int:
        """How many of its pods are on a node, or about to be."""
        assumed = self._desk.cache.assumed
        return len(group.placed) + sum(uid in assumed for uid in group.waiting)

    def back_off(self, group: Group, *, retry: bool = False) -> None:
        """Keep a group that failed out of the queue for a while.

        Then those of its pods go on that an event has woken meanwhile; with `retry`, all of them.
        """
        group.failures += 1
        group.backing_off = True
        group.ready = False
        group.retry = group.retry or retry
        self.alarms.set((BACKOFF, group.key), self._desk.clock.now() + self._delay(group))

    def unfinished(self, group: Group, bound: int, released: list[Placement]) -> None:
        """Some of a group could not be bound, and too little of it was: all is tried again."""
        self.back_off(group, retry=True)
        if bound:
            self.holding.keep(group, released)

    def _delay(self, group: Group) -> float:
        fixed = self._settings(group).pod_group_backoff_seconds
        if fixed:
            return fixed
        backoff = self._desk.backoff
        most = backoff.maximum * math.sqrt(max(group.members, 1))
        return Backoff(backoff.initial, most).duration(group.failures)

    def tick(self, now: float) -> None:
        """Do what is due."""
        for kind, name in self.alarms.due(now):
            group = self.groups.get(name)
            if group is None:
                self.telling.pod(name)
            elif kind == BACKOFF:
                group.backing_off = False
                self.review(group)
            elif kind == TELL:
                self.telling.review(group)
            elif kind == TIMEOUT:
                self._time_out(group)
            elif kind == STARVING and self.holding.starve(group):
                self.alarms.set((STARVING, group.key), now + LOOK_AGAIN_SECONDS)

    def _time_out(self, group: Group) -> None:
        if group.waiting and self.scheduled(group) < group.minimum:
            group.timed_out = True
            self.telling.timed_out(group, self.patience(group))
