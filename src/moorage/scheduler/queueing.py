"""The queue that serves all profiles of a scheduler."""

from collections.abc import Callable, Mapping

from moorage.cycle.profile import Profile
from moorage.queue.backoff import Backoff
from moorage.queue.queue import SchedulingQueue


def queue_for(
    profiles: Mapping[str, Profile], now: Callable[[], float], backoff: Backoff
) -> SchedulingQueue:
    """One queue for every profile; QueueSort is the same in each of them."""
    _, sort = next(iter(profiles.values())).queue_sort[0]
    return SchedulingQueue(
        sort.sort_key,
        {name: profile.pre_enqueue for name, profile in profiles.items()},
        {
            name: {plugin: made.events() for plugin, made in profile.plugins.items()}
            for name, profile in profiles.items()
        },
        now=now,
        backoff=backoff,
    )
