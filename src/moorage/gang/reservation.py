"""Room for groups that would starve without it.

A group that has waited long is kept the room it will have first, one group at a time: the one that
ranks first of those that have waited long. A group that was bound in part is kept the room of the
rest, whoever else is kept what.
"""

import math
from collections import Counter
from typing import TYPE_CHECKING

from moorage.cache.podinfo import PodInfo
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.framework.verdicts import SchedulingError
from moorage.gang import foresight, holds
from moorage.gang.foresight import needs
from moorage.gang.group import Group
from moorage.gang.holds import Hold, Room
from moorage.scheduler.placement import Placement
from moorage.tenancy.quotas import NAME as CAPACITY

if TYPE_CHECKING:
    from moorage.gang.feature import Gangs
    from moorage.scheduler.scheduler import Scheduler

ROOM_RELEASED = ClusterEvent(Resource.WILDCARD, Action.ALL, "RoomReleased")


class Reservations:
    """Decides who is kept which room."""

    def __init__(self, scheduler: "Scheduler", ganging: "Gangs") -> None:
        self._desk = scheduler
        self._ganging = ganging
        self._starving = ""

    def keep(self, group: Group, released: list[Placement]) -> None:
        """Keep the room that the rest of a group, bound in part, was to have."""
        pods: Counter[str] = Counter()
        rooms: dict[str, Counter[int]] = {}
        for placement in released:
            node = placement.node.name
            pods[node] += 1
            rooms.setdefault(node, Counter()).update(dict(placement.cycle.incoming.requests))
        held = {node: Room(pods[node], rooms[node]) for node in pods}
        self._desk.holds.put(Hold(group, held))

    def release(self, group: Group) -> None:
        """Keep nothing for a group any longer; who was kept off may try again."""
        if self._starving == group.key:
            self._starving = ""
        if self._desk.holds.drop(group.key):
            desk = self._desk
            desk.queue.move(ROOM_RELEASED, None, None, desk.clock.now())

    def review(self, group: Group) -> None:
        """Release what is kept for a group that cannot use it, or has what it needs."""
        if self._desk.holds.get(group.key) is not None and not self._needs(group):
            self.release(group)

    def _needs(self, group: Group) -> bool:
        if not group.objects or not group.waiting or group.minimum < 1 or group.is_incomplete:
            return False
        return self._ganging.scheduled(group) < group.minimum

    def starve(self, group: Group) -> bool:
        """A group has waited long: keep the room it will have first, if it is its turn.

        False where it no longer waits, or is kept its room already for having been bound in part.
        Room is of no use to a group that its quota keeps from running.
        """
        if not self._needs(group):
            return False
        known, first = self._desk.holds.get(group.key), self._desk.groups.get(self._starving)
        if known is not None and first is not group:
            return False
        if first is not None and holds.rank(first) < holds.rank(group):
            return True
        if first is not None and first is not group:
            self.release(first)
        foreseen = None if CAPACITY in group.refused_by else self._foresee(group)
        if foreseen is None:
            self.release(group)
        else:
            self._starving = group.key
            self._desk.holds.put(Hold(group, foreseen.rooms, foreseen.start))
        return True

    def _foresee(self, group: Group) -> foresight.Foresight | None:
        desk = self._desk
        table, now = desk.cache.table, desk.clock.now()
        own = {*group.placed, *group.waiting}
        others = [hold for hold in desk.holds if hold.group is not group]

        def ends(info: PodInfo) -> float:
            return math.inf if info.uid in own else _end(info, now)

        try:
            return foresight.foresee(table, needs(desk, group), ends, now, others)
        except SchedulingError as error:
            desk.observers.failed(group.key, "", error)
            return None


def _end(info: PodInfo, now: float) -> float:
    """When a pod will have ended, by its own word; infinity where it gives none."""
    if info.pod.is_terminating:
        return now
    seconds = holds.duration(info.pod)
    if seconds is None:
        return math.inf
    started = info.pod.status.start_time
    return (now if started is None else started.timestamp()) + seconds
