"""Bursts: attempts right after each other, before the event loop looks at anything else.

What an attempt runs through is near for the next one and far away again once connections were
read and written: one by one, attempts cost up to twice as much. So

1. attempts go on for `seconds` before others have their turn, and
2. a pod that comes less than `gather` after the last attempt waits that long for more to come.

Without either, others have their turn after every attempt and nobody waits.
"""

from collections.abc import Callable
from typing import Final

BURST_SECONDS: Final = 0.002
"""How long the event loop may be held by attempts in a row, the last one not counted."""
GATHER_SECONDS: Final = 0.005
"""How long a pod may wait for others; at 200 pods per second there is one more by then."""


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
        """Others have had their turn."""
        self._ends = self._now() + self._seconds

    def is_over(self) -> bool:
        """Whether others have a turn now; to be asked after every attempt."""
        self._last = self._now()
        return self._last >= self._ends

    def pause(self) -> float:
        """The seconds for which a pod that has just come waits for more."""
        return self._gather if self._now() - self._last < self._gather else 0.0


def short_bursts(now: Callable[[], float]) -> Bursts:
    """What a scheduler does that serves a cluster."""
    return Bursts(BURST_SECONDS, GATHER_SECONDS, now)


def one_by_one() -> Bursts:
    """Others have their turn after every attempt."""
    return Bursts(0.0, 0.0, lambda: 0.0)
