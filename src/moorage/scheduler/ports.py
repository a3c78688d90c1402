"""Ports: what the scheduler offers its features, and what features offer each other.

`Ports` is made once, by the scheduler, for the code that composes features. That code passes each
feature, as constructor arguments, only the ports that the feature uses.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.bind.event_recorder import EventRecorder
from moorage.bind.permits import PodsInPreBind, WaitingPods
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.feature import Features
from moorage.scheduler.intake import Believe, KnownObjects
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.reconfigure import Reconfiguration
from moorage.scheduler.report import Reporter
from moorage.scheduler.status_writer import StatusWriter
from moorage.scheduler.tasks import Bindings, Later, Start, Wake
from moorage.watch.api_server import ApiServer


class Ports(NamedTuple):
    """What a feature may be passed."""

    cache: Cache
    queue: SchedulingQueue
    clock: Clock
    server: ApiServer
    profiles: Profiles
    observers: Observers
    recorder: EventRecorder
    reporter: Reporter
    statuses: StatusWriter
    cycles: Cycles
    outcome: Outcome
    known: KnownObjects
    believe: Believe
    bindings: Bindings
    waiting: WaitingPods
    preparing: PodsInPreBind
    reconfiguration: Reconfiguration
    features: Features
    """All features, to call their hooks."""
    start: Start
    wake: Wake
    later: Later
    is_active: Callable[[], bool]
    """Whether this replica makes attempts; False for a standby."""


class Evictions(Protocol):
    """Preemption, as another feature may use it."""

    def preempts(self, profile: Profile) -> bool:
        """Whether a profile makes room for pods by evicting others."""
        ...

    def promise(self, cycle: Cycle, profile: Profile, node: str) -> None:
        """Nominate the cycle's pod to a node, until the pod is there or that takes too long."""
        ...

    def not_leaving(self, victims: Iterable[Pod]) -> list[Pod]:
        """The victims whose eviction has not begun."""
        ...

    def begin(self, preemptor: Pod, victims: Sequence[Pod], profile: Profile) -> None:
        """Record that these pods are about to be evicted, wherever that counts."""
        ...

    def resume(self, victims: Sequence[Pod]) -> None:
        """Record the same of pods whose eviction began earlier and has not ended."""
        ...

    async def evict(
        self, preemptor: KubeObject, what: str, victims: Sequence[Pod], profile: Profile
    ) -> bool:
        """Evict pods for an object other than a pod; False if one stays: then all count again."""
        ...


class NoEvictions:
    """`Evictions` of a scheduler without preemption."""

    def preempts(self, profile: Profile) -> bool:
        return False

    def promise(self, cycle: Cycle, profile: Profile, node: str) -> None:
        raise NotImplementedError

    def not_leaving(self, victims: Iterable[Pod]) -> list[Pod]:
        raise NotImplementedError

    def begin(self, preemptor: Pod, victims: Sequence[Pod], profile: Profile) -> None:
        raise NotImplementedError

    def resume(self, victims: Sequence[Pod]) -> None:
        raise NotImplementedError

    async def evict(
        self, preemptor: KubeObject, what: str, victims: Sequence[Pod], profile: Profile
    ) -> bool:
        raise NotImplementedError
