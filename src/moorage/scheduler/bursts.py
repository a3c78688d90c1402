"""Bursts: attempts right after each other, before the event loop runs other tasks.

An attempt finds its code and data in the CPU's caches if it follows another attempt, and not after
connections were read and written: one by one, attempts cost up to twice as much. So

1. attempts go on for `seconds` before other tasks run, and
2. a pod that comes less than `gather` seconds after the last attempt waits that long for others.

If both are 0, other tasks run after every attempt, and no pod waits. After a very long attempt they
run for a while: renewing the lease takes several turns, and the next attempt may be as long.
"""

from collections.abc import Callable
from typing import Final

BURST_SECONDS: Final = 0.002
"""How long attempts in a row may hold the event loop; no attempt begins after that."""
GATHER_SECONDS: Final = 0.005
"""How long a pod may wait for others: at 200 pods per second one more comes in that time."""


LONG_SECONDS: Final = 0.25
"""An attempt that takes longer is followed by a rest for other tasks."""
REST_SHARE: Final = 0.25
"""The length of that rest, as a share of the attempt's."""


class Bursts:
    """When a burst ends, and when the next one begins; `now` never goes back."""

    __slots__ = ("_ends", "_gather", "_last", "_now", "_seconds")

    def __init__(self, seconds: float, gather: float, now: Callable[[], float]) -> None:
        self._seconds = seconds
        self._gather = gather
        self._now = now
        self._ends = 0.0
        self._last = float("-inf")

    def begin(self) -> None:
        """Begin a burst: to be called when other tasks have had their turn."""
        self._ends = self._now() + self._seconds

    def is_over(self) -> bool:
        """Whether other tasks must run now; the caller must ask after every attempt."""
        self._last = self._now()
        return self._last >= self._ends

    def rest(self) -> float:
        """How many seconds other tasks have now; 0 is one turn."""
        overrun = self._last - self._ends
        return overrun * REST_SHARE if overrun > LONG_SECONDS else 0.0

    def pause(self) -> float:
        """How many seconds a pod that has just come must wait for others."""
        return self._gather if self._now() - self._last < self._gather else 0.0


def short_bursts(now: Callable[[], float]) -> Bursts:
    """The bursts of a scheduler that serves a cluster."""
    return Bursts(BURST_SECONDS, GATHER_SECONDS, now)


def one_by_one() -> Bursts:
    """Bursts of one attempt: other tasks run after every attempt."""
    return Bursts(0.0, 0.0, lambda: 0.0)
