"""Watches the event loop's lag and whether the scheduling loop makes progress.

The watchdog sleeps one second on the event loop, again and again; the lag is how late it wakes. If
the loop is blocked for longer than `HANGS_SECONDS`, a thread writes the stacks of all threads to
standard error, because a blocked loop cannot answer `/debug/stacks`.

The scheduling loop counts as stuck if pods are ready, this replica is the active one, and there has
been no attempt for a minute.
"""

import asyncio
import faulthandler
import time
from collections.abc import Callable
from contextlib import suppress
from io import UnsupportedOperation
from typing import Final, Protocol

from moorage.observe.state_metrics import Active

BEAT_SECONDS: Final = 1.0
HANGS_SECONDS: Final = 10.0
STUCK_SECONDS: Final = 60.0


class Queue(Protocol):
    """The number of waiting pods."""

    def pending_counts(self) -> dict[str, int]: ...


class Loop(Protocol):
    """The part of a scheduler that shows whether it makes progress."""

    @property
    def attempts(self) -> int: ...
    @property
    def synced(self) -> bool: ...
    @property
    def active(self) -> Active: ...
    @property
    def queue(self) -> Queue: ...


class LoopWatchdog:
    """Watches a scheduler's loops."""

    def __init__(self, loop: Loop, now: Callable[[], float] = time.monotonic) -> None:
        self._loop = loop
        self._now = now
        self._worst = 0.0
        self._attempts = -1
        self._moved = now()

    async def run(self) -> None:
        """Watch until cancelled."""
        try:
            while True:
                _await_hang()
                began = self._now()
                await asyncio.sleep(BEAT_SECONDS)
                self.beat(self._now() - began)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def beat(self, seconds: float) -> None:
        """Record that a sleep of a second on the event loop took that long."""
        self._worst = max(self._worst, seconds - BEAT_SECONDS)
        self._look()

    def lag(self) -> float:
        """The worst lag since the last call."""
        worst, self._worst = self._worst, 0.0
        return worst

    def stuck(self) -> str | None:
        """Why the scheduling loop counts as stuck, or None."""
        ready = self._look()
        still = self._now() - self._moved
        if still < STUCK_SECONDS:
            return None
        return f"no attempt for {still:.0f} s, and {ready} pods are ready"

    def _look(self) -> int:
        """Record progress, or that there is nothing to do; returns how many pods are ready."""
        loop = self._loop
        at_work = loop.synced and loop.active.is_set()
        ready = loop.queue.pending_counts()["active"] if at_work else 0
        if not ready or loop.attempts != self._attempts:
            self._attempts = loop.attempts
            self._moved = self._now()
        return ready


def _await_hang() -> None:
    with suppress(UnsupportedOperation, ValueError, AttributeError):  # standard error is no file
        faulthandler.dump_traceback_later(HANGS_SECONDS)
