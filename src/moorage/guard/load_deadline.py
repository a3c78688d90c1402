"""How long a plugin may take to load: its import and its constructor, which have no guard yet."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from moorage.guard.breaker_events import error_place
from moorage.guard.deadline_watchdog import GRACE_SECONDS, WATCHDOG, Overdue, TimedCall

IMPORT_SECONDS: Final = 30.0
MAKE_SECONDS: Final = 10.0


class LoadTimeout(Exception):
    """A plugin took too long to load."""


class _ThreadOverdue(BaseException):
    """Raised in threads other than the main one, which signals do not reach."""


@contextmanager
def load_deadline(seconds: float, module: str = "") -> Iterator[None]:
    """Interrupt the block after `seconds`; `module` is the plugin's, if known.

    In the main thread a blocking call is interrupted as well as a loop. In other threads, where
    plugins are loaded again, only Python code is interrupted.
    """
    in_main = threading.current_thread() is threading.main_thread()
    with _in_main_thread(seconds, module) if in_main else _in_other_thread(seconds):
        yield


@contextmanager
def _in_main_thread(seconds: float, module: str) -> Iterator[None]:
    call = TimedCall(module)
    WATCHDOG.expect(seconds)
    WATCHDOG.enter(call, seconds)
    try:
        yield
    except Overdue as overdue:
        if overdue.run is not call:
            raise
        raise _timeout(seconds, overdue) from overdue
    finally:
        WATCHDOG.leave(call)


@contextmanager
def _in_other_thread(seconds: float) -> Iterator[None]:
    watch = _ThreadWatch(seconds)
    try:
        try:
            watch.begin()
            yield
        finally:
            watch.leave()
    except _ThreadOverdue as overdue:  # also if it arrives just before the end
        watch.leave()
        raise _timeout(seconds, overdue) from overdue


class _ThreadWatch:
    """Interrupts the thread that made it when its time is over, and again if it goes on.

    If an asynchronous exception is cleared before it is raised, CPython 3.11 keeps a flag that one
    is pending for good: every thread checks it at every call from then on, and under a profiler or
    tracer does nothing else. So none is cleared: `leave` waits until the last one is raised.
    """

    def __init__(self, seconds: float) -> None:
        self._target = threading.get_ident()
        self._seconds = seconds
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._sent = False

    def begin(self) -> None:
        """Start the time."""
        threading.Thread(target=self._watch, name="load-watch", daemon=True).start()

    def leave(self) -> None:
        """End the watch: no interruption arrives after this returns."""
        with self._lock:
            self._done.set()
        if not self._sent:
            return
        try:
            self._interrupt()  # in place of one that has not arrived
            while True:
                pass
        except _ThreadOverdue:
            return

    def _watch(self) -> None:
        patience = self._seconds
        while not self._done.wait(patience):
            patience = GRACE_SECONDS
            with self._lock:
                if not self._done.is_set():
                    self._sent = True
                    self._interrupt()

    def _interrupt(self) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._target), ctypes.py_object(_ThreadOverdue)
        )


def _timeout(seconds: float, overdue: BaseException) -> LoadTimeout:
    return LoadTimeout(
        f"took longer than {seconds:g}s{error_place(overdue)}: what takes long, or never ends, "
        "belongs in a hook, or in another process"
    )
