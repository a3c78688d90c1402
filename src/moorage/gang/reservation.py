"""Room for groups that would starve without it.

1. Of the groups that have waited long, the one of the first rank gets room held: the room that it
   will have first. Only one group at a time does.
2. A group that was bound in part gets the room of the rest held, independently of that.
3. A group that does not start although all of its room is there and held lacks something else. Its
   hold ends, or it would keep others off for good, and it gets none until it is refused otherwise.
"""

import math
from collections import Counter

from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.clock import Clock
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.framework.verdicts import SchedulingError
from moorage.gang import foresight, holds
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.holds import Hold, Holds, Room
from moorage.gang.place import GangPlacer
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.placement import Placement
from moorage.scheduler.profiles import Profiles

ROOM_RELEASED = ClusterEvent(Resource.WILDCARD, Action.ALL, "RoomReleased")


class Reservations:
    """Decides which groups get room held, and how much."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        profiles: Profiles,
        observers: Observers,
        groups: Directory,
        rooms: Holds,
        placer: GangPlacer,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._profiles = profiles
        self._observers = observers
        self._groups = groups
        self._rooms = rooms
        self._placer = placer
        self._starving = ""

    def keep(self, group: Group, released: list[Placement]) -> None:
        """Hold the room of released pods for a group that was bound in part."""
        pods: Counter[str] = Counter()
        rooms: dict[str, Counter[int]] = {}
        for placement in released:
            node = placement.node.name
            pods[node] += 1
            rooms.setdefault(node, Counter()).update(dict(placement.cycle.incoming.requests))
        held = {node: Room(pods[node], rooms[node]) for node in pods}
        self._rooms.put(Hold(group, held))

    def release(self, group: Group) -> None:
        """Drop the hold of a group, and retry the pods that were kept off."""
        if self._starving == group.key:
            self._starving = ""
        if self._rooms.drop(group.key):
            self._queue.move(ROOM_RELEASED, None, None, self._clock.now())

    def review(self, group: Group) -> None:
        """Drop the hold of a group that cannot use it, or no longer needs it."""
        if self._rooms.get(group.key) is not None and not self._needs(group):
            self.release(group)

    def _needs(self, group: Group) -> bool:
        if not group.objects or not group.waiting or group.minimum < 1 or group.lacks_objects:
            return False
        return not group.is_whole(group.on_nodes(self._cache.assumed))

    def starve(self, group: Group) -> bool:
        """Hold the room that a group which has waited long will have first, if it is its turn.

        False if the group no longer waits, or has a hold because it was bound in part. No room is
        held for a group that plugins refused for another reason than a lack of room.
        """
        if not self._needs(group):
            return False
        known, first = self._rooms.get(group.key), self._groups.get(self._starving)
        if known is not None and first is not group:
            return False
        if first is not None and holds.rank(first) < holds.rank(group):
            return True
        if first is not None and first is not group:
            self.release(first)
        foreseen = self._foresee(group) if self._room_helps(group) else None
        tries = None if foreseen is None else self._tries(group, foreseen)
        if tries is not None and self._is_in_vain(group, tries):
            group.room_helps, foreseen = False, None
        if foreseen is None:
            self.release(group)
        else:
            self._starving = group.key
            self._rooms.put(Hold(group, foreseen.rooms, foreseen.start, tries))
        return True

    def _tries(self, group: Group, foreseen: foresight.Foresight) -> int | None:
        """How many attempts had failed when all the room was there; None if it is not."""
        if foreseen.start != self._clock.now():
            return None
        known = self._rooms.get(group.key)
        return group.failures if known is None or known.tries is None else known.tries

    def _is_in_vain(self, group: Group, tries: int) -> bool:
        """Whether the group could be tried since its room was there, and does not start.

        Whoever backs off is tried afterwards; whoever does not was woken when the room came.
        """
        known = self._rooms.get(group.key)
        if known is None or known.tries is None:
            return False
        return group.failures > tries or not group.backs_off

    def _room_helps(self, group: Group) -> bool:
        """Whether more room may help, for all plugins that refused the group."""
        if not group.room_helps:
            return False
        names = {pod.spec.scheduler_name for pod in group.waiting.values()}
        profiles = [self._profiles.by_name[name] for name in names if name in self._profiles]
        plugins = (p.plugins.get(name) for p in profiles for name in group.refused_by)
        return all(plugin is None or plugin.more_room_helps for plugin in plugins)

    def _foresee(self, group: Group) -> foresight.Foresight | None:
        table, now = self._cache.table, self._clock.now()
        own = {*group.placed, *group.waiting}
        others = [hold for hold in self._rooms if hold.group is not group]

        def ends(info: PodInfo) -> float:
            return math.inf if info.uid in own else _end(info, now)

        try:
            return foresight.foresee(table, self._placer.needs(group), ends, now, others)
        except SchedulingError as error:
            self._observers.failed(group.key, "", error)
            return None


def _end(info: PodInfo, now: float) -> float:
    """When a pod will have ended; infinite if it has no deadline."""
    if info.pod.is_terminating:
        return now
    seconds = holds.duration(info.pod)
    if seconds is None:
        return math.inf
    started = info.pod.status.start_time
    return (now if started is None else started.timestamp()) + seconds
