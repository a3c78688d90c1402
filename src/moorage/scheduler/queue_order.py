"""One queue for all profiles: its order, its gates and hints, and when it is sorted anew."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cycle.filtering import COOLDOWN
from moorage.cycle.profile import Profile
from moorage.framework.events import (
    ANY_EVENT,
    Action,
    ClusterEvent,
    EventHint,
    Hint,
    Resource,
)
from moorage.framework.extenders import EXTENDER
from moorage.framework.plugin_errors import OnPluginError, ignore_plugin_error
from moorage.framework.points import QueueSort
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.backoff import Backoff
from moorage.queue.queue_settings import QueueSettings
from moorage.queue.scheduling_queue import MAX_IN_UNSCHEDULABLE, NOTES, SchedulingQueue
from moorage.scheduler.feature import Feature

Rank = Callable[[QueuedPod], QueuedPod]
"""The pod that QueueSort gets in place of another."""


def queue_for(
    profiles: Iterable[Profile],
    now: Callable[[], float],
    backoff: Backoff,
    rank: Rank | None = None,
    report: OnPluginError = ignore_plugin_error,
    max_in_unschedulable: float = MAX_IN_UNSCHEDULABLE,
    notes: int = NOTES,
) -> SchedulingQueue:
    """One queue for every profile; errors of PreEnqueue plugins and hints are passed to `report`.

    The log of transitions keeps the last `notes` entries.
    """
    settings = settings_for(profiles, backoff, rank)
    return SchedulingQueue(
        settings.sort_key,
        settings.pre_enqueue,
        settings.hints,
        now=now,
        backoff=settings.backoff,
        report=report,
        max_in_unschedulable=max_in_unschedulable,
        notes=notes,
    )


def _rested(pod: Pod, old: Node | None, new: Node | None) -> Hint:
    """A node's rest has ended, which is no change of an object, or there is another node."""
    return Hint.QUEUE if old is None else Hint.SKIP


_ALWAYS: Final = {
    COOLDOWN: (
        EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE), _rested, per_event=True),
    ),
    EXTENDER: (EventHint(ANY_EVENT),),
}
"""Refusals that no plugin makes: the node rests, or an extender refused (any event may help)."""


def settings_for(
    profiles: Iterable[Profile], backoff: Backoff, rank: Rank | None = None
) -> QueueSettings:
    """The settings of a queue for these profiles, which all have the same QueueSort plugin.

    A profile may be listed in several versions: the PreEnqueue plugins of the first apply, and the
    hints of all.
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
    key = sort.sort_key if rank is None else lambda queued: sort.sort_key(rank(queued))
    return QueueSettings(key, gates, hints, backoff)


class QueueOrder(Feature):
    """Re-sorts the queue every `resort_seconds` for QueueSort plugins that read the cluster."""

    def __init__(self, profiles: Iterable[Profile], cache: Cache, queue: SchedulingQueue) -> None:
        self._profiles = profiles
        self._table = cache.table
        self._queue = queue
        self._sorts: list[QueueSort] = []
        self._seconds = 0.0
        self._seen = (-1, -1)
        self._due = 0.0
        self.reconfigured()

    def reconfigured(self) -> None:
        found = (sort for profile in self._profiles for _, sort in profile.queue_sort)
        self._sorts = [sort for sort in found if sort.resort_seconds > 0]
        self._seconds = min((sort.resort_seconds for sort in self._sorts), default=0.0)

    def tick(self, now: float) -> None:
        """Sort, if that is due and the table has changed since the last time."""
        if not self._sorts or now < self._due:
            return
        seen = self._table.pod_log.version, self._table.node_log.version
        if seen != self._seen:
            for sort in self._sorts:
                sort.begin_sort()
            self._queue.resort()
        self._seen, self._due = seen, now + self._seconds
