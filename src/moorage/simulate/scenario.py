"""A scenario: a cluster, the pods that arrive and when, and what happens to them."""

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
    """A pod that arrives at `time` and runs for `duration` seconds; None means for ever.

    With a `node`, the pod is on that node when it arrives. At `until` it is withdrawn.
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
    """A node, its price per hour, and how it may fail or be reclaimed."""

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
    """The settings of the autoscaler."""

    groups: tuple[NodeGroup, ...]
    every_seconds: float = 10.0
    idle_seconds: float = 600.0


class PodRules(msgspec.Struct, frozen=True):
    """What happens to pods that are stopped.

    An evicted pod stops after `stop_seconds`. With `retry` it is created again `restart_seconds`
    later. Without `checkpoint_seconds` it loses all of its work; with them, the work since its last
    checkpoint.
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
    """Everything a run depends on except configuration and seed; times are seconds from its start.

    `beside` are configurations of other schedulers in the same cluster. A scenario `is_plain` if
    its pods are in no group, all have the same priority, and refer to no other objects.
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
        """The pods that arrive in a run, in order of time."""
        streams = [source.arrivals(seed) for source in self.sources]
        merged = heapq.merge(*streams, key=attrgetter("time"))
        return iter(streams[0]) if len(streams) == 1 else merged


def in_order(arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
    """Arrivals sorted by time; equal times keep their order."""
    return iter(sorted(arrivals, key=attrgetter("time")))
