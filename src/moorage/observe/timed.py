"""What the timers saw, as Prometheus wants to read it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import Metric as Family

from moorage.observe import catalogue
from moorage.observe.families import counter, one
from moorage.observe.tallies import Tallies, Tally, histogram
from moorage.observe.timing import Timings

_DECIDING: Final = frozenset(
    {"PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve", "Permit"}
)
_PREEMPTION: Final = "DefaultPreemption"
_Labelled = tuple[tuple[str, ...], Tally]


def read(timings: Timings) -> Iterator[Family]:
    """Every metric that comes of timing attempts."""
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
    yield counter(catalogue.PREEMPTION_ATTEMPTS, one(preemptions))


def by_step(steps: Iterable[_Labelled]) -> list[_Labelled]:
    """The steps of deciding, however they came out."""
    found = Tallies(catalogue.FINE)
    for (point, _, profile), tally in steps:
        if point in _DECIDING:
            found.of(point, profile).add(tally)
    return list(found.items())


def by_plugin(timings: Timings) -> Counter[tuple[str, str, str]]:
    """How often each plugin was asked, by (plugin, point, profile)."""
    found: Counter[tuple[str, str, str]] = Counter()
    for name, profile in timings.profiles.items():
        for (point, plugins), count in profile.asked.items():
            for plugin in plugins:
                found[plugin, point, name] += count
    return found
