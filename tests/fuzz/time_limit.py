"""How long one input may take, in CPU seconds of this process: a busy machine is no hang."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

SECONDS = 5.0


class Hang(KeyboardInterrupt):
    """An input took too long; nothing catches this but who set the limit."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Hang


@contextlib.contextmanager
def time_limit(seconds: float | None = None) -> Iterator[None]:
    """Raise Hang in whatever runs when the time is up."""
    before = signal.signal(signal.SIGVTALRM, _interrupt)
    restart(seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def restart(seconds: float | None = None) -> None:
    """Another input: its time begins now. Within a limit: elsewhere it would end the process."""
    assert signal.getsignal(signal.SIGVTALRM) is _interrupt
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS if seconds is None else seconds)
