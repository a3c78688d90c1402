"""One scheduler process, from connecting to letting go of the lease.

1. Connect; follow every resource. A standby does that too, so that it can take over at once.
2. Acquire the lease, where there is one to acquire; then schedule.
3. On SIGTERM or SIGINT: attempt no more pods, finish what is being bound, send the events, release
   the lease, end with 0. A second signal ends at once.
4. When the lease is lost: write nothing more, end with 1; the replica that leads now goes on.
5. On SIGUSR2: say what is believed, and how it differs from what the API server holds.
"""

import asyncio
import logging
import random
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from moorage.bind.recorder import about_lease
from moorage.cli.run_log import say
from moorage.clock import SystemClock
from moorage.config.types import SchedulerConfiguration
from moorage.framework.plugin import Plugin
from moorage.kube import leases
from moorage.kube.kubeconfig import Selected
from moorage.kube.leases import Elector, LeaseLost, Terms
from moorage.kube.server import KubeApiServer
from moorage.scheduler import Scheduler
from moorage.scheduler.comparing import compare
from moorage.scheduler.dumping import dump
from moorage.scheduler.scheduler import FOLLOWED
from moorage.simulate.running import build_profiles
from moorage.watch.errors import ApiError
from moorage.watch.resources import RESOURCES, Resource

CUSTOM: Final = (RESOURCES["podgroups"], RESOURCES["elasticquotas"])
"""Resources that are followed where the cluster has them."""
DRAIN_SECONDS: Final = 15.0
SETTLE_SECONDS: Final = 2.0
STOPPED, FAILED = 0, 1

Service = Callable[["Process"], Awaitable[None]]
"""What runs beside the scheduler for as long as the process does: a metrics server, say."""


class Process:
    """Everything one `moorage run` holds; services and observers look at its parts."""

    def __init__(
        self,
        configuration: SchedulerConfiguration,
        known: Mapping[str, type[Plugin]],
        selected: Selected,
        *,
        observers: Iterable[Any] = (),
        services: Iterable[Service] = (),
        seed: int | None = None,
        request_seconds: float = 30.0,
    ) -> None:
        connection, backoff = configuration.client_connection, configuration
        self.configuration = configuration
        self.clock = SystemClock()
        self.rng = random.Random(seed)
        self.identity = leases.identity()
        self.server = KubeApiServer(
            selected, qps=connection.qps, burst=connection.burst, request_seconds=request_seconds
        )
        self.profiles = build_profiles(configuration, known)
        self.observers = tuple(observers)
        self.services = tuple(services)
        self.backoff = (
            float(backoff.pod_initial_backoff_seconds),
            float(backoff.pod_max_backoff_seconds),
        )
        self.scheduler: Scheduler | None = None
        self.elector = self._elector()
        self._stop = asyncio.Event()

    @property
    def leading(self) -> bool:
        """Whether this process is the one that schedules."""
        return self.elector is None or self.elector.leading

    @property
    def ready(self) -> bool:
        """Whether every resource has been listed."""
        return self.scheduler is not None and self.scheduler.synced

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

    async def _until_stopped(self) -> int:
        tasks: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(service(self)) for service in self.services
        ]
        tasks.append(asyncio.ensure_future(self._work()))
        stop: asyncio.Future[Any] = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({*tasks, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not self._stop.is_set():
                for task in tasks:
                    if task.done():
                        task.result()
                return FAILED
            await self._drain()
            return STOPPED
        finally:
            await _cancelled(*tasks, stop)

    async def _work(self) -> None:
        """Follow, acquire, schedule; ends only with an error."""
        self.scheduler = scheduler = Scheduler(
            self.server,
            self.profiles,
            clock=self.clock,
            rng=self.rng,
            observers=self.observers,
            backoff=self.backoff,
            followed=await self._followed(),
            instance=self.identity,
        )
        if self.elector is None:
            await scheduler.run()
            return
        scheduler.active.clear()
        self.server.fence = self.elector.check
        if self.configuration.delay_cache_until_active:
            await self.elector.acquire()
        running = asyncio.ensure_future(scheduler.run())
        holding = asyncio.ensure_future(self._hold(self.elector, scheduler))
        try:
            await asyncio.wait({running, holding}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = await _cancelled(running, holding)
        for error in ended:
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                raise error

    async def _hold(self, elector: Elector, scheduler: Scheduler) -> None:
        if not elector.leading:
            say(logging.INFO, "waiting to lead", lease=_lease_key(elector.terms))
            await elector.acquire()
        scheduler.active.set()
        await elector.hold()

    async def _drain(self) -> None:
        """Finish what was begun, for a while, and let go."""
        scheduler = self.scheduler
        if scheduler is None:
            return
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

    async def _followed(self) -> list[Resource]:
        followed = list(FOLLOWED)
        for resource in CUSTOM:
            if resource not in followed and await self._serves(resource):
                followed.append(resource)
        return followed

    async def _serves(self, resource: Resource) -> bool:
        while True:
            try:
                return await self.server.serves(resource)
            except ApiError as error:
                say(logging.WARNING, "the API server cannot be asked", error=str(error))
                await self.clock.sleep(SETTLE_SECONDS)

    def _elector(self) -> Elector | None:
        election = self.configuration.leader_election
        if not election.leader_elect:
            return None
        terms = Terms(
            name=election.resource_name,
            namespace=election.resource_namespace,
            lease_duration=election.lease_duration.seconds,
            renew_deadline=election.renew_deadline.seconds,
            retry_period=election.retry_period.seconds,
        )
        return Elector(
            self.server,
            terms,
            self.identity,
            clock=self.clock,
            rng=self.rng,
            monotonic=time.monotonic,
            told=self._told,
        )

    def _told(self, sentence: str) -> None:
        """The election has something to say; who leads is an event, too."""
        say(logging.INFO, sentence)
        if self.scheduler is not None and self.elector is not None and "lead" in sentence:
            terms = self.elector.terms
            controller = next(iter(self.profiles))
            lease = about_lease(terms.namespace, terms.name)
            self.scheduler.recorder.record(
                controller, lease, "Normal", "LeaderElection", "LeaderElection", sentence
            )

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGUSR2, self.tell)

    def stop(self) -> None:
        """End in good order; asked twice, end at once."""
        if self._stop.is_set():
            say(logging.WARNING, "stopping at once")
            raise SystemExit(FAILED)
        self._stop.set()

    def tell(self) -> None:
        """Say what is believed and how it differs from what the API server holds."""
        self._telling = asyncio.ensure_future(self._tell())

    async def _tell(self) -> None:
        scheduler = self.scheduler
        if scheduler is None:
            return
        for line in dump(scheduler.cache, scheduler.queue):
            say(logging.INFO, line)
        try:
            for line in await self.differences(scheduler):
                say(logging.WARNING, f"cache mismatch: {line}")
        except ApiError as error:
            say(logging.WARNING, "the cache could not be compared", error=str(error))
        else:
            say(logging.INFO, "cache compared")

    async def differences(self, scheduler: Scheduler) -> list[str]:
        """How cache and queue differ from the API server, now and a moment later."""
        beside = (self.server, scheduler.queue, scheduler.profiles)
        first = set(await compare(scheduler.cache, *beside))
        if not first:
            return []
        await self.clock.sleep(SETTLE_SECONDS)
        return [line for line in await compare(scheduler.cache, *beside) if line in first]


async def _cancelled(*tasks: "asyncio.Future[Any]") -> list[Any]:
    """Cancel some tasks; how each of them ended."""
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)


def _lease_key(terms: Terms) -> str:
    return f"{terms.namespace}/{terms.name}"
