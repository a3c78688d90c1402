"""Gives plugins their handles, and guards their clock, before a profile is used."""

from collections.abc import Iterable, Iterator

from moorage.bind.event_recorder import EventRecorder
from moorage.bind.permits import WaitingPods
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.framework.handle import Handle
from moorage.framework.plugin import give_handle, handle_of
from moorage.framework.plugin_metrics import PluginGauge, PluginHistogram, PluginMetrics
from moorage.guard.breaker_events import BreakerListener
from moorage.observe.catalogue import Metric
from moorage.observe.metric_families import Family, Tally, counter, gauge, histogram


class Handles:
    """Connects profiles to one scheduler; `tell` is called when a plugin is switched off or on."""

    def __init__(
        self,
        cache: Cache,
        clock: Clock,
        waiting: WaitingPods,
        recorder: EventRecorder,
        tell: BreakerListener,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._waiting = waiting
        self._recorder = recorder
        self._tell = tell
        self._metrics = PluginMetrics()

    def give(self, profiles: Iterable[Profile]) -> None:
        """Give the plugins of these profiles a handle; those with one for this cache keep it."""
        for profile in profiles:
            profile.guards.attach(self._clock.now, self._clock.sleep, self._tell)
            for name, plugin in profile.plugins.items():
                known = handle_of(plugin)
                if known is None or known.cache is not self._cache:
                    known = self._handle(name, profile)
                    give_handle(plugin, known)
                profile.handles[name] = known

    def _handle(self, name: str, profile: Profile) -> Handle:
        now, shared = self._clock.now, profile.shared
        return Handle(name, self._cache, now, shared, self._waiting, self._recorder, self._metrics)

    def families(self) -> Iterator[Family]:
        """The metrics of plugins."""
        for metric in self._metrics:
            if isinstance(metric, PluginHistogram):
                described = Metric(metric.name, "histogram", metric.help, metric.labels)
                yield histogram(described, _tallies(metric))
            elif isinstance(metric, PluginGauge):
                described = Metric(metric.name, "gauge", metric.help, metric.labels)
                yield gauge(described, metric.values.items())
            else:
                described = Metric(metric.name, "counter", metric.help, metric.labels)
                yield counter(described, metric.values.items())


def _tallies(metric: PluginHistogram) -> Iterator[tuple[tuple[str, ...], Tally]]:
    for labels, counts in metric.counts.items():
        tally = Tally(metric.bounds)
        tally.counts, tally.total = list(counts), metric.values[labels]
        yield labels, tally
