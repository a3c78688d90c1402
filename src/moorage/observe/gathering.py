"""What can be read off a scheduler when somebody looks: nothing is counted for it before."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sized
from operator import length_hint
from typing import Protocol

from prometheus_client.core import Metric as Family

from moorage.cache.cache import Cache
from moorage.framework.guarding import Guarding
from moorage.framework.queued import State
from moorage.observe import catalogue, room
from moorage.observe.families import Values, counter, gauge, one
from moorage.observe.observers import Observers
from moorage.observe.room import Room
from moorage.queue.queue import SchedulingQueue


class Recorder(Protocol):
    """Whoever sends events."""

    @property
    def sent(self) -> int: ...
    @property
    def dropped(self) -> int: ...


class Reflector(Protocol):
    """Whoever follows a resource."""

    @property
    def known(self) -> Sized: ...


class Profile(Protocol):
    """The plugins of a scheduler name."""

    @property
    def guards(self) -> Guarding: ...


class Active(Protocol):
    """Whether attempts are made."""

    def is_set(self) -> bool: ...


class Standing(Protocol):
    """Who is stood in for."""

    def state(self) -> Mapping[str, bool]: ...


class Source(Protocol):
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
    @property
    def standing(self) -> Standing: ...
    def room(self) -> Room: ...


def read(source: Source) -> Iterator[Family]:
    """Everything that is read off a scheduler."""
    queue, cache = source.queue, source.cache
    waiting = [((name,), count) for name, count in queue.pending_counts().items()]
    events = [((event,), count) for event, count in queue.in_flight_events().items()]
    known = [((plural,), len(found.known)) for plural, found in source.reflectors.items()]
    yield gauge(catalogue.PENDING_PODS, waiting)
    yield counter(catalogue.QUEUE_INCOMING, queue.incoming.items())
    yield gauge(catalogue.UNSCHEDULABLE_PODS, refusals(queue).items())
    yield gauge(catalogue.INFLIGHT_EVENTS, events)
    yield gauge(catalogue.CACHE_SIZE, _cache_size(cache))
    yield gauge(catalogue.GOROUTINES, [(("binding",), source.binding)])
    yield gauge(catalogue.NOMINATED_PODS, one(len(cache.nominations)))
    yield counter(catalogue.EVENTS_SENT, one(source.recorder.sent))
    yield counter(catalogue.EVENTS_DROPPED, one(source.recorder.dropped))
    yield gauge(catalogue.ACTIVE, one(source.active.is_set()))
    yield gauge(catalogue.STANDING_IN, [((n,), on) for n, on in source.standing.state().items()])
    yield gauge(catalogue.SYNCED, one(source.synced))
    yield gauge(catalogue.OBSERVERS_OFF, one(len(source.observers.switched_off)))
    yield gauge(catalogue.FOLLOWED, known)
    yield from room.families(source.room())


def refusals(queue: SchedulingQueue) -> Counter[tuple[str, str]]:
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
