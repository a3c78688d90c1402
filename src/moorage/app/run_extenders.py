"""The extenders of a running process: built at start, replaced when a reload changes them."""

import asyncio
from typing import TYPE_CHECKING, Final

from moorage.clock import Clock
from moorage.config.types import SchedulerConfiguration
from moorage.extender.async_bridge import DecisionThread
from moorage.framework.extenders import NO_EXTENDERS
from moorage.observe.observers import Observers
from moorage.scheduler.version import Extending

if TYPE_CHECKING:
    from moorage.extender.http_extenders import HttpExtenders

RETIRING_SECONDS: Final = 60.0
"""How long extenders that were replaced are kept open, for bindings under way."""


class RunExtenders:
    """Holds the extenders in use, and those that bindings under way may still ask."""

    def __init__(
        self, configuration: SchedulerConfiguration, clock: Clock, observers: Observers
    ) -> None:
        self._clock = clock
        self._turns = DecisionThread()
        self._given = configuration.extenders
        self._observers = observers
        self._used = self._build(configuration)
        self._retired: list[HttpExtenders] = []
        self._retiring: set[asyncio.Future[None]] = set()

    @property
    def in_use(self) -> Extending:
        """The extenders that the scheduler must use."""
        if self._used is None:
            return Extending(NO_EXTENDERS, None)
        return Extending(self._used, self._turns)

    def changed(self, configuration: SchedulerConfiguration) -> Extending | None:
        """The extenders of a new configuration; None if unchanged. ConfigError if invalid."""
        if configuration.extenders == self._given:
            return None
        made = self._build(configuration)
        if self._used is not None:
            self._retired.append(self._used)
            self._retiring.add(asyncio.ensure_future(self._retire(self._used)))
        self._used, self._given = made, configuration.extenders
        return self.in_use

    def _build(self, configuration: SchedulerConfiguration) -> "HttpExtenders | None":
        given = configuration.extenders
        if not given:
            return None
        from moorage.extender import http_extenders  # aiohttp: few have extenders

        return http_extenders.build_extenders(given, self._turns, self._observers)

    async def _retire(self, extenders: "HttpExtenders") -> None:
        await self._clock.sleep(RETIRING_SECONDS)
        self._retired.remove(extenders)
        await extenders.close()

    async def close(self) -> None:
        """Close every connection."""
        for task in self._retiring:
            task.cancel()
        for extenders in (*self._retired, *([] if self._used is None else [self._used])):
            await extenders.close()
