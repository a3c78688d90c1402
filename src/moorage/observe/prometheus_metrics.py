"""`Metrics`: the observer that counts and renders all metrics for Prometheus.

    metrics = Metrics()
    scheduler = Scheduler(..., observers=(metrics, ...))
    metrics.follow(scheduler)
    body, content_type = metrics.render(request.headers.get("Accept", ""))

`Metrics` is an observer, and gives every attempt a timer. The scheduler's own state (queues, cache,
events) is read at each scrape. Everything runs on the event loop's thread.
"""

import random
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from platform import python_version
from typing import TYPE_CHECKING, Final

from moorage import KUBE_VERSION, __version__, kernels
from moorage.framework.verdicts import PluginError
from moorage.observe import catalogue, state_metrics, step_timings
from moorage.observe.catalogue import SLI_ATTEMPTS
from moorage.observe.metric_families import Family, Tallies, counter, gauge, histogram, unlabelled
from moorage.observe.metric_filter import Collector, MetricFilter
from moorage.observe.records import Attempt, Bound, Reloaded, Result, RolledBack
from moorage.observe.state_metrics import MetricsSource
from moorage.observe.step_timings import Timer, Timings

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

SAMPLED: Final = 0.1
"""The share of attempts that are timed plugin by plugin."""
ALL: Final = MetricFilter()
NOMINATIONS_KEPT: Final = 10_000
_SLI_LABELS: Final = tuple(str(n) if n < SLI_ATTEMPTS else "15+" for n in range(SLI_ATTEMPTS + 1))


class Metrics:
    """Counts events of a scheduler, and renders all metrics for Prometheus.

    Further collectors can be registered. `lag` may be set to a function that returns the event
    loop's lag.
    """

    def __init__(
        self,
        registry: "CollectorRegistry | None" = None,
        *,
        sampled: float = SAMPLED,
        rng: random.Random | None = None,
        now: Callable[[], float] = time.perf_counter,
        shown: MetricFilter = ALL,
    ) -> None:
        self._given = registry
        self._collectors: list[Collector] = [self]
        self.timings = Timings(now)
        self.lag: Callable[[], float] | None = None
        self._source: MetricsSource | None = None
        self._sampled = sampled
        self._shown = shown
        self._random = (rng or random.Random()).random
        self._latencies = Tallies(catalogue.SCHEDULER_LATENCY.buckets)
        self._feasible = Tallies(catalogue.FEASIBLE_NODES.buckets)
        self._durations = Tallies(catalogue.ATTEMPT_DURATION.buckets)
        self._sli = Tallies(catalogue.SLI_DURATION.buckets)
        self._attempts = Tallies(catalogue.POD_ATTEMPTS.buckets).of()
        self._victims = Tallies(catalogue.PREEMPTION_VICTIMS.buckets).of()
        self._nominations = Tallies(catalogue.NOMINATION_DURATION.buckets).of()
        self._nominated: OrderedDict[str, float] = OrderedDict()
        self._calls = Tallies(catalogue.EXTENDER_CALLS.buckets)
        self._errors: Counter[tuple[str, ...]] = Counter()
        self._plugin_errors: Counter[tuple[str, ...]] = Counter()
        self._flushed = 0
        self._catch_ups = Tallies(catalogue.CATCH_UP_DURATION.buckets)
        self._up_to_date = True
        self._configuration = (0, "")
        self._versions = Tallies(catalogue.VERSION_DURATION.buckets)
        self._refused = False
        self._reloads: Counter[tuple[str, ...]] = Counter()
        self._percents: dict[tuple[str, ...], float] = {}
        self._rollbacks: Counter[tuple[str, ...]] = Counter()

    @cached_property
    def registry(self) -> "CollectorRegistry":
        """The registry that is rendered: its own unless one was given; made on first use."""
        from prometheus_client import CollectorRegistry, ProcessCollector

        made = CollectorRegistry() if self._given is None else self._given
        for collector in self._collectors:
            made.register(collector)
        ProcessCollector(registry=made)
        return made

    def register(self, collector: Collector) -> None:
        """Add another collector's metrics."""
        self._collectors.append(collector)
        if "registry" in vars(self):
            self.registry.register(collector)

    def follow(self, source: MetricsSource) -> None:
        """Read queues, cache and events of this scheduler at each scrape."""
        self._source = source

    def configured(
        self,
        generation: int,
        digest: str = "",
        canaries: Iterable[tuple[str, str, float]] = (),
    ) -> None:
        """Note the configuration in force; `canaries` are (profile, version, percent of pods)."""
        self._configuration = (generation, digest)
        self._percents = {(profile, version): percent for profile, version, percent in canaries}

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Everything as text, in the format asked for, and the name of that format."""
        encode, content_type = _encoder(accept)
        return encode(self._shown.shown(self.registry)), content_type

    def format_of(self, accept: str) -> str:
        """The format that `render` chooses."""
        return _encoder(accept)[1]

    def timer(
        self,
        profile: str,
        pod: str = "",
        attempt: str = "",
        *,
        detailed: bool = False,
        trace_id: str = "",
    ) -> Timer:
        """The timer of an attempt; a `detailed` one keeps verdicts and scores."""
        sampled = self._random() < self._sampled
        return Timer(
            self.timings.of(profile), sampled, attempt, detailed=detailed, trace_id=trace_id
        )

    def attempted(self, attempt: Attempt) -> None:
        if attempt.result is not Result.ERROR:
            self._feasible.of(attempt.profile).observe(attempt.feasible)
        if attempt.result is Result.SCHEDULED:
            return
        self._durations.of(attempt.result.value, attempt.profile).observe(attempt.seconds)
        if attempt.version:
            labels = attempt.result.value, attempt.profile, attempt.version
            self._versions.of(*labels).observe(attempt.seconds)
        if attempt.nominated:
            self._victims.observe(attempt.victims)
            self._remember(attempt.uid, attempt.time)
        if attempt.plugin:
            self._plugin_errors[attempt.plugin, attempt.point] += 1

    def bound(self, bound: Bound) -> None:
        self._durations.of("scheduled", bound.profile).observe(bound.seconds)
        if bound.version:
            self._versions.of("scheduled", bound.profile, bound.version).observe(bound.seconds)
        self._attempts.observe(bound.attempts)
        self._latencies.of(bound.profile).observe(bound.since_added)
        self._sli.of(_SLI_LABELS[min(bound.attempts, SLI_ATTEMPTS)]).observe(bound.since_ready)
        self._flushed += bound.flushed
        if self._nominated and (since := self._nominated.pop(bound.uid, None)) is not None:
            self._nominations.observe(bound.time - since)

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        if isinstance(error, PluginError):
            self._plugin_errors[error.plugin, error.point] += 1
        else:
            self._errors[(pod if pod.startswith("watch/") else type(error).__name__,)] += 1

    def outdated(self, why: str) -> None:
        self._up_to_date = False

    def caught_up(self, why: str, seconds: float) -> None:
        self._up_to_date = True
        self._catch_ups.of(why).observe(seconds)

    def called(self, extender: str, verb: str, result: str, seconds: float) -> None:
        self._calls.of(extender, verb, result).observe(seconds)

    def reloaded(self, reloaded: Reloaded) -> None:
        self._reloads[(reloaded.outcome,)] += 1
        self._refused = reloaded.outcome == "refused"
        self.configured(reloaded.generation, reloaded.digest, reloaded.canaries)

    def rolled_back(self, rolled_back: RolledBack) -> None:
        labels = rolled_back.profile, rolled_back.version
        self._rollbacks[labels] += 1
        self._percents[labels] = 0.0

    def describe(self) -> Iterable[Family]:
        """Nothing: the metrics are made at each scrape."""
        return ()

    def collect(self) -> Iterator[Family]:
        """Everything, for Prometheus."""
        yield from self._counted()
        yield from step_timings.timing_families(self.timings)
        if self._source is not None:
            yield from state_metrics.scheduler_families(self._source)
            profiles = self._source.profiles.values()
            yield from state_metrics.guard_families(
                plugin for profile in profiles for plugin in profile.guards
            )

    def _counted(self) -> Iterator[Family]:
        yield gauge(catalogue.BUILD_INFO, [((__version__, python_version(), KUBE_VERSION), 1)])
        yield histogram(catalogue.SCHEDULER_LATENCY, self._latencies.items())
        yield histogram(catalogue.FEASIBLE_NODES, self._feasible.items())
        durations = list(self._durations.items())
        counts = [(labels, tally.count) for labels, tally in durations]
        yield counter(catalogue.SCHEDULE_ATTEMPTS, counts)
        yield histogram(catalogue.ATTEMPT_DURATION, durations)
        yield histogram(catalogue.SLI_DURATION, self._sli.items())
        yield histogram(catalogue.POD_ATTEMPTS, [((), self._attempts)])
        yield histogram(catalogue.PREEMPTION_VICTIMS, [((), self._victims)])
        yield histogram(catalogue.NOMINATION_DURATION, [((), self._nominations)])
        yield counter(catalogue.AFTER_FLUSH, unlabelled(self._flushed))
        yield counter(catalogue.PLUGIN_ERRORS, self._plugin_errors.items())
        refusals = [((name,), kernels.refusals[name]) for name in kernels.NAMES]
        yield counter(catalogue.KERNEL_REFUSALS, refusals)
        yield counter(catalogue.ERRORS, self._errors.items())
        yield histogram(catalogue.EXTENDER_CALLS, self._calls.items())
        yield gauge(catalogue.UP_TO_DATE, unlabelled(self._up_to_date))
        yield histogram(catalogue.CATCH_UP_DURATION, self._catch_ups.items())
        generation, digest = self._configuration
        yield gauge(catalogue.GENERATION, unlabelled(generation))
        if digest:
            yield gauge(catalogue.CONFIGURATION_INFO, [((digest,), 1)])
        yield gauge(catalogue.CONFIG_REFUSED, unlabelled(self._refused))
        yield counter(catalogue.CONFIG_RELOADS, self._reloads.items())
        versions = list(self._versions.items())
        attempts = [(labels, tally.count) for labels, tally in versions]
        yield counter(catalogue.VERSION_ATTEMPTS, attempts)
        yield histogram(catalogue.VERSION_DURATION, versions)
        yield gauge(catalogue.CANARY_PERCENT, self._percents.items())
        yield counter(catalogue.CANARY_ROLLBACKS, self._rollbacks.items())
        if self.lag is not None:
            yield gauge(catalogue.LOOP_LAG, unlabelled(self.lag()))

    def _remember(self, uid: str, since: float) -> None:
        self._nominated.setdefault(uid, since)
        if len(self._nominated) > NOMINATIONS_KEPT:
            self._nominated.popitem(last=False)


def _encoder(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    """The format that an Accept header asks for: its encoder, and its name."""
    from prometheus_client.exposition import choose_encoder  # only a server needs it

    encode, content_type = choose_encoder(accept)
    return encode, content_type
