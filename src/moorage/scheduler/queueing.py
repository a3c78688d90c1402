"""The queue that serves all profiles of a scheduler."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from moorage.cache.cache import Cache
from moorage.clock import Clock, SystemClock
from moorage.cycle.filtering import COOLDOWN
from moorage.cycle.profile import Profile
from moorage.framework.events import ANY_EVENT, EventHint
from moorage.framework.extenders import EXTENDER
from moorage.guard.telling import Tell, tell_nobody
from moorage.policies.fair_share import FairShare
from moorage.policies.gang import ranking
from moorage.policies.gang.directory import Directory
from moorage.queue.backoff import Backoff
from moorage.queue.queue import SchedulingQueue
from moorage.queue.reconfiguring import Settings
from moorage.queue.reporting import Report, ignore

SYSTEM_CLOCK: Final = SystemClock()


def attach(
    profiles: Iterable[Profile],
    cache: Cache,
    clock: Clock = SYSTEM_CLOCK,
    tell: Tell = tell_nobody,
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
    report: Report = ignore,
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


def settings_for(profiles: Iterable[Profile], backoff: Backoff, groups: Directory) -> Settings:
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
    return Settings(
        lambda queued: sort.sort_key(ranking.stand_in(groups, queued)), gates, hints, backoff
    )
