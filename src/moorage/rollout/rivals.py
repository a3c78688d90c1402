"""Rivals: another process binds pods of our scheduler names.

Two schedulers with the same name but no common Lease both decide for every pod, and overcommit
nodes. The sign is that a pod in our queue is bound, and not to the node we chose. One such pod may
have been bound by a person; several within minutes are reported in an event and in the log.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from typing import Final

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.observe import catalogue
from moorage.observe.logs import say
from moorage.observe.metric_families import Family, counter
from moorage.scheduler.feature import Feature
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.report import Reporter
from moorage.watch.api_resources import Resource
from moorage.watch.reflector import Change

GRACE_SECONDS: Final = 30.0
"""For this long after taking the lead, bindings may still be those of the previous leader."""
WINDOW_SECONDS: Final = 600.0
SUSPICIOUS: Final = 3
"""This many pods within the window are reported."""
REASON: Final = "SchedulerNameContended"
NOTE: Final = (
    'another scheduler binds pods of schedulerName "{}": give one of the two another name, or have '
    "both hold the same Lease (leaderElection.resourceName)"
)


class Rivals(Feature):
    """Counts our pods that others bind, except under `stood_in_for`, names that others may use."""

    hears = ("pods",)

    def __init__(
        self,
        cache: Cache,
        clock: Clock,
        profiles: Profiles,
        reporter: Reporter,
        is_active: Callable[[], bool],
        stood_in_for: Callable[[], Collection[str]],
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._profiles = profiles
        self._reporter = reporter
        self._is_active = is_active
        self._stood_in_for = stood_in_for
        self._active_since: float | None = None
        self._bound: Counter[tuple[str, ...]] = Counter()
        self._recent: dict[str, deque[float]] = {}
        self._told: dict[str, float] = {}

    def before(self, change: Change, resource: Resource) -> None:
        old, new = change.old, change.new
        if not isinstance(old, Pod) or not isinstance(new, Pod):
            return
        if old.spec.node_name or not new.spec.node_name or not self._responsible():
            return
        name = new.spec.scheduler_name
        ours = name in self._profiles and name not in self._stood_in_for()
        if ours and self._cache.node_of(new.uid) != new.spec.node_name:
            self._note(name, new)

    def families(self) -> Iterable[Family]:
        """Names without rivals count nothing, so that the first few show as an increase."""
        found = {**dict.fromkeys(self._keys(), 0), **self._bound}
        return (counter(catalogue.BOUND_BY_OTHERS, found.items()),)

    def _keys(self) -> Iterable[tuple[str, ...]]:
        return ((name,) for name in self._profiles.by_name)

    def _responsible(self) -> bool:
        """Whether this replica leads, and has for a while."""
        now = self._clock.now()
        if not self._is_active():
            self._active_since = None
            return False
        if self._active_since is None:
            self._active_since = now
        return now - self._active_since >= GRACE_SECONDS

    def _note(self, name: str, pod: Pod) -> None:
        now = self._clock.now()
        self._bound[(name,)] += 1
        recent = self._recent.setdefault(name, deque(maxlen=SUSPICIOUS))
        recent.append(now)
        several = len(recent) == SUSPICIOUS and now - recent[0] <= WINDOW_SECONDS
        if several and now - self._told.get(name, -WINDOW_SECONDS) >= WINDOW_SECONDS:
            self._told[name] = now
            note = NOTE.format(name)
            say(logging.ERROR, note, pod=pod.key, node=pod.spec.node_name)
            self._reporter.event(pod, "Warning", REASON, "Scheduling", note)
