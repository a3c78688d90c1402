"""Durations of each step and plugin of an attempt, and the metrics made of them.

Every attempt is timed step by step; one of ten also plugin by plugin, as in kube-scheduler. The
counting is inlined in `Timer.step`, which runs a dozen times for every pod.
"""

from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, TypeVar

from moorage.framework.cycle import Step
from moorage.observe import catalogue
from moorage.observe.catalogue import ALGORITHM_DURATION, FINE, PERMIT_WAIT, PLUGIN_DURATION
from moorage.observe.metric_families import Family, Tallies, Tally, counter, histogram, unlabelled

SUCCESS: Final = "Success"
WAIT_ON_PERMIT: Final = "WaitOnPermit"
COUNTED: Final = frozenset({"PreFilter", "Filter", "PostFilter", "PreScore", "Score"})
"""The points at which calls of plugins are counted."""

SLOW_SECONDS: Final = 0.1
"""From this time on a decision is slow, as in kube-scheduler."""
SLOW_KEPT: Final = 256

_name = itemgetter(0)
T = TypeVar("T", bound=tuple[Any, ...])


class ProfileTimings:
    """The durations and counts of one profile's attempts.

    `steps` are by (point, status), `asked` by (point, names of plugins).
    """

    __slots__ = ("asked", "steps", "timings")

    def __init__(self, timings: "Timings") -> None:
        self.timings = timings
        self.steps: dict[tuple[str, str], Tally] = {}
        self.asked: Counter[tuple[str, tuple[str, ...]]] = Counter()


class Timings:
    """The durations and counts of all profiles."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.permits = Tallies(PERMIT_WAIT.buckets)
        self.plugins = Tallies(PLUGIN_DURATION.buckets)
        self.algorithm = Tally(ALGORITHM_DURATION.buckets)
        self.profiles: dict[str, ProfileTimings] = {}
        self.slow_seconds = SLOW_SECONDS
        self.slow: OrderedDict[str, Timer] = OrderedDict()
        """Attempt id -> timer of a slow attempt, until the tracer takes it."""

    def of(self, profile: str) -> ProfileTimings:
        found = self.profiles.get(profile)
        if found is None:
            found = self.profiles[profile] = ProfileTimings(self)
        return found

    def note_slow(self, timer: "Timer") -> None:
        """Keep the timer of a slow attempt."""
        self.slow[timer.attempt] = timer
        if len(self.slow) > SLOW_KEPT:
            self.slow.popitem(last=False)

    def steps(self) -> list[tuple[tuple[str, ...], Tally]]:
        """How long steps took, by (point, status, profile)."""
        return [
            ((*key, name), tally)
            for name, profile in self.profiles.items()
            for key, tally in profile.steps.items()
            if key[0] != WAIT_ON_PERMIT
        ]


class Timer:
    """Times one attempt, from deciding to binding.

    `trace` has each step's point, status, beginning and seconds. A `detailed` timer also keeps
    plugins, verdicts and scores.
    """

    __slots__ = (
        "_began",
        "_deciding",
        "_now",
        "_point",
        "_profile",
        "_running",
        "attempt",
        "began",
        "best",
        "detailed",
        "plugins",
        "refusals",
        "sampled",
        "trace",
        "trace_id",
    )

    def __init__(
        self,
        profile: ProfileTimings,
        sampled: bool,
        attempt: str = "",
        *,
        detailed: bool = False,
        trace_id: str = "",
    ) -> None:
        self._profile = profile
        self.sampled = sampled or detailed
        self.attempt = attempt
        self.detailed = detailed
        self.trace_id = trace_id
        self.trace: list[Step] = []
        self.plugins: list[tuple[str, str, str, float, float]] = []
        self.refusals: Sequence[tuple[str, str, int]] = ()
        self.best: Sequence[tuple[str, int, dict[str, int]]] = ()
        self._now = now = profile.timings.now
        self._point = ""
        self.began = self._began = self._deciding = now()
        self._running: _Run | None = None

    def step(self, point: str, ended: str = SUCCESS) -> None:
        """A point begins; none if `point` is empty. `ended` is the status of the one before."""
        now = self._now()
        if self._point:
            key, seconds = (self._point, ended), now - self._began
            steps = self._profile.steps
            tally = steps.get(key)
            if tally is None:
                tally = steps[key] = self._new(*key)
            tally.counts[bisect_left(tally.bounds, seconds)] += 1
            tally.total += seconds
            self.trace.append((self._point, ended, self._began, seconds))
            if self._running is not None:
                self._settle(self._running, ended, now)
        if not point and self._deciding:
            timings, took = self._profile.timings, now - self._deciding
            timings.algorithm.observe(took)
            self._deciding = 0.0
            if took > timings.slow_seconds:
                timings.note_slow(self)
        self._point = point
        self._began = now

    def each(self, plugins: Iterable[T]) -> Iterable[T]:
        """The plugins about to run at the point that has begun."""
        point = self._point
        if point in COUNTED:
            self._profile.asked[point, tuple(map(_name, plugins))] += 1
        return self._one_by_one(plugins) if self.sampled else plugins

    def verdicts(self, refusals: Sequence[tuple[str, str, int]]) -> None:
        """(plugin, reason, number of nodes) of each refusal."""
        self.refusals = refusals

    def scores(self, best: Sequence[tuple[str, int, dict[str, int]]]) -> None:
        """(node, total score, weighted score by plugin) of the best nodes."""
        self.best = best

    def _one_by_one(self, plugins: Iterable[T]) -> Iterator[T]:
        """Yield plugins; the time until the next one is requested is the plugin's.

        If the caller stops early, the last plugin ended the point: the next step has its status.
        """
        now = self._now
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
        self._profile.timings.plugins.of(run.plugin, self._point, status).observe(seconds)
        if self.detailed:
            self.plugins.append((self._point, run.plugin, status, run.began, seconds))
        self._running = None

    def _new(self, point: str, status: str) -> Tally:
        if point == WAIT_ON_PERMIT:
            return self._profile.timings.permits.of(status)
        return Tally(FINE)


class _Run:
    """The plugin that is running, or ran last."""

    __slots__ = ("began", "ended", "plugin")

    def __init__(self, plugin: str, began: float) -> None:
        self.plugin = plugin
        self.began = began
        self.ended = 0.0


_SCHEDULING_POINTS: Final = frozenset(
    {"PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve", "Permit"}
)
_PREEMPTION: Final = "DefaultPreemption"
_Labelled = tuple[tuple[str, ...], Tally]


def timing_families(timings: Timings) -> Iterator[Family]:
    """All metrics made from timings of attempts."""
    steps = timings.steps()
    bounds = catalogue.POINT_DURATION.buckets
    points = [(labels, tally.coarser(bounds)) for labels, tally in steps]
    asked = by_plugin(timings)
    evaluations = [(key, count) for key, count in asked.items() if key[1] != "PostFilter"]
    preemptions = sum(n for key, n in asked.items() if key[:2] == (_PREEMPTION, "PostFilter"))
    yield histogram(catalogue.POINT_DURATION, points)
    yield histogram(catalogue.DECISION_DURATION, by_step(steps))
    yield histogram(catalogue.ALGORITHM_DURATION, [((), timings.algorithm)])
    yield histogram(catalogue.PERMIT_WAIT, timings.permits.items())
    yield histogram(catalogue.PLUGIN_DURATION, timings.plugins.items())
    yield counter(catalogue.PLUGIN_EVALUATIONS, evaluations)
    yield counter(catalogue.PREEMPTION_ATTEMPTS, unlabelled(preemptions))


def by_step(steps: Iterable[_Labelled]) -> list[_Labelled]:
    """The durations of the steps of deciding, over all statuses."""
    found = Tallies(catalogue.FINE)
    for (point, _, profile), tally in steps:
        if point in _SCHEDULING_POINTS:
            found.of(point, profile).add(tally)
    return list(found.items())


def by_plugin(timings: Timings) -> Counter[tuple[str, str, str]]:
    """How often each plugin was called, by (plugin, point, profile)."""
    found: Counter[tuple[str, str, str]] = Counter()
    for name, profile in timings.profiles.items():
        for (point, plugins), count in profile.asked.items():
            for plugin in plugins:
                found[plugin, point, name] += count
    return found
