"""Whether what the reflectors know is recent enough to decide on.

To catch up, one object of each resource is listed. That is a consistent read, which returns the
current version. When every reflector has reached that version, nothing that was written before is
missing. A watch of many objects has `WATCH_SECONDS` to reach it through an event or a bookmark; a
resource with few objects, or one that has not reached it by then, is listed again.

1. A new leader catches up first, and the reflectors' backoffs end: a standby may have missed what
   the last leader did. If that takes more than `TAKEOVER_SECONDS`, `Behind` is raised.
2. A leader catches up again if it may have missed something: a watch or list failed, a watch sent
   not even a bookmark, or the process stood still. Reflectors keep their backoffs. After
   `PATIENCE_SECONDS` decisions go on: a resource that cannot be followed for that long may never
   be followed.

An optional resource that the server has refused for `ABSENT_SECONDS` counts as not served, and is
not waited for.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Any, Final, Protocol

from moorage.clock import Clock, within
from moorage.watch.api_errors import ApiError, Forbidden, NotFound
from moorage.watch.api_server import ApiServer
from moorage.watch.reflector import PAGE_SIZE, Reflector

LOOK_SECONDS: Final = 0.05
TICK_SECONDS: Final = 1.0
ASK_AGAIN_SECONDS: Final = 0.5
ABSENT_SECONDS: Final = 10.0
WATCH_SECONDS: Final = 1.0
"""How long a watch of many objects may take to reach the version before it is listed again."""
TAKEOVER_SECONDS: Final = 120.0
PATIENCE_SECONDS: Final = 30.0
SILENT_SECONDS: Final = 100.0
"""How long a watch may be silent: a server sends a bookmark about every minute."""
STANDSTILL_SECONDS: Final = 5.0
"""How late a tick may be before the process counts as having stood still."""

Say = Callable[..., None]


class FreshnessObserver(Protocol):
    """Is told when decisions stop because data is outdated, and when they go on."""

    def outdated(self, why: str) -> None: ...
    def caught_up(self, why: str, seconds: float) -> None: ...


class Behind(ApiError):
    """The reflectors could not catch up in time."""


class Freshness:
    """Whether decisions may be made; `reflectors` and `optional` are called anew each time.

    `say` takes a level, a message and fields. `now` is a monotonic clock.
    """

    def __init__(
        self,
        server: ApiServer,
        reflectors: Callable[[], Collection[Reflector]],
        clock: Clock,
        observer: FreshnessObserver,
        *,
        optional: Callable[[], Collection[Reflector]] = tuple,
        now: Callable[[], float] | None = None,
        say: Say = lambda *args, **fields: None,
    ) -> None:
        self._server = server
        self._required = reflectors
        self._optional = optional
        self._clock = clock
        self._now = now or clock.now
        self._say = say
        self._observer = observer
        self._behind: list[str] = []
        self._current = True
        self._ticked = self._now()
        self._verified: dict[Reflector, int] = {}
        self._given_up: set[Reflector] = set()

    @property
    def is_current(self) -> bool:
        """Whether decisions may be made now."""
        return self._current and self._now() - self._ticked < STANDSTILL_SECONDS

    @property
    def behind(self) -> list[str]:
        """The resources that are being waited for; empty if decisions may be made."""
        return [] if self._current else list(self._behind)

    async def take_over(self) -> None:
        """Catch up as a new leader; `Behind` if that takes too long."""
        await self._catch_up("lead", TAKEOVER_SECONDS, hurry=True)
        self._current, self._ticked = True, self._now()

    async def run(self) -> None:
        """Catch up whenever something may have been missed, for ever."""
        self._ticked = self._now()
        while True:
            await self._clock.sleep(TICK_SECONDS)
            why = self._doubt()
            if why:
                await self._recover(why)
            self._current, self._ticked = True, self._now()

    async def _recover(self, why: str) -> None:
        try:
            await self._catch_up(why, PATIENCE_SECONDS, hurry=False)
        except Behind as error:
            self._say(logging.WARNING, "deciding on what was last known", err=str(error))
            names = set(self._behind)
            self._given_up = {each for each in self._reflectors() if each.resource.plural in names}

    def _reflectors(self) -> list[Reflector]:
        return [*self._required(), *self._optional()]

    def _doubt(self) -> str:
        """Why something may have been missed; empty if there is no such reason."""
        now = self._clock.now()
        if self._now() - self._ticked >= STANDSTILL_SECONDS:
            return "standstill"
        for reflector in self._reflectors():
            if reflector in self._given_up and reflector.state != "watching":
                continue
            if reflector.failures != self._verified.setdefault(reflector, reflector.failures):
                return "watch"
            if reflector.synced and now - reflector.heard_at > SILENT_SECONDS:
                return "silence"
        return ""

    async def _catch_up(self, why: str, seconds: float, *, hurry: bool) -> None:
        self._current, began = False, self._clock.now()
        self._observer.outdated(why)
        reflectors = self._reflectors()
        self._behind = [reflector.resource.plural for reflector in reflectors]
        work = [self._bring(reflector, hurry) for reflector in reflectors]
        try:
            await within(self._clock, seconds, _all(work))
        except TimeoutError:
            names = ", ".join(self._behind)
            raise Behind(f"not up to date within {seconds:g} s: {names}") from None
        took = self._clock.now() - began
        self._given_up.clear()
        self._observer.caught_up(why, took)
        self._say(logging.INFO, "caught up with the API server", why=why, seconds=round(took, 3))

    async def _bring(self, reflector: Reflector, hurry: bool) -> None:
        """Return when one reflector has reached the server's current version."""
        version = await self._version(reflector)
        many = len(reflector.known) > PAGE_SIZE
        asked, deadline = False, self._clock.now() + (WATCH_SECONDS if many else 0.0)
        while version and (reflector.state == "waiting" or not reflector.reached(version)):
            stuck = reflector.state == "watching" and self._clock.now() >= deadline
            if not asked and (stuck or (hurry and reflector.state == "waiting")):
                asked = True
                reflector.relist()
            await self._clock.sleep(LOOK_SECONDS)
        self._verified[reflector] = reflector.failures
        self._behind.remove(reflector.resource.plural)

    async def _version(self, reflector: Reflector) -> str:
        """The current version, by a consistent read; empty if the resource is not served."""
        begun, may_be_absent = self._now(), reflector in self._optional()
        while True:
            try:
                page = await self._server.list_page(reflector.resource, limit=1)
            except ApiError as error:
                refused = may_be_absent and isinstance(error, NotFound | Forbidden)
                if refused and self._now() - begun >= ABSENT_SECONDS:
                    return ""
                await self._clock.sleep(max(ASK_AGAIN_SECONDS, error.retry_after))
            else:
                return page.resource_version


async def _all(work: list[Any]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for each in work:
            tasks.create_task(each)
