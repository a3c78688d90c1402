"""Makes room for whole groups on a full cluster: finds victims, which leave only later."""

import random
from typing import Final

from moorage.cache.cache import Cache
from moorage.cache.disruption_budgets import Budgets
from moorage.cache.podinfo import PodInfo
from moorage.clock import VirtualClock
from moorage.cycle.profile import Profile
from moorage.framework.extenders import NO_EXTENDERS
from moorage.framework.queued_pod import QueuedPod
from moorage.gang import victim_search
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.place import GangPlacer
from moorage.gang.preemption import find_victims
from moorage.observe.observers import Observers
from moorage.queue.backoff import Backoff
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.feature import Features
from moorage.scheduler.profiles import Profiles

TOGETHER: Final = 10
"""The victims of this many groups leave at once; until then their nodes stay nominated."""


class GroupPreemption:
    """Makes room for groups, which are placed when their victims have left."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        profile: Profile,
        groups: Directory,
        rng: random.Random,
    ) -> None:
        clock, observers = VirtualClock(), Observers()
        in_force = Profiles({profile.scheduler_name: profile}, Backoff(), Features())
        cycles = Cycles(cache, clock, rng, in_force, None, observers, NO_EXTENDERS)
        self._cache = cache
        self._groups = groups
        self._placer = GangPlacer(cache, queue, clock, in_force, cycles, observers)
        self._promised: list[tuple[PodInfo, str]] = []
        self._leaving: set[str] = set()
        self._waiting = 0

    def make_room(self, group: Group, members: list[QueuedPod]) -> list[str]:
        """The nodes for which the pods of a group are nominated; empty if no eviction helps."""
        units = victim_search.line_up(
            self._cache, self._groups, group, group.priority, Budgets(()), None
        )
        found = find_victims(self._cache, self._placer, group, members, units)
        if found is None:
            return []
        victims, trial = found
        given = [(cycle.incoming, cycle.table.node(row).name) for _, cycle, row in trial.placed]
        for info, node in given:
            self._cache.nominations.put(info, node)
        self._promised += given
        self._leaving.update(pod.uid for pod in victims.pods)
        self._waiting += 1
        if self._waiting == TOGETHER:
            self._take_places()
        return [node for _, node in given]

    def _take_places(self) -> None:
        for uid in self._leaving:
            self._cache.remove_pod(uid)
        for info, node in self._promised:
            self._cache.nominations.remove(info.uid)
            self._cache.assume(info, node)
        self._promised, self._leaving, self._waiting = [], set(), 0
