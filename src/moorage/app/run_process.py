"""The process of `moorage run`: connect, lead, schedule, reload, stop in good order.

1. Connect; follow every resource. A standby does that too, so that it can take over at once.
2. Acquire the lease, where there is one to acquire; then schedule.
3. On SIGTERM or SIGINT: attempt no more pods, finish what is being bound, send the events, release
   the lease, end with 0. A second signal ends at once.
4. When the lease is lost: write nothing more, end with 1; the replica that leads now goes on.
5. On SIGUSR2: say what is believed, and how it differs from what the API server holds.
6. On SIGHUP, and when what was read changes: read the configuration again (`moorage.reload`).
"""

import asyncio
import logging
import random
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from moorage import garbage
from moorage.app import profile_builder
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_sources import ConfigSources
from moorage.app.reloader import Reloader
from moorage.app.run_extenders import RunExtenders
from moorage.bind.event_recorder import lease_reference
from moorage.clock import SystemClock
from moorage.framework.plugin import Plugin
from moorage.kube import leader_election
from moorage.kube.fence import LeaseFence, LeaseLost
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import SelectedContext
from moorage.kube.leader_election import LeaderElector, LeaseTimes
from moorage.observe.logs import say
from moorage.scheduler import reconfigure
from moorage.scheduler.cache_debugger import compare, dump
from moorage.scheduler.scheduler import Scheduler
from moorage.serve.configz import ActiveConfiguration
from moorage.watch.api_errors import ApiError

SYNC_LOOK_SECONDS: Final = 0.1
DRAIN_SECONDS: Final = 15.0
SETTLE_SECONDS: Final = 2.0
STOPPED, FAILED = 0, 1

Service = Callable[["RunProcess"], Awaitable[None]]
"""What runs beside the scheduler for as long as the process does: a metrics server, say."""


class RunProcess:
    """Everything one `moorage run` holds."""

    def __init__(
        self,
        found: ConfigBundle,
        known: Mapping[str, type[Plugin]],
        selected: SelectedContext,
        *,
        sources: ConfigSources | None = None,
        interval: float = 0.0,
        observers: Iterable[Any] = (),
        services: Iterable[Service] = (),
        seed: int | None = None,
        request_seconds: float = 30.0,
    ) -> None:
        configuration = found.configuration
        pace = configuration.client_connection
        rng = random.Random(seed)
        digest = found.digest(() if sources is None else sources.plugins.digests)
        self.in_force = ActiveConfiguration(configuration, digest=digest)
        self.clock = SystemClock()
        self.identity = leader_election.identity()
        election = configuration.leader_election
        self._fence = LeaseFence(election.lease_duration.seconds)
        self.server = KubeApiServer(
            selected,
            qps=pace.qps,
            burst=pace.burst,
            request_seconds=request_seconds,
            fence=self._fence if election.leader_elect else None,
        )
        self._extenders = RunExtenders(configuration, self.clock)
        version = profile_builder.build_version(found, known, self.in_force.generation, digest)
        self.scheduler = Scheduler(
            self.server,
            version.profiles,
            clock=self.clock,
            rng=rng,
            observers=observers,
            backoff=(version.backoff.initial, version.backoff.maximum),
            instance=self.identity,
        )
        self._extenders.hears = self.scheduler.observers
        started = version._replace(extending=self._extenders.in_use)
        reconfigure.install(self.scheduler, started)
        self.elector = self._elector(rng) if election.leader_elect else None
        self.scheduler.standing.told, self.scheduler.standing.now = say, time.monotonic
        self.reloader = None if sources is None else self._reloader(sources, interval, rng)
        self._services = tuple(services)
        self._stop = asyncio.Event()
        self._telling: asyncio.Future[None] | None = None

    @property
    def stopping(self) -> bool:
        """Whether the end has begun."""
        return self._stop.is_set()

    async def run(self) -> int:
        """Schedule until told to stop; the answer is the exit code."""
        self._listen()
        try:
            return await self._until_stopped()
        except LeaseLost as error:
            say(logging.ERROR, str(error), identity=self.identity)
            return FAILED
        finally:
            await self.server.close()
            await self._extenders.close()

    def stop(self) -> None:
        """End in good order; asked twice, end at once."""
        if self._stop.is_set():
            say(logging.WARNING, "stopping at once")
            raise SystemExit(FAILED)
        self._stop.set()

    def tell(self) -> None:
        """Say what is believed and how it differs from what the API server holds."""
        self._telling = asyncio.ensure_future(self._tell())

    async def differences(self) -> list[str]:
        """How cache and queue differ from the API server, now and a moment later."""
        scheduler = self.scheduler
        beside = (self.server, scheduler.queue, scheduler.profiles)
        first = set(await compare(scheduler.cache, *beside))
        if not first:
            return []
        await self.clock.sleep(SETTLE_SECONDS)
        return [line for line in await compare(scheduler.cache, *beside) if line in first]

    async def _until_stopped(self) -> int:
        tasks: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(service(self)) for service in self._services
        ]
        tasks.append(asyncio.ensure_future(self._work()))
        if self.reloader is not None:
            tasks.append(asyncio.ensure_future(self.reloader.run()))
        calm = asyncio.ensure_future(self._calm_down())
        stop: asyncio.Future[Any] = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({*tasks, stop}, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
            await self._drain()
            return STOPPED
        finally:
            await _cancelled(*tasks, calm, stop)

    async def _work(self) -> None:
        """Follow, acquire, schedule; ends only with an error."""
        scheduler, elector = self.scheduler, self.elector
        if elector is None:
            await scheduler.run()
            return
        scheduler.active.clear()
        scheduler.leads = lambda: elector.seconds_left > 0
        if self.in_force.configuration.delay_cache_until_active:
            await elector.acquire()
        running = asyncio.ensure_future(scheduler.run())
        holding = asyncio.ensure_future(self._hold(elector))
        try:
            await asyncio.wait({running, holding}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = await _cancelled(running, holding)
        for error in ended:
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                raise error

    async def _calm_down(self) -> None:
        """Once everything has been listed, most of what there is will stay."""
        while not self.scheduler.synced:
            await self.clock.sleep(SYNC_LOOK_SECONDS)
        garbage.freeze()

    async def _hold(self, elector: LeaderElector) -> None:
        if not elector.leading:
            lease = f"{elector.terms.namespace}/{elector.terms.name}"
            say(logging.INFO, "waiting to lead", lease=lease, identity=self.identity)
            await elector.acquire()
        self.scheduler.active.set()
        await elector.hold()

    async def _drain(self) -> None:
        """Finish what was begun, for a while, and let go."""
        scheduler = self.scheduler
        say(logging.INFO, "stopping", binding=scheduler.binding)
        scheduler.active.clear()
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await scheduler.settled()
                await scheduler.recorder.sent_all()
        except TimeoutError:
            say(logging.WARNING, "not everything could be finished", binding=scheduler.binding)
        if self.elector is not None:
            await self.elector.release()

    def _elector(self, rng: random.Random) -> LeaderElector:
        election = self.in_force.configuration.leader_election
        terms = LeaseTimes(
            name=election.resource_name,
            namespace=election.resource_namespace,
            lease_duration=election.lease_duration.seconds,
            renew_deadline=election.renew_deadline.seconds,
            retry_period=election.retry_period.seconds,
        )
        return LeaderElector(
            self.server,
            terms,
            self.identity,
            self._fence,
            clock=self.clock,
            rng=rng,
            monotonic=time.monotonic,
            told=self._told,
        )

    def _reloader(self, sources: ConfigSources, interval: float, rng: random.Random) -> Reloader:
        election = self.in_force.configuration.leader_election
        return Reloader(
            sources,
            self.scheduler,
            self.in_force,
            lease=lease_reference(election.resource_namespace, election.resource_name),
            interval=interval,
            rng=rng,
            extending=self._extenders.changed,
        )

    def again(self) -> None:
        """Read the configuration again."""
        if self.reloader is not None:
            say(logging.INFO, "reading the configuration again")
            self.reloader.again()

    def _told(self, sentence: str) -> None:
        """The election has something to say; who leads, and no longer leads, is an event, too."""
        say(logging.INFO, sentence)
        if self.elector is not None and sentence.startswith(self.identity):
            terms = self.elector.terms
            lease = lease_reference(terms.namespace, terms.name)
            controller = next(iter(self.scheduler.profiles))
            why = "LeaderElection"
            self.scheduler.recorder.record(controller, lease, "Normal", why, why, sentence)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGUSR2, self.tell)
        loop.add_signal_handler(signal.SIGHUP, self.again)

    async def _tell(self) -> None:
        for line in dump(self.scheduler.cache, self.scheduler.queue):
            say(logging.INFO, line)
        try:
            for line in await self.differences():
                say(logging.WARNING, f"cache mismatch: {line}")
        except ApiError as error:
            say(logging.WARNING, "the cache could not be compared", err=str(error))
        else:
            say(logging.INFO, "cache compared")


async def _cancelled(*tasks: "asyncio.Future[Any]") -> list[Any]:
    """Cancel some tasks; how each of them ended."""
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)
