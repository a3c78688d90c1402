"""Whether what the reflectors hold is recent enough to decide on.

To catch up, the server is asked for one object of each resource, which is a consistent read and
tells the version of this moment; when every reflector has reached that version, nothing that was
written before is missing. A watch with many objects is given a second to get there by itself, by an
event or a bookmark; then, and at once where there are few objects, it is listed again.

1. Whoever begins to lead catches up first, and back-offs of reflectors end: a standby may have
   slept through what the last leader did. Where that takes too long, `Behind` is raised.
2. A leader catches up again after a silence it cannot explain: a watch or list that failed, a watch
   that brought not even a bookmark, a process that stood still. Reflectors keep their back-offs,
   and after `PATIENCE_SECONDS` decisions go on: what cannot be followed for so long may never be.

An optional resource that the server has refused for `ABSENT_SECONDS` is not served any more, and
nobody waits for it.
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
"""How long a watch of many objects may take to get there by itself."""
TAKEOVER_SECONDS: Final = 120.0
PATIENCE_SECONDS: Final = 30.0
SILENT_SECONDS: Final = 100.0
"""A server sends a bookmark every minute or so."""
STANDSTILL_SECONDS: Final = 5.0
"""How late a tick may come before the process is taken to have stood still."""

Say = Callable[..., None]


class FreshnessObserver(Protocol):
    """Who hears of it."""

    def outdated(self, why: str) -> None: ...
    def caught_up(self, why: str, seconds: float) -> None: ...


class Behind(ApiError):
    """What the reflectors hold could not be brought up to date in time."""


class Freshness:
    """What may be decided on; `reflectors`, and `optional` ones, are asked for anew each time.

    `say` takes a level, a message and fields; `now` is a clock that nobody sets.
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
        """Whether a decision may be taken now."""
        return self._current and self._now() - self._ticked < STANDSTILL_SECONDS

    @property
    def behind(self) -> list[str]:
        """Which resources are being waited for; none where decisions may be taken."""
        return [] if self._current else list(self._behind)

    async def take_over(self) -> None:
        """Catch up as a new leader; raises `Behind` where that takes too long."""
        await self._catch_up("lead", TAKEOVER_SECONDS, hurry=True)
        self._current, self._ticked = True, self._now()

    async def run(self) -> None:
        """Catch up whenever there is reason to, for ever."""
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
        """Why what is known may be old; empty where it is not."""
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
        """Return when one reflector has reached what the server holds now."""
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
        """The version of this moment, by a consistent read; none where nothing is served."""
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
