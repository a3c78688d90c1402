"""Builds the feeds of a scheduler's profiles."""

from collections.abc import Iterable
from typing import Final, Protocol

from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.feeds.feeds import Feeds, OpenReader
from moorage.feeds.readings import Reader
from moorage.framework.events import MEASURED
from moorage.policies.telemetry.metric_sources import Source
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.watch.api_server import ApiServer

SYNC_LOOK_SECONDS: Final = 0.05


class Scheduler(Protocol):
    """The part of a scheduler that feeds need."""

    @property
    def in_force(self) -> Iterable[Profile]: ...
    @property
    def server(self) -> ApiServer: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def cache(self) -> Cache: ...
    @property
    def queue(self) -> SchedulingQueue: ...
    @property
    def synced(self) -> bool: ...
    def wake(self) -> None: ...


async def run_once_synced(scheduler: Scheduler, feeds: Feeds) -> None:
    """Run the feeds for ever, once all nodes are known: measurements name them."""
    while not scheduler.synced:
        await scheduler.clock.sleep(SYNC_LOOK_SECONDS)
    await feeds.run()


def build_feeds(
    scheduler: Scheduler, open: OpenReader | None = None, beside: Iterable[Profile] = ()
) -> Feeds:
    """The feeds of a scheduler's profiles, canaries included, and of the profiles `beside`.

    `open` replaces the readers of the network.
    """
    others = tuple(beside)

    def arrived() -> None:
        scheduler.queue.move(MEASURED, None, None, scheduler.clock.now())
        scheduler.wake()

    reading = _network_readers(scheduler) if open is None else open
    return Feeds(lambda: (*scheduler.in_force, *others), reading, scheduler.clock, arrived)


def _network_readers(scheduler: Scheduler) -> OpenReader:
    def open(source: Source) -> Reader | None:
        from moorage.app import network_readers  # few list a source

        return network_readers.open_reader(
            source, scheduler.server, scheduler.clock, scheduler.cache
        )

    return open
