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

    __slots__ = ("_began", "_deciding", "_point", "_profile", "_running", "_sampled", "_timings")

    def __init__(self, timings: Timings, profile: str, sampled: bool) -> None:
        self._timings = timings
        self._profile = profile
        self._sampled = sampled
        self._point = ""
        self._began = self._deciding = timings.now()
        self._running: _Run | None = None

    def step(self, point: str, ended: str = SUCCESS) -> None:
        """A point begins, or none does; `ended` tells how the one before came out."""
        timings = self._timings
        now = timings.now()
        if self._point:
            timings.record(self._profile, self._point, ended, now - self._began)
            if self._running is not None:
                self._settle(self._running, ended, now)
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

        Whoever stops asking has had the last word of one plugin: the next step tells what it was.
        """
        now = self._timings.now
        for plugin in plugins:
            run = self._running = _Run(plugin[0], now())
            try:
                yield plugin
            except GeneratorExit:
                run.ended = now()
                raise
            if self._running is run:
                self._settle(run, SUCCESS, now())

    def _settle(self, run: "_Run", status: str, now: float) -> None:
        seconds = (run.ended or now) - run.began
        self._timings.plugins.of(run.plugin, self._point, status).observe(seconds)
        self._running = None


class _Run:
    """A plugin is running, or was the last to."""

    __slots__ = ("began", "ended", "plugin")

    def __init__(self, plugin: str, began: float) -> None:
        self.plugin = plugin
        self.began = began
        self.ended = 0.0
