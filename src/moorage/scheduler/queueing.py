"""The queue that serves all profiles of a scheduler."""

from collections.abc import Callable, Mapping

from moorage.cache.cache import Cache
from moorage.cycle.filtering import COOLDOWN
from moorage.cycle.profile import Profile
from moorage.framework.events import ANY_EVENT, EventHint
from moorage.framework.extenders import EXTENDER
from moorage.policies.fair_share import FairShare
from moorage.policies.gang import ranking
from moorage.policies.gang.directory import Directory
from moorage.queue.backoff import Backoff
from moorage.queue.queue import SchedulingQueue
from moorage.queue.reporting import Report, ignore


def attach(profiles: Mapping[str, Profile], cache: Cache) -> None:
    """Show the cluster to QueueSort plugins that order pods by it."""
    for profile in profiles.values():
        for _, sort in profile.queue_sort:
            if isinstance(sort, FairShare):
                sort.join(cache)


def queue_for(
    profiles: Mapping[str, Profile],
    now: Callable[[], float],
    backoff: Backoff,
    groups: Directory | None = None,
    report: Report = ignore,
) -> SchedulingQueue:
    """One queue for every profile; QueueSort is the same in each of them.

    `report` hears of gates and hints that raised.
    """
    _, sort = next(iter(profiles.values())).queue_sort[0]
    known = Directory() if groups is None else groups
    return SchedulingQueue(
        lambda queued: sort.sort_key(ranking.stand_in(known, queued)),
        {name: profile.pre_enqueue for name, profile in profiles.items()},
        {
            name: {
                **{plugin: made.events() for plugin, made in profile.plugins.items()},
                COOLDOWN: (EventHint(ANY_EVENT),),
                EXTENDER: (EventHint(ANY_EVENT),),
            }
            for name, profile in profiles.items()
        },
        now=now,
        backoff=backoff,
        report=report,
    )
