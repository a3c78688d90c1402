"""What a dashboard reads: small sources, each of which may be empty."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.dashboard.compare_view import CompareSource
from moorage.dashboard.health_view import HealthSource
from moorage.dashboard.node_measures import NO_MEASURES, NodeMeasures
from moorage.dashboard.pod_verdicts import PodVerdicts
from moorage.dashboard.slices import Later, at_once
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.step_timings import Timings
from moorage.queue.scheduling_queue import SchedulingQueue

KnownPod = Callable[[str], Pod | None]
"""The pod with the key `namespace/name`, or None."""


class About(msgspec.Struct, frozen=True):
    """Which process this is, and which questions it answers; `live`: whether time passes."""

    mode: str
    version: str
    instance: str = ""
    profiles: tuple[str, ...] = ()
    generation: int = 0
    now: float = 0.0
    live: bool = True
    leader: bool = True
    can: dict[str, bool] = {}


class WaitingOnPermit(Protocol):
    """Pods that wait on Permit, by uid."""

    def __contains__(self, uid: object, /) -> bool: ...
    def __len__(self) -> int: ...


def _nothing() -> list[dict[str, Any]]:
    return []


def _unknown(key: str) -> Pod | None:
    return None


class ClusterSource(NamedTuple):
    """The cluster as the cache has it; `later` runs readers of the cache between attempts.

    `pod` finds a pod by its key. `verdicts` is set if filters may be run. `measured` has usage and
    prices of nodes.
    """

    cache: Cache
    later: Later = at_once
    pod: KnownPod = _unknown
    verdicts: PodVerdicts | None = None
    measured: NodeMeasures = NO_MEASURES


class QueueSource(NamedTuple):
    """The queue; `gangs` and `tenants` return rows of groups and of quotas, if there are any."""

    queue: SchedulingQueue
    waiting: WaitingOnPermit = frozenset()
    gangs: Callable[[], list[dict[str, Any]]] = _nothing
    tenants: Callable[[], list[dict[str, Any]]] = _nothing


Explain = Callable[[str], Awaitable[Any]]
"""Explains the pod `namespace/name`; LookupError if there is none, ValueError if it cannot."""


class Sources(NamedTuple):
    """All sources of one dashboard."""

    about: Callable[[], About]
    now: Callable[[], float]
    cluster: ClusterSource
    queue: QueueSource
    records: DecisionRecords
    explain: Explain | None = None
    compare: CompareSource = CompareSource()
    health: HealthSource = HealthSource()
    timings: Timings | None = None
    """Timings of steps and plugins, if they are measured."""
