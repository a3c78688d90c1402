"""A scenario: a cluster, the pods that come to it and when, and what happens to them."""

import heapq
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

import msgspec

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.kpi.settings import KpiSettings
from moorage.simulate.pod_template import PodTemplate
from moorage.simulate.scenario_schema import Failures, Spot


class Arrival(NamedTuple):
    """A pod that comes at a time, to run for so many seconds; None is for ever.

    One that is on a `node` already comes there. At `until` it is not wanted any more.
    """

    time: float
    name: str
    template: PodTemplate
    duration: float | None = None
    group: str = ""
    min_member: int = 0
    node: str = ""
    until: float | None = None


class PricedNode(msgspec.Struct, frozen=True):
    """A node, what it costs per hour, and what may become of it."""

    node: Node
    price_per_hour: float = 0.0
    spot: Spot | None = None
    failures: Failures | None = None


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes that can be started: how many at most, and how long it takes.

    What they are like are `samples`, one for each zone, taken in turn.
    """

    name: str
    samples: tuple[PricedNode, ...]
    most: int
    start_seconds: float


class Scaling(msgspec.Struct, frozen=True):
    """How an autoscaler goes about it."""

    groups: tuple[NodeGroup, ...]
    every_seconds: float = 10.0
    idle_seconds: float = 600.0


class PodRules(msgspec.Struct, frozen=True):
    """What becomes of pods that are stopped.

    A pod that is evicted stops after `stop_seconds` and comes again `restart_seconds` later. It
    has lost its work, or all of it since the last of its checkpoints, `checkpoint_seconds` apart.
    """

    stop_seconds: float = 0.0
    restart_seconds: float = 0.0
    checkpoint_seconds: float | None = None
    retry: bool = True


class ArrivalSource(Protocol):
    """Where pods come from."""

    def arrivals(self, seed: int) -> Iterable[Arrival]:
        """The pods of one run, in order of time."""


class FixedArrivals:
    """Pods that are the same in every run."""

    def __init__(self, arrivals: Iterable[Arrival]) -> None:
        self._arrivals = list(in_order(arrivals))

    def arrivals(self, seed: int) -> Iterable[Arrival]:
        return self._arrivals


class Scenario(msgspec.Struct, frozen=True):
    """Everything a run depends on, beside configuration and seed; times are seconds from its start.

    `beside` are configurations of other schedulers in the same cluster. A scenario `is_plain` where
    pods come alone, all of one priority, and refer to no other objects.
    """

    name: str
    nodes: tuple[PricedNode, ...]
    sources: tuple[ArrivalSource, ...]
    objects: tuple[KubeObject, ...] = ()
    pods: PodRules = PodRules()
    kpis: KpiSettings = KpiSettings()
    scaling: Scaling | None = None
    beside: tuple[Any, ...] = ()
    question: str = ""
    horizon: float | None = None
    is_plain: bool = False

    def arrivals_of(self, seed: int) -> Iterator[Arrival]:
        """The pods that come in a run, in order of time."""
        streams = [source.arrivals(seed) for source in self.sources]
        merged = heapq.merge(*streams, key=attrgetter("time"))
        return iter(streams[0]) if len(streams) == 1 else merged


def in_order(arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
    """Arrivals by time; those of equal times as they are listed."""
    return iter(sorted(arrivals, key=attrgetter("time")))
