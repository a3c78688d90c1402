"""How long each step of an attempt takes: the engine says where it is, this looks at the clock.

Every attempt is timed step by step; one of ten also plugin by plugin, as kube-scheduler does.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any, Final, TypeVar

from moorage.observe.catalogue import ALGORITHM_DURATION, FINE, PERMIT_WAIT, PLUGIN_DURATION
from moorage.observe.tallies import Tallies

SUCCESS: Final = "Success"
WAIT_ON_PERMIT: Final = "WaitOnPermit"
COUNTED: Final = frozenset({"PreFilter", "Filter", "PostFilter", "PreScore", "Score"})
"""The points where it is counted who was asked."""

_name = itemgetter(0)
T = TypeVar("T", bound=tuple[Any, ...])


class Timings:
    """What all timers have seen. `asked` counts by (profile, point, names of plugins)."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.steps = Tallies(FINE)
        self.permits = Tallies(PERMIT_WAIT.buckets)
        self.plugins = Tallies(PLUGIN_DURATION.buckets)
        self.algorithm = Tallies(ALGORITHM_DURATION.buckets).of()
        self.asked: Counter[tuple[str, str, tuple[str, ...]]] = Counter()

    def record(self, profile: str, point: str, status: str, seconds: float) -> None:
        if point == WAIT_ON_PERMIT:
            self.permits.of(status).observe(seconds)
        else:
            self.steps.of(point, status, profile).observe(seconds)


class Timer:
    """Times one attempt, from deciding to binding."""

    __slots__ = ("_began", "_cut", "_deciding", "_point", "_profile", "_sampled", "_timings")

    def __init__(self, timings: Timings, profile: str, sampled: bool) -> None:
        self._timings = timings
        self._profile = profile
        self._sampled = sampled
        self._point = ""
        self._began = self._deciding = timings.now()
        self._cut: tuple[str, float] | None = None

    def step(self, point: str, ended: str = SUCCESS) -> None:
        """A point begins, or none does; `ended` tells how the one before came out."""
        timings = self._timings
        now = timings.now()
        if self._point:
            timings.record(self._profile, self._point, ended, now - self._began)
            if self._cut is not None:
                plugin, seconds = self._cut
                timings.plugins.of(plugin, self._point, ended).observe(seconds)
                self._cut = None
        if not point and self._deciding:
            timings.algorithm.observe(now - self._deciding)
            self._deciding = 0.0
        self._point = point
        self._began = now

    def each(self, plugins: Iterable[T]) -> Iterable[T]:
        """The plugins about to run at the point that has begun."""
        if self._point in COUNTED:
            self._timings.asked[self._profile, self._point, tuple(map(_name, plugins))] += 1
        return self._one_by_one(plugins) if self._sampled else plugins

    def _one_by_one(self, plugins: Iterable[T]) -> Iterator[T]:
        """The time between giving a plugin out and being asked for the next is the plugin's.

        Whoever stops asking has an answer from the last one, which only the next step knows.
        """
        timings, point = self._timings, self._point
        for plugin in plugins:
            began = timings.now()
            try:
                yield plugin
            except GeneratorExit:
                self._cut = (plugin[0], timings.now() - began)
                raise
            timings.plugins.of(plugin[0], point, SUCCESS).observe(timings.now() - began)
