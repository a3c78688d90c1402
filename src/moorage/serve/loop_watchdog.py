"""Watches the event loop's lag and whether the scheduling loop makes progress.

The watchdog sleeps one second on the event loop, again and again; the lag is how late it wakes. If
the loop is blocked for longer than `HANGS_SECONDS`, a thread writes the stacks of all threads to
standard error, because a blocked loop cannot answer `/debug/stacks`. It is a thread of Python's: it
reads stacks only while no other thread moves them. (`faulthandler`'s does not wait for that, and
has ended the process.) A call of C that never lets go of the interpreter is reported when it ends.

The scheduling loop counts as stuck if pods are ready, this replica is the active one, and there has
been no attempt for a minute.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from moorage.observe.state_metrics import Active

BEAT_SECONDS: Final = 1.0
HANGS_SECONDS: Final = 10.0
STUCK_SECONDS: Final = 60.0


def thread_stacks() -> list[str]:
    """The stack of each thread, the main thread's first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    frames = sorted(sys._current_frames().items(), key=lambda each: each[0] != main)
    return [
        f"thread {names.get(ident, ident)}\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in frames
    ]


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
        self._moved = self._woke = now()
        self._reported = -1.0

    async def run(self) -> None:
        """Watch until cancelled."""
        with _hangs_reported(self.report_hang):
            while True:
                began = self._woke = self._now()
                await asyncio.sleep(BEAT_SECONDS)
                self.beat(self._now() - began)

    def report_hang(self) -> None:
        """Write the stacks of all threads, once for each hang; called from another thread."""
        if self._now() - self._woke < HANGS_SECONDS or self._reported == self._woke:
            return
        self._reported = self._woke
        hang = f"the event loop has been blocked for {HANGS_SECONDS:g} s"
        print(hang, *thread_stacks(), sep="\n", file=sys.stderr)

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


@contextmanager
def _hangs_reported(look: Callable[[], None]) -> Iterator[None]:
    """Call `look` every second from a thread of its own."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(BEAT_SECONDS):
            look()

    thread = threading.Thread(target=watch, name="watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
