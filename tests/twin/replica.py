"""One `moorage run` without its sockets: election, freshness, scheduler; begun again at its end."""

import asyncio
import functools
import random
from collections.abc import Callable

from moorage.app.assembly import assemble
from moorage.app.built_in_plugins import built_in, describe_plugins
from moorage.app.leadership import Leadership
from moorage.app.profile_builder import build_profiles
from moorage.batching.quick_decisions import QuickDecisions
from moorage.clock import VirtualClock
from moorage.config.loader import load
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.config.types import SchedulerConfiguration
from moorage.kube.fence import LeaseFence, LeaseLost
from moorage.kube.leader_election import LeaderElector, LeaseTimes
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.bursts import short_bursts
from moorage.scheduler.intake import FOLLOWED
from moorage.scheduler.scheduler import Scheduler
from moorage.scheduler.tasks import cancelled, until_first
from moorage.watch.freshness import Behind, Freshness
from tests.twin.faulty_server import FaultyServer
from tests.twin.weather import Disk, Weather

TERMS = LeaseTimes(lease_duration=6.0, renew_deadline=4.0, retry_period=1.0)
RESTART_SECONDS = 0.5
TIMER_SECONDS = 1e-6
"""No timer is finer. A clock that was set is off by a rounding, and time must go on."""
PARTIAL_SECONDS = 4.0
OUTAGE_SECONDS = 10.0
JUMP_SECONDS = 3.0
CLOCK_STEPS = (-30.0, -2.0, 2.0, 30.0)
PLUGINS = built_in()
USED = tuple(
    resource
    for resource in FOLLOWED
    if resource.plural in ("pods", "nodes", "namespaces", "poddisruptionbudgets")
)
"""What the stories have objects of."""
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}},
            "pluginConfig": [{"name": "GangScheduling", "args": {"incompleteAfterSeconds": 2}}],
        }
    ],
}


@functools.cache
def configuration() -> SchedulerConfiguration:
    return load(CONFIG, known=describe_plugins(PLUGINS)).configuration


class ReplicaClock:
    """The shared time as one replica's machine tells it: its clock may have been set.

    Whoever sleeps by it does not wake while the replica stands still.
    """

    def __init__(self, clock: VirtualClock, weather: Weather, error: Callable[[], float]) -> None:
        self._clock = clock
        self._weather = weather
        self._error = error

    def now(self) -> float:
        return self._clock.now() + self._error()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(max(seconds, TIMER_SECONDS) if seconds > 0 else 0.0)
        await self._weather.pass_by("freeze")


class Replica:
    """A process that is begun again whenever it ends, as a Deployment would."""

    def __init__(
        self, name: str, cluster: MemoryCluster, clock: VirtualClock, disk: Disk, seed: int
    ) -> None:
        self._name = name
        self._cluster = cluster
        self._clock = clock
        self._rng = random.Random(seed)
        self.weather = Weather(clock, seed + 1, disk)
        self._skew = 0.0
        """By how much the replica's steady clock has jumped."""
        self._error = 0.0
        """By how much its wall clock is wrong."""
        self.scheduler: Scheduler | None = None
        self.lives = 0
        self.failures: list[str] = []
        self._life: asyncio.Future[None] | None = None

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        """An observer: what went wrong that is no API server's fault is a finding."""
        text = f"{type(error).__name__}: {error}"
        if "internal error" in text:
            self.failures.append(f"{self._name}: {pod}: {text}")

    def kill(self, _: int = 0) -> None:
        """End the process, wherever it is."""
        self.weather.struck["kill"] += 1
        if self._life is not None:
            self._life.cancel()

    def lose(self) -> None:
        """The machine fails, and its process begins again when another may have taken over."""
        self.weather.begin("cut", OUTAGE_SECONDS)
        self.kill()

    @property
    def leads(self) -> bool:
        return self.scheduler is not None and self.scheduler.active.is_set()

    def tear(self, _: int) -> None:
        self.weather.tears += 1

    def expire(self, _: int) -> None:
        self.weather.expirations += 1

    def partial(self, _: int) -> None:
        """It starts together with the API server, whose roles and custom resources come late."""
        self.weather.begin("partial", PARTIAL_SECONDS)
        self.kill()

    def jump(self, _: int) -> None:
        """The machine slept: its steady clock went on."""
        self.weather.struck["jump"] += 1
        self._skew += JUMP_SECONDS

    def clock(self, target: int) -> None:
        """Somebody sets the machine's clock."""
        self.weather.struck["clock"] += 1
        self._error = CLOCK_STEPS[target // 2 % len(CLOCK_STEPS)]

    async def run(self) -> None:
        while True:
            self._life = asyncio.ensure_future(self._live())
            try:
                await self._life
            except (LeaseLost, Behind):
                pass
            except asyncio.CancelledError:
                if self._life.cancelled() and not self._is_over():
                    pass
                else:
                    await cancelled(self._life)
                    raise
            await self._clock.sleep(RESTART_SECONDS)

    def _is_over(self) -> bool:
        current = asyncio.current_task()
        return current is not None and current.cancelling() > 0

    async def _live(self) -> None:
        self.lives += 1
        clock = ReplicaClock(self._clock, self.weather, lambda: self._error)
        fence = LeaseFence(TERMS.lease_duration, now=lambda: self._clock.now() + self._skew)
        server = FaultyServer(self._cluster, clock, self.weather, fence, self.failures)
        leadership: list[Leadership] = []

        def may_attempt() -> bool:
            return bool(leadership) and leadership[0].may_attempt()

        scheduler = self.scheduler = assemble(
            server,
            build_profiles(configuration(), PLUGINS, NO_LIMITS),
            clock=clock,
            rng=self._rng,
            observers=(self,),
            leads=may_attempt,
            followed=USED,
            monotonic=fence.now,
            sparing=True,
            bursts=short_bursts(fence.now),
            tap=QuickDecisions(clock.now, tells_parts=True),
        )
        freshness = Freshness(
            server,
            scheduler.reflectors.values,
            clock,
            scheduler.observers,
            optional=lambda: scheduler.optional_reflectors,
            now=fence.now,
        )
        identity = f"{self._name}-{self.lives}"
        elector = LeaderElector(server, TERMS, identity, fence, clock=clock, rng=self._rng)
        leadership.append(Leadership(elector, freshness, scheduler.active))
        scheduler.active.clear()
        await until_first(scheduler.run(), leadership[0].run())
