"""The signals of a running process: stop, read the configuration again, compare the cache."""

import asyncio
import logging
import signal
from collections.abc import Callable

from moorage.observe.logs import say

AT_ONCE = 1
"""The exit code of a process that is told to stop twice."""


class ProcessSignals:
    """Handles SIGTERM and SIGINT; passes SIGHUP and SIGUSR2 to callbacks."""

    def __init__(self, reload: Callable[[], None], compare: Callable[[], None]) -> None:
        self._reload = reload
        self._compare = compare
        self._stop = asyncio.Event()

    @property
    def stopping(self) -> bool:
        """Whether the process was told to stop."""
        return self._stop.is_set()

    def install(self) -> None:
        """Install the signal handlers."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGUSR2, self._compare)
        loop.add_signal_handler(signal.SIGHUP, self._reload)

    async def stopped(self) -> None:
        """Return when the process is told to stop."""
        await self._stop.wait()

    def stop(self) -> None:
        """Stop in good order; the second call ends the process at once."""
        if self._stop.is_set():
            say(logging.WARNING, "stopping at once")
            raise SystemExit(AT_ONCE)
        self._stop.set()
