"""Interrupts plugin calls in the main thread that overrun their deadline.

1. A guarded call pushes a `TimedCall` on a stack, and pops it when it returns. That is a few
   assignments: no system call, no lock.
2. A thread checks the stack every few milliseconds. If no call began since the last check, it waits
   for the next one: a runnable thread is woken whenever numpy releases the GIL, so that checking an
   empty stack would cost a tenth of the time of attempts.
3. When a deadline has passed, the thread sends SIGURG to the main thread, which interrupts a
   `sleep` or a read as well as a loop. (Go's runtime preempts with the same signal; its default is
   to be ignored.)
4. The handler runs in the main thread and raises `Overdue`, unless the interrupted code is
   Moorage's own, called by the plugin: then a later signal interrupts the plugin.

`Overdue` is not an Exception, so `except Exception` in a plugin does not catch it; a plugin that
catches it all the same is interrupted again. In other threads no call is interrupted: a call that
took too long fails when it returns.
"""

import signal
import threading
import time
from types import FrameType
from typing import Final

NEVER: Final = float("inf")
SHORTEST_LOOK: Final = 0.002
LONGEST_LOOK: Final = 0.05
LOOKS: Final = 10
"""The number of checks within the shortest deadline."""
GRACE_SECONDS: Final = 1.0
"""How long Moorage's own code, called by a plugin, may take to finish after the deadline."""
MOORAGE_PACKAGE: Final = "moorage."
GUARD_PACKAGE: Final = "moorage.guard."
GUARD_MODULE: Final = "moorage.guard.plugin_guard"
"""The module in which guarded calls begin and end; it is never interrupted."""

now = time.monotonic


class TimedCall:
    """A call with a deadline (`due`); `module` is the module of the plugin."""

    __slots__ = ("due", "module", "outer")

    def __init__(self, module: str) -> None:
        self.module = module
        self.due = NEVER
        self.outer: TimedCall | None = None


class Overdue(BaseException):
    """The deadline of a call has passed; caught by the code that started the call."""

    def __init__(self, run: TimedCall) -> None:
        super().__init__("took too long")
        self.run = run


class DeadlineWatchdog:
    """Watches the guarded calls of the main thread."""

    def __init__(self) -> None:
        self.running: TimedCall | None = None
        self._look = LONGEST_LOOK
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._idle = False
        self._called = False
        """Whether a run began since the thread last looked."""

    def expect(self, deadline: float) -> None:
        """Check often enough for a deadline of so many seconds."""
        self._look = min(self._look, max(SHORTEST_LOOK, deadline / LOOKS))

    def enter(self, run: TimedCall, seconds: float) -> None:
        """A run begins that may take so many seconds. To be called in the main thread."""
        if self._thread is None:
            self._start()
        run.due = now() + seconds
        run.outer = self.running
        self.running = run
        self._called = True
        if self._idle:
            self._idle = False
            self._wake.set()

    def leave(self, run: TimedCall) -> None:
        """End a call, and with it all calls that began inside it."""
        self.running = run.outer
        run.due = NEVER

    def _start(self) -> None:
        """Begin to watch; on a busy machine that may take longer than a run's deadline."""
        signal.signal(signal.SIGURG, self._interrupt)
        self._thread = threading.Thread(target=self._watch, name="plugin-watch", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        main = threading.main_thread()
        while main.is_alive():
            if self.running is not None:
                if self._overdue(now()) is not None and main.ident is not None:
                    signal.pthread_kill(main.ident, signal.SIGURG)
            elif not self._called:
                self._wake.clear()
                self._idle = True
                if self.running is None:
                    self._wake.wait()
                self._idle = False
            self._called = False
            time.sleep(self._look)

    def _overdue(self, when: float) -> TimedCall | None:
        """The innermost call whose deadline has passed."""
        run = self.running
        while run is not None and when < run.due:
            run = run.outer
        return run

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        when = now()
        run = self._overdue(when)
        if run is None or frame is None or _module(frame) == GUARD_MODULE or _is_watching(frame):
            return
        if when < run.due + GRACE_SECONDS and _is_own(frame, run.module):
            return
        run.due = when + GRACE_SECONDS
        raise Overdue(run)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_watching(frame: FrameType | None) -> bool:
    """Whether the code that runs is of this module, or was called by it."""
    while frame is not None and not _module(frame).startswith(MOORAGE_PACKAGE):
        frame = frame.f_back
    return frame is not None and _module(frame) == __name__


def _is_own(frame: FrameType | None, plugin: str) -> bool:
    """Whether the running code is Moorage's, or was called by Moorage's, not the plugin's."""
    if frame is not None and _module(frame).startswith(MOORAGE_PACKAGE):
        return True
    while frame is not None:
        module = _module(frame)
        if module == plugin or module.startswith(GUARD_PACKAGE):
            return False
        if module.startswith(MOORAGE_PACKAGE):
            return True
        frame = frame.f_back
    return False


WATCHDOG: Final = DeadlineWatchdog()
"""The only watchdog of the process, because there is one main thread."""
