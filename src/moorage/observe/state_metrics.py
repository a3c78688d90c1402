"""Metrics read from a scheduler's state when scraped: queue, cache, preemption, guards."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from operator import length_hint
from typing import Final, Protocol

import numpy as np

from moorage.cache.cache import Cache
from moorage.framework.plugin_guards import GuardedPlugin, PluginGuards
from moorage.framework.queued_pod import State
from moorage.observe import catalogue
from moorage.observe.metric_families import Family, Values, counter, gauge, unlabelled
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import SchedulingQueue


def guard_families(plugins: Iterable[GuardedPlugin]) -> Iterator[Family]:
    """Every metric about guarded plugins."""
    found = list(plugins)
    names = [(guard, (guard.plugin, guard.profile)) for guard in found]
    hooks = [
        ((guard.plugin, point, guard.profile), hook)
        for guard in found
        for point, hook in guard.hooks.items()
        if hook.calls
    ]
    failures = [
        ((guard.plugin, point, guard.profile, reason), count)
        for guard in found
        for (point, reason), count in guard.failures.items()
    ]
    yield gauge(catalogue.BREAKER_STATE, [(name, guard.state) for guard, name in names])
    yield counter(catalogue.BREAKER_TRIPS, [(name, guard.trips) for guard, name in names])
    yield counter(catalogue.GUARD_LEFT_OUT, [(name, guard.left_out) for guard, name in names])
    yield counter(catalogue.GUARD_FAILURES, failures)
    yield counter(catalogue.GUARD_CALLS, [(labels, hook.calls) for labels, hook in hooks])
    yield counter(catalogue.GUARD_SECONDS, [(labels, hook.seconds) for labels, hook in hooks])


class Recorder(Protocol):
    """The part of an event recorder that metrics read."""

    @property
    def sent(self) -> int: ...
    @property
    def dropped(self) -> int: ...


class Reflector(Protocol):
    """The part of a reflector that metrics read."""

    @property
    def known(self) -> Sized: ...


class Profile(Protocol):
    """The plugins of a scheduler name."""

    @property
    def guards(self) -> PluginGuards: ...


class Active(Protocol):
    """Whether attempts are made."""

    def is_set(self) -> bool: ...


class MetricsSource(Protocol):
    """The part of a scheduler that metrics read."""

    @property
    def queue(self) -> SchedulingQueue: ...
    @property
    def cache(self) -> Cache: ...
    @property
    def binding(self) -> int: ...
    @property
    def synced(self) -> bool: ...
    @property
    def active(self) -> Active: ...
    @property
    def recorder(self) -> Recorder: ...
    @property
    def observers(self) -> Observers: ...
    @property
    def profiles(self) -> Mapping[str, Profile]: ...
    @property
    def reflectors(self) -> Mapping[str, Reflector]: ...
    def families(self) -> Iterable[Family]:
        """The metrics of its features."""
        ...


def scheduler_families(source: MetricsSource) -> Iterator[Family]:
    """All metrics that are read from a scheduler."""
    queue, cache = source.queue, source.cache
    waiting = [((name,), count) for name, count in queue.pending_counts().items()]
    events = [((event,), count) for event, count in queue.in_flight_events().items()]
    known = [((plural,), len(found.known)) for plural, found in source.reflectors.items()]
    yield gauge(catalogue.PENDING_PODS, waiting)
    yield counter(catalogue.QUEUE_INCOMING, queue.incoming.items())
    yield gauge(catalogue.UNSCHEDULABLE_PODS, refusal_counts(queue).items())
    yield gauge(catalogue.INFLIGHT_EVENTS, events)
    yield gauge(catalogue.CACHE_SIZE, _cache_size(cache))
    logs = cache.table.node_log, cache.table.usage_log, cache.table.pod_log
    yield counter(catalogue.LEFT_OUT, unlabelled(sum(log.left_out for log in logs)))
    yield from utilisation_families(cache)
    yield gauge(catalogue.GOROUTINES, [(("binding",), source.binding)])
    yield gauge(catalogue.NOMINATED_PODS, unlabelled(len(cache.nominations)))
    yield counter(catalogue.EVENTS_SENT, unlabelled(source.recorder.sent))
    yield counter(catalogue.EVENTS_DROPPED, unlabelled(source.recorder.dropped))
    yield gauge(catalogue.ACTIVE, unlabelled(source.active.is_set()))
    yield gauge(catalogue.SYNCED, unlabelled(source.synced))
    yield gauge(catalogue.OBSERVERS_OFF, unlabelled(len(source.observers.switched_off)))
    yield gauge(catalogue.FOLLOWED, known)
    yield from source.families()


_STATS: Final = (("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("max", 1.0))
_MILLI: Final = {"cpu": 1000.0}


def utilisation_families(cache: Cache) -> Iterator[Family]:
    """Allocatable and requested amounts by resource, and how evenly nodes are used."""
    table = cache.table
    rows = table.alive[: table.rows]
    allocatable, requested, ratios = [], [], []
    # Names that only pods request have no column yet.
    for index, name in enumerate(table.resources.values[: len(table.allocatable)]):
        offered = table.allocatable[index, : table.rows][rows]
        asked = table.requested[index, : table.rows][rows]
        unit = _MILLI.get(name, 1.0)
        allocatable.append(((name,), float(offered.sum()) / unit))
        requested.append(((name,), float(asked.sum()) / unit))
        having = offered > 0
        if not having.any():
            continue
        share = asked[having] / offered[having]
        ratios += [((name, stat), float(np.quantile(share, at))) for stat, at in _STATS]
        ratios.append(((name, "mean"), float(share.mean())))
    yield gauge(catalogue.CLUSTER_ALLOCATABLE, allocatable)
    yield gauge(catalogue.CLUSTER_REQUESTED, requested)
    yield gauge(catalogue.NODE_UTILISATION, ratios)


def refusal_counts(queue: SchedulingQueue) -> Counter[tuple[str, str]]:
    """How many waiting pods each plugin has refused, by (plugin, profile)."""
    groups = Counter(
        (pod.refused_by, pod.info.pod.spec.scheduler_name)
        for pod in queue
        if pod.state is not State.IN_FLIGHT
    )
    found: Counter[tuple[str, str]] = Counter()
    for (plugins, profile), count in groups.items():
        for plugin in plugins:
            found[plugin, profile] += count
    return found


def _cache_size(cache: Cache) -> Values:
    return [
        (("nodes",), len(cache.table)),
        (("pods",), length_hint(cache.pods())),
        (("assumed_pods",), len(cache.assumed)),
    ]
