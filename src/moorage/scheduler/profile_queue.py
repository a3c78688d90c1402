"""The queue that serves all profiles of a scheduler."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from moorage.cache.cache import Cache
from moorage.clock import Clock, SystemClock
from moorage.cycle.filtering import COOLDOWN
from moorage.cycle.profile import Profile
from moorage.framework.events import ANY_EVENT, EventHint
from moorage.framework.extenders import EXTENDER
from moorage.framework.plugin_errors import OnPluginError, ignore_plugin_error
from moorage.gang import directory
from moorage.gang.directory import Directory
from moorage.guard.breaker_events import BreakerListener, ignore_breaker_event
from moorage.queue.backoff import Backoff
from moorage.queue.queue_settings import QueueSettings
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.tenancy.fair_share import FairShare

SYSTEM_CLOCK: Final = SystemClock()


def attach(
    profiles: Iterable[Profile],
    cache: Cache,
    clock: Clock = SYSTEM_CLOCK,
    tell: BreakerListener = ignore_breaker_event,
) -> None:
    """Show the cluster to QueueSort plugins that order pods by it.

    `tell` hears of plugins that are switched off or on, `clock` tells when.
    """
    for profile in profiles:
        guards = profile.guards
        guards.clock, guards.sleep, guards.tell = clock.now, clock.sleep, tell
        for _, sort in profile.queue_sort:
            if isinstance(sort, FairShare):
                sort.join(cache)


def queue_for(
    profiles: Iterable[Profile],
    now: Callable[[], float],
    backoff: Backoff,
    groups: Directory | None = None,
    report: OnPluginError = ignore_plugin_error,
) -> SchedulingQueue:
    """One queue for every profile; `report` hears of gates and hints that raised."""
    settings = settings_for(profiles, backoff, Directory() if groups is None else groups)
    return SchedulingQueue(
        settings.sort_key,
        settings.pre_enqueue,
        settings.hints,
        now=now,
        backoff=settings.backoff,
        report=report,
    )


_ALWAYS: Final = {COOLDOWN: (EventHint(ANY_EVENT),), EXTENDER: (EventHint(ANY_EVENT),)}
"""Who is not a plugin, and refuses pods all the same."""


def settings_for(profiles: Iterable[Profile], backoff: Backoff, groups: Directory) -> QueueSettings:
    """What a queue for these profiles goes by.

    QueueSort is the same in each of them. Of several versions of a profile the first says who may
    enter; an event is worth another attempt if it is so to any of them.
    """
    listed = list(profiles)
    _, sort = listed[0].queue_sort[0]
    gates: dict[str, Sequence[Any]] = {}
    hints: dict[str, dict[str, tuple[EventHint, ...]]] = {}
    for profile in listed:
        gates.setdefault(profile.scheduler_name, profile.pre_enqueue)
        registered = hints.setdefault(profile.scheduler_name, dict(_ALWAYS))
        for name, made in profile.plugins.items():
            registered[name] = (*registered.get(name, ()), *made.events())
    return QueueSettings(
        lambda queued: sort.sort_key(directory.ranked_as(groups, queued)), gates, hints, backoff
    )


RESORT_SECONDS: Final = 5.0
"""How often the queue is sorted anew, at most."""


class QueueOrder:
    """Sorts the queue anew when that is due and anything has changed."""

    def __init__(self, profiles: Iterable[Profile], cache: Cache, queue: SchedulingQueue) -> None:
        self._profiles = profiles
        self._table = cache.table
        self._queue = queue
        self._seen = (-1, -1)
        self._due = 0.0

    def tick(self, now: float) -> None:
        """Do what is due."""
        if now < self._due:
            return
        seen = self._table.pod_log.version, self._table.node_log.version
        lines = self._lines()
        if lines and seen != self._seen:
            for fair in lines:
                fair.line.clear()
            self._queue.resort()
        self._seen, self._due = seen, now + RESORT_SECONDS

    def _lines(self) -> list[FairShare]:
        sorts = (sort for profile in self._profiles for _, sort in profile.queue_sort)
        return [sort for sort in sorts if isinstance(sort, FairShare)]
