"""One `moorage run` without its sockets: election, freshness, scheduler; begun again at its end."""

import asyncio
import random
from collections.abc import Callable

from moorage.app.assembly import assemble
from moorage.app.built_in_plugins import built_in, describe_plugins
from moorage.app.leadership import Leadership
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock
from moorage.config.loader import default_configuration
from moorage.config.moorage_configuration import NO_LIMITS
from moorage.kube.fence import LeaseFence, LeaseLost
from moorage.kube.leader_election import LeaderElector, LeaseTimes
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.scheduler import Scheduler
from moorage.scheduler.tasks import cancelled, until_first
from moorage.watch.freshness import Behind, Freshness
from tests.twin.faulty_server import FaultyServer, Weather

TERMS = LeaseTimes(lease_duration=6.0, renew_deadline=4.0, retry_period=1.0)
RESTART_SECONDS = 0.5
PLUGINS = built_in()


class FrozenClock:
    """The shared time, but whoever sleeps by it does not wake while the replica stands still."""

    def __init__(self, clock: VirtualClock, weather: Weather) -> None:
        self._clock = clock
        self._weather = weather

    def now(self) -> float:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await self._weather.thaw()


class Replica:
    """A process that is begun again whenever it ends, as a Deployment would."""

    def __init__(self, name: str, cluster: MemoryCluster, clock: VirtualClock, seed: int) -> None:
        self._name = name
        self._cluster = cluster
        self._clock = clock
        self._rng = random.Random(seed)
        self.weather = Weather(clock, random.Random(seed + 1))
        self.skew = 0.0
        """By how much the replica's steady clock has jumped."""
        self.scheduler: Scheduler | None = None
        self.lives = 0
        self.failures: list[str] = []
        self._life: asyncio.Future[None] | None = None
        self.leads: Callable[[], bool] = lambda: False

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        """An observer: what went wrong that is no API server's fault is a finding."""
        text = f"{type(error).__name__}: {error}"
        if "internal error" in text:
            self.failures.append(f"{self._name}: {pod}: {text}")

    def kill(self) -> None:
        """End the process, wherever it is."""
        if self._life is not None:
            self._life.cancel()

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
        clock = FrozenClock(self._clock, self.weather)
        fence = LeaseFence(TERMS.lease_duration, now=lambda: self._clock.now() + self.skew)
        server = FaultyServer(self._cluster, clock, self.weather, fence)
        leadership: list[Leadership] = []

        def may_attempt() -> bool:
            return bool(leadership) and leadership[0].may_attempt()

        scheduler = self.scheduler = assemble(
            server,
            build_profiles(default_configuration(describe_plugins(PLUGINS)), PLUGINS, NO_LIMITS),
            clock=clock,
            rng=self._rng,
            observers=(self,),
            leads=may_attempt,
        )
        freshness = Freshness(
            server, scheduler.reflectors.values, clock, scheduler.observers, now=fence.now
        )
        identity = f"{self._name}-{self.lives}"
        elector = LeaderElector(server, TERMS, identity, fence, clock=clock, rng=self._rng)
        leadership.append(Leadership(elector, freshness, scheduler.active))
        self.leads = lambda: elector.leading
        scheduler.active.clear()
        await until_first(scheduler.run(), leadership[0].run())
