"""How long a plugin may take to load: its import, and its constructor, which no guard stands
before yet."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from moorage.guard.breaker_events import error_place
from moorage.guard.deadline_watchdog import WATCHDOG, Overdue, TimedCall, now

IMPORT_SECONDS: Final = 30.0
MAKE_SECONDS: Final = 10.0


class LoadTimeout(Exception):
    """A plugin took too long to load."""


@contextmanager
def load_deadline(seconds: float, module: str = "") -> Iterator[None]:
    """Interrupt, in the main thread, what takes longer; `module` is the plugin's, where known.

    Elsewhere than in the main thread nothing is interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    call = TimedCall(module)
    WATCHDOG.expect(seconds)
    WATCHDOG.enter(call, now() + seconds)
    try:
        yield
    except Overdue as overdue:
        if overdue.run is not call:
            raise
        place = error_place(overdue)
        raise LoadTimeout(
            f"took longer than {seconds:g}s{place}: what takes long, or never ends, belongs in a "
            "hook, or in another process"
        ) from overdue
    finally:
        WATCHDOG.leave(call)
