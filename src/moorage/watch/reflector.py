"""The reflector: lists and watches one resource, and reports every change in order.

1. List, page by page, at one version; a page is processed while the next is on its way.
2. Report how the list differs from what was known: deletions, additions, updates. If nothing was
   known, and no decision is made before `synced` (`by_page`), each page is reported as it arrives.
3. Report `synced`, the first time.
4. Watch from the version of the list; report each change; remember the version of each event and
   bookmark.
5. When the watch ends, go on with 4 from the last version; if it failed, wait first.
6. When that version is no longer kept, or when `relist` is called, go on with 1.

Changes are derived from what is known, never from the server's type of event. So the changes of an
object are always: added, updated ..., deleted. An object that was replaced by another of the same
name is reported as a deletion and an addition.
"""

import asyncio
import contextlib
import itertools
import random
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from typing import Any, Final, Literal

import msgspec

from moorage.api.annotations import read_int
from moorage.api.meta import KubeObject
from moorage.clock import Clock
from moorage.watch.api_errors import ApiError, Gone, Unreachable, VersionTooLarge
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer, Page, WatchEvent

INITIAL_BACKOFF_SECONDS: Final = 0.8
MAX_BACKOFF_SECONDS: Final = 30.0


class RetryBackoff:
    """Delays that double from 0.8 s to 30 s, each extended by a random part of itself.

    The numbers are client-go's. The random part keeps many clients from returning at once.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._base = INITIAL_BACKOFF_SECONDS

    def next(self) -> float:
        """The next delay, in seconds."""
        base = self._base
        self._base = min(base * 2, MAX_BACKOFF_SECONDS)
        return base * (1 + self._rng.random())

    def reset(self) -> None:
        """Begin again with the shortest delay."""
        self._base = INITIAL_BACKOFF_SECONDS


PAGE_SIZE: Final = 500
WATCH_SECONDS: Final = 300.0
SHORT_WATCH_SECONDS: Final = 1.0

ChangeType = Literal["added", "updated", "deleted", "synced"]
State = Literal["idle", "listing", "watching", "waiting"]


class Change(msgspec.Struct, frozen=True, gc=False):
    """One change: `old` is the object as reported before, `new` as it is now."""

    type: ChangeType
    old: KubeObject | None = None
    new: KubeObject | None = None


SYNCED: Final = Change("synced")


class Reflector:
    """Reports every change of one resource; `known` holds the objects as last reported, by key.

    A watch is asked to end after one to two times `watch_seconds`; None leaves that to the server.
    `failures` counts the errors after which it waited. `heard_at` is when the server last sent
    anything. With `by_page`, pages of the first list are reported before the list is complete.
    """

    def __init__(
        self,
        server: ApiServer,
        resource: Resource,
        *,
        clock: Clock,
        rng: random.Random,
        page_size: int = PAGE_SIZE,
        watch_seconds: float | None = WATCH_SECONDS,
        on_error: Callable[[ApiError, float], None] | None = None,
        by_page: bool = False,
    ) -> None:
        self.resource = resource
        self.known: dict[str, KubeObject] = {}
        self.resource_version = ""
        self.synced = False
        self.state: State = "idle"
        self.failures = 0
        self.heard_at = clock.now()
        self._server = server
        self._clock = clock
        self._rng = rng
        self._page_size = page_size
        self._watch_seconds = watch_seconds
        self._on_error = on_error
        self._by_page = by_page
        self._listing = RetryBackoff(rng)
        self._watching = RetryBackoff(rng)
        self._round: asyncio.Timeout | None = None

    def reached(self, version: str) -> bool:
        """Whether everything up to that version has been reported."""
        return _number(self.resource_version) >= _number(version)

    def relist(self) -> None:
        """List again now; a watch or a backoff under way ends.

        The reader of `changes` must not await anything else between two changes.
        """
        self._listing.reset()
        self._watching.reset()
        if self._round is not None and self._round.when() is None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._round.reschedule(asyncio.get_running_loop().time())

    def __aiter__(self) -> AsyncGenerator[Change, None]:
        return self.changes()

    async def changes(self) -> AsyncGenerator[Change, None]:
        """Every change, without end."""
        while True:
            try:
                async with asyncio.timeout(None) as self._round:
                    async with aclosing(self._list()) as listed:
                        async for change in listed:
                            yield change
                    if not self.synced:
                        self.synced = True
                        yield SYNCED
                    async with aclosing(self._follow()) as following:
                        async for change in following:
                            yield change
            except TimeoutError:
                if self._round is None or not self._round.expired():
                    raise

    async def _list(self) -> AsyncGenerator[Change, None]:
        """How a list differs from what is known; after a failure, wait and list again."""
        limit = self._page_size
        while True:
            self.state = "listing"
            try:
                async with aclosing(self._changes_of_list(limit)) as changes:
                    async for change in changes:
                        yield change
            except ApiError as error:
                if isinstance(error, Gone):
                    limit = 0  # the pages outlived their version: ask for all at once
                await self._wait(self._listing, error)
            else:
                self._listing.reset()
                self.heard_at = self._clock.now()
                return

    async def _changes_of_list(self, limit: int) -> AsyncGenerator[Change, None]:
        by_page = self._by_page and not self.known
        items: dict[str, KubeObject] = {}
        version = ""
        async with aclosing(self._pages(limit)) as pages:
            async for page in pages:
                version = page.resource_version
                if by_page:
                    for change in itertools.chain.from_iterable(map(self._put, page.items)):
                        yield change
                else:
                    items.update((item.key, self._as_known(item)) for item in page.items)
        if not by_page:
            for change in self._replace(items):
                yield change
        self.resource_version = version

    async def _pages(self, limit: int) -> AsyncGenerator[Page, None]:
        """Every page of a list; the next one is requested while the caller processes one."""
        page = await self._page(limit, "")
        while page.continue_token:
            following = asyncio.ensure_future(self._page(limit, page.continue_token))
            try:
                yield page
                page = await following
            finally:
                if not following.cancel() and not following.cancelled():
                    following.exception()  # mark it as retrieved: the reader is gone
        yield page

    def _page(self, limit: int, token: str) -> Coroutine[Any, Any, Page]:
        return self._server.list_page(self.resource, limit=limit, continue_token=token)

    def _as_known(self, item: KubeObject) -> KubeObject:
        """The known object if it has the same version, so that it is not in memory twice."""
        known = self.known.get(item.key)
        if known is None or known.metadata.resource_version != item.metadata.resource_version:
            return item
        return known

    def _replace(self, items: dict[str, KubeObject]) -> Iterator[Change]:
        for key in [key for key in self.known if key not in items]:
            yield Change("deleted", old=self.known.pop(key))
        for item in items.values():
            yield from self._put(item)

    async def _follow(self) -> AsyncGenerator[Change, None]:
        """Changes since the list, until the last version is no longer kept."""
        while True:
            began, heard, self.state = self._clock.now(), False, "watching"
            try:
                async with aclosing(self._watch()) as events:
                    async for event in events:
                        heard = True
                        for change in self._absorb(event):
                            yield change
            except (Gone, VersionTooLarge) as error:
                if not heard:
                    await self._wait(self._watching, error)
                return
            except ApiError as error:
                await self._wait(self._watching, error)
                continue
            if not heard and self._clock.now() - began < SHORT_WATCH_SECONDS:
                await self._wait(self._watching, Unreachable("the watch ended as it began"))

    def _watch(self) -> AsyncGenerator[WatchEvent, None]:
        seconds = self._watch_seconds
        return self._server.watch(
            self.resource,
            resource_version=self.resource_version,
            timeout_seconds=None if seconds is None else seconds * (1 + self._rng.random()),
            bookmarks=True,
        )

    def _absorb(self, event: WatchEvent) -> tuple[Change, ...]:
        self._watching.reset()
        self.heard_at = self._clock.now()
        self.resource_version = event.resource_version
        if event.object is None:
            return ()
        if event.type != "DELETED":
            return self._put(event.object)
        old = self.known.pop(event.object.key, None)
        return () if old is None else (Change("deleted", old=old),)

    def _put(self, new: KubeObject) -> tuple[Change, ...]:
        key = new.key
        old = self.known.get(key)
        if old is None:
            self.known[key] = new
            return (Change("added", new=new),)
        if old.metadata.resource_version == new.metadata.resource_version:
            return ()
        self.known[key] = new
        if old.metadata.uid != new.metadata.uid:
            return Change("deleted", old=old), Change("added", new=new)
        return (Change("updated", old=old, new=new),)

    async def _wait(self, backoff: RetryBackoff, error: ApiError) -> None:
        self.state = "waiting"
        self.failures += 1
        delay = max(backoff.next(), error.retry_after)
        if self._on_error is not None:
            self._on_error(error, delay)
        await self._clock.sleep(delay)


def _number(version: str) -> int:
    """The version as a number, which grows within one resource; -1 for none."""
    number = read_int(version)
    return -1 if number is None else number
