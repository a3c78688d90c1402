"""A replica's time as leader: acquire the lease, catch up, attempt pods, hold the lease.

A standby follows all resources and attempts no pods. Before its first attempt a new leader makes
sure that it knows what the last one did (`moorage.watch.freshness`). If it cannot, it releases the
lease, so that another replica can try.
"""

import asyncio
import logging
from collections.abc import Callable

from moorage.bind.event_recorder import EventRecorder, lease_reference
from moorage.kube.fence import steady_time
from moorage.kube.leader_election import ElectionNews, LeaderElector, LeaseTimes
from moorage.observe.logs import say
from moorage.observe.repeated_failures import RepeatedFailures
from moorage.scheduler.tasks import until_first
from moorage.watch.freshness import Behind, Freshness


class ElectionLog:
    """Reports the election: in the log and, for changes of the leader, as events on the lease."""

    def __init__(
        self, terms: LeaseTimes, recorder: EventRecorder, profile: Callable[[], str]
    ) -> None:
        self._lease = lease_reference(terms.namespace, terms.name)
        self._recorder = recorder
        self._profile = profile
        self._troubles = RepeatedFailures(steady_time)

    def __call__(self, news: ElectionNews) -> None:
        goes_on = news.kind in ("trouble", "in vain")
        if not goes_on or self._troubles.due(news.sentence) is not None:
            say(logging.WARNING if goes_on else logging.INFO, news.sentence)
        if not goes_on:
            why = "LeaderElection"
            self._recorder.record(self._profile(), self._lease, "Normal", why, why, news.sentence)


class Leadership:
    """Sets `active` while this replica leads and is up to date; ends only with an error."""

    def __init__(self, elector: LeaderElector, freshness: Freshness, active: asyncio.Event) -> None:
        self._elector = elector
        self._freshness = freshness
        self._active = active

    def may_attempt(self) -> bool:
        """Whether an attempt may be made now. Ask before each: the process may have been asleep."""
        return self._elector.seconds_left > 0 and self._freshness.is_current

    async def acquire(self) -> None:
        """Return when this replica holds the lease."""
        terms = self._elector.terms
        lease = f"{terms.namespace}/{terms.name}"
        say(logging.INFO, "waiting to lead", lease=lease, identity=self._elector.identity)
        await self._elector.acquire()

    async def run(self) -> None:
        """Lead until the lease is lost; raises `LeaseLost` or `Behind`."""
        if not self._elector.leading:
            await self.acquire()
        try:
            await until_first(self._elector.hold(), self._lead())
        except Behind:
            await self._elector.release()
            raise

    async def _lead(self) -> None:
        await self._freshness.take_over()
        self._active.set()
        await self._freshness.run()
