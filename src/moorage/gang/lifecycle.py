"""The life of a group: when its pods are released, when it backs off, and what is due when."""

from typing import Final

from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.framework.queued_pod import State
from moorage.gang.directory import Directory
from moorage.gang.group import Group, Release
from moorage.gang.group_states import GroupState
from moorage.gang.reservation import Reservations
from moorage.gang.settings import GangSettings
from moorage.gang.status import GangStatus
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.alarms import Alarms

BACKOFF: Final = "backoff"
TELL: Final = "tell"
TIMEOUT: Final = "timeout"
STARVING: Final = "starving"
LOOK_AGAIN_SECONDS: Final = 60.0
"""How often the room that is held for a group is chosen anew."""


class Lifecycle:
    """Releases the pods of groups, and keeps the times at which something is due."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        groups: Directory,
        settings: GangSettings,
        status: GangStatus,
        reservations: Reservations,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._groups = groups
        self._settings = settings
        self._status = status
        self._reservations = reservations
        self._alarms = Alarms()

    def review(self, group: Group) -> None:
        """Release the pods of a group if it has become ready, and set the alarms it needs."""
        now = self._clock.now()
        release = group.settle()
        if release is not None:
            self._let_go(group, release, now)
        self._reservations.review(group)
        if group.waiting or group.objects:
            self._watch_over(group, now)

    def _let_go(self, group: Group, release: Release, now: float) -> None:
        known = [self._queue.find(uid) for uid in group.waiting]
        held = [
            queued.info.uid
            for queued in known
            if queued is not None and (release is Release.ALL or queued.state is State.GATED)
            if queued.state is not State.IN_FLIGHT
        ]
        self._queue.activate(held, now)

    def needs_less(self, group: Group) -> None:
        """Somebody else has put a pod of the group on a node: the others may fit now."""
        if group.state is GroupState.RELEASED:
            self._let_go(group, Release.ALL, self._clock.now())
        else:
            group.retry_all()

    def back_off(self, group: Group, *, retry: bool = False) -> None:
        """Keep a group that failed out of the queue for a while.

        Afterwards pods that an event has woken meanwhile go on; with `retry`, all of them.
        """
        group.fail(retry=retry)
        until = self._clock.now() + self._settings.backoff(group)
        self._alarms.set((BACKOFF, group.key), until)

    def tell_of_pod(self, uid: str) -> None:
        """Have the next `tick` report why a pod may not be attempted."""
        self._alarms.set((TELL, uid), self._clock.now())

    def _watch_over(self, group: Group, now: float) -> None:
        """Set the alarms that a group needs in its present state."""
        if not group.waiting:
            self._alarms.clear((TIMEOUT, group.key))
            self._alarms.set((TELL, group.key), now)
            return
        arrived = now if group.arrived is None else group.arrived
        settings = self._settings.of(group)
        patience = settings.incomplete_after_seconds if group.lacks_objects else 0.0
        told_from = max(now, arrived + patience, self._status.review_from(group))
        self._alarms.set((TELL, group.key), told_from)
        if not group.timed_out:
            self._alarms.set((TIMEOUT, group.key), arrived + self._settings.patience(group))
        if group.minimum >= 1:
            self._consider_holding(group, arrived, settings.reservation_after_seconds)

    def _consider_holding(self, group: Group, arrived: float, after: float) -> None:
        """Set the alarm for when the group has waited long enough to get room held."""
        now, alarm = self._clock.now(), (STARVING, group.key)
        if after and (arrived + after > now or alarm not in self._alarms):
            self._alarms.set(alarm, max(arrived + after, now))

    def next_due(self) -> float | None:
        return self._alarms.next()

    def tick(self, now: float) -> None:
        """Do what is due."""
        for kind, name in self._alarms.due(now):
            group = self._groups.get(name)
            if group is None:
                self._status.pod(name)
            elif kind == BACKOFF:
                if group.backs_off:
                    group.complete_backoff()
                self.review(group)
            elif kind == TELL:
                self._tell(group)
            elif kind == TIMEOUT:
                self._time_out(group)
            elif kind == STARVING and self._reservations.starve(group):
                self._alarms.set((STARVING, group.key), now + LOOK_AGAIN_SECONDS)

    def _tell(self, group: Group) -> None:
        """Report what is wrong; check later that the pods' status says it: a write may be lost."""
        if not self._status.review(group):
            self._alarms.set((TELL, group.key), self._status.review_from(group))

    def _time_out(self, group: Group) -> None:
        if group.waiting and not group.is_whole(group.on_nodes(self._cache.assumed)):
            group.time_out()
            self._status.timed_out(group, self._settings.patience(group))
