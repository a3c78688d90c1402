"""A scenario: a cluster, the pods that come to it and when, and what happens to them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.kpi.settings import KpiSettings
from moorage.simulate.pod_template import PodTemplate


class Arrival(NamedTuple):
    """A pod that comes at a time, to run for so many seconds; None is for ever."""

    time: float
    name: str
    template: PodTemplate
    duration: float | None = None
    group: str = ""
    min_member: int = 0


class PricedNode(msgspec.Struct, frozen=True):
    """A node and what it costs per hour."""

    node: Node
    price_per_hour: float = 0.0


class PodRules(msgspec.Struct, frozen=True):
    """What becomes of pods that are stopped.

    A pod that is evicted stops after `stop_seconds` and comes again `restart_seconds` later. It
    has lost its work, or all of it since the last of its checkpoints, `checkpoint_seconds` apart.
    """

    stop_seconds: float = 0.0
    restart_seconds: float = 0.0
    checkpoint_seconds: float | None = None
    retry: bool = True


class Scenario(msgspec.Struct, frozen=True):
    """Everything a run depends on, beside configuration and seed; times are seconds from its start.

    `arrivals` are known beforehand, in order of time.
    """

    name: str
    nodes: tuple[PricedNode, ...]
    arrivals: tuple[Arrival, ...] = ()
    objects: tuple[KubeObject, ...] = ()
    pods: PodRules = PodRules()
    kpis: KpiSettings = KpiSettings()

    def arrivals_of(self, seed: int) -> Iterator[Arrival]:
        """The pods that come in a run, in order of time."""
        return iter(self.arrivals)


def in_order(arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
    """Arrivals by time; those of equal times as they are listed."""
    return iter(sorted(arrivals, key=lambda arrival: arrival.time))
