"""The process of `moorage run`: connect, lead, schedule, reload, stop in good order.

1. Connect; follow every resource. A standby does that too, so that it can take over at once.
2. With leader election, acquire the lease and catch up with what the last leader did. Then
   schedule.
3. On SIGTERM or SIGINT: attempt no more pods, finish bindings under way, send the events, release
   the lease, exit with 0. A second signal exits at once.
4. When the lease is lost: write nothing more, exit with 1; the new leader goes on.
5. On SIGUSR2: log the cache and the queue, and how they differ from the API server.
6. On SIGHUP, and when a configuration source changes: read the configuration again
   (`moorage.app.reloader`).
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from moorage import garbage
from moorage.app import profile_builder
from moorage.app.assembly import assemble, tap_for
from moorage.app.cache_comparison import CacheComparison
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_sources import ConfigSources
from moorage.app.leadership import ElectionLog, Leadership
from moorage.app.process_signals import ProcessSignals
from moorage.app.reloader import Reloader
from moorage.app.run_extenders import RunExtenders
from moorage.bind.event_recorder import lease_reference
from moorage.clock import SystemClock
from moorage.config.lease_config import NAMESPACE
from moorage.config.types import LeaderElection
from moorage.framework.plugin import Plugin
from moorage.kube import leader_election
from moorage.kube.fence import LeaseFence, LeaseLost, steady_time
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import SelectedContext
from moorage.kube.leader_election import LeaderElector, LeaseTimes
from moorage.observe.logs import say
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import MAX_IN_UNSCHEDULABLE
from moorage.scheduler.attempt import TapOf
from moorage.scheduler.bursts import short_bursts
from moorage.scheduler.tasks import cancelled, until_first
from moorage.serve.configz import ActiveConfiguration
from moorage.watch.freshness import Behind, Freshness

SYNC_LOOK_SECONDS: Final = 0.1
GIVE_BACK_SECONDS: Final = 30.0
DRAIN_SECONDS: Final = 15.0
STOPPED, FAILED = 0, 1

Service = Callable[["RunProcess"], Awaitable[None]]
"""Runs beside the scheduler for as long as the process does: a metrics server, for example."""


class RunProcess:
    """One `moorage run`, with all its parts."""

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
        applied: Callable[[ConfigBundle], None] = lambda whole: None,
        seed: int | None = None,
        request_seconds: float = 30.0,
        max_in_unschedulable: float = MAX_IN_UNSCHEDULABLE,
        tap_of: TapOf | None = None,
        batching: bool = True,
    ) -> None:
        self._applied = applied
        applied(found)
        configuration = found.configuration
        pace, election = configuration.client_connection, configuration.leader_election
        rng = random.Random(seed)
        digest = found.digest(() if sources is None else sources.plugins.digests)
        self.in_force = ActiveConfiguration(configuration, digest=digest)
        self.clock = SystemClock()
        self.identity = leader_election.identity()
        fence = LeaseFence(election.lease_duration.seconds) if election.leader_elect else None
        self.server = KubeApiServer(
            selected,
            qps=pace.qps,
            burst=pace.burst,
            request_seconds=request_seconds,
            fence=fence,
        )
        heard = Observers(observers)
        self._extenders = RunExtenders(configuration, self.clock, heard)
        version = profile_builder.build_version(found, known, self.in_force.generation, digest)
        self.scheduler = scheduler = assemble(
            self.server,
            version.profiles,
            clock=self.clock,
            rng=rng,
            observers=heard,
            backoff=(version.backoff.initial, version.backoff.maximum),
            instance=self.identity,
            leads=self._may_attempt,
            told=say,
            monotonic=steady_time,
            max_in_unschedulable=max_in_unschedulable,
            tap=tap_for(tap_of, self.clock.now, batching),
            sparing=tap_of is None,
            bursts=short_bursts(steady_time),
        )
        scheduler.install(version._replace(extending=self._extenders.in_use))
        self.freshness = Freshness(
            self.server,
            scheduler.reflectors.values,
            self.clock,
            scheduler.observers,
            optional=lambda: scheduler.optional_reflectors,
            now=steady_time,
            say=say,
        )
        self.elector = None if fence is None else self._elector(election, fence, rng)
        self._leadership = (
            None
            if self.elector is None
            else Leadership(self.elector, self.freshness, scheduler.active)
        )
        self.reloader = None if sources is None else self._reloader(sources, interval, rng)
        self._comparison = CacheComparison(scheduler, self.clock)
        self._signals = ProcessSignals(self.again, self._comparison.begin)
        self._services = tuple(services)

    @property
    def stopping(self) -> bool:
        """Whether the process was told to stop."""
        return self._signals.stopping

    async def run(self) -> int:
        """Schedule until told to stop; the exit code."""
        garbage.freeze()
        self._signals.install()
        try:
            return await self._until_stopped()
        except (LeaseLost, Behind) as error:
            say(logging.ERROR, str(error), identity=self.identity)
            return FAILED
        finally:
            await self.server.close()
            await self._extenders.close()

    def _may_attempt(self) -> bool:
        """Whether an attempt may be made: the cache is current and this replica, if there is an
        election, leads."""
        if self._leadership is None:
            return self.freshness.is_current
        return self._leadership.may_attempt()

    async def _until_stopped(self) -> int:
        work = [service(self) for service in self._services]
        work.append(self._work())
        if self.reloader is not None:
            work.append(self.reloader.run())
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(each) for each in work]
        calm = asyncio.ensure_future(self._care_for_memory())
        stop: asyncio.Future[Any] = asyncio.ensure_future(self._signals.stopped())
        try:
            await asyncio.wait({*tasks, stop}, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
            await self._drain()
            return STOPPED
        finally:
            await cancelled(*tasks, calm, stop)

    async def _work(self) -> None:
        """Follow, acquire, schedule; ends only with an error."""
        scheduler, leadership = self.scheduler, self._leadership
        if leadership is None:
            await until_first(scheduler.run(), self.freshness.run())
            return
        scheduler.active.clear()
        if self.in_force.configuration.delay_cache_until_active:
            await leadership.acquire()
        await until_first(scheduler.run(), leadership.run())

    async def listed(self) -> None:
        """Return when every resource has been listed."""
        while not self.scheduler.synced:
            await self.clock.sleep(SYNC_LOOK_SECONDS)

    async def _care_for_memory(self) -> None:
        """After the first lists, freeze the garbage collector, and give freed memory back."""
        await self.listed()
        garbage.freeze()
        while await asyncio.to_thread(garbage.give_back):
            await self.clock.sleep(GIVE_BACK_SECONDS)

    async def _drain(self) -> None:
        """Finish bindings and events, for `DRAIN_SECONDS` at most, and release the lease."""
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

    def again(self) -> None:
        """Read the configuration again."""
        if self.reloader is not None:
            say(logging.INFO, "reading the configuration again")
            self.reloader.again()

    def _elector(
        self, election: LeaderElection, fence: LeaseFence, rng: random.Random
    ) -> LeaderElector:
        terms = LeaseTimes(
            name=election.resource_name,
            namespace=election.resource_namespace,
            makes_namespace=election.resource_namespace == NAMESPACE,
            lease_duration=election.lease_duration.seconds,
            renew_deadline=election.renew_deadline.seconds,
            retry_period=election.retry_period.seconds,
        )
        told = ElectionLog(
            terms, self.scheduler.recorder, lambda: next(iter(self.scheduler.profiles))
        )
        return LeaderElector(
            self.server,
            terms,
            self.identity,
            fence,
            clock=self.clock,
            rng=rng,
            told=told,
            serves=lambda: self.scheduler.profiles,
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
            applied=self._applied,
        )
