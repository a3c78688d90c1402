"""What one attempt may spend on work whose amount the author of a pod decides.

CEL and the search for devices are charged here before they go on. Units are those of CEL's cost.

1. Work is counted, so that the same cluster gets the same answer on a slow machine.
2. Where there is a clock, it ends the work too: no machine is so slow that a lease is lost. Only
   the time within `part` counts, not what extenders or other plugins take.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

UNITS_PER_SECOND: Final = 2_500_000
"""The cost of CEL that counts as a second."""
STEP_UNITS: Final = 25
"""What the search pays for each device that it looks at."""
ATTEMPT_SECONDS: Final = 2.0
"""What a whole attempt may spend, by count: all claims, nodes, and pods of a group together."""
CLOCK_SECONDS: Final = 3.0
"""What it may spend by the clock: somewhat more, so that mostly the count decides."""

Now = Callable[[], float]


class OverBudgetError(Exception):
    """Nothing is left for this work."""


class WorkBudget:
    """The work that is left to an attempt; `now` is a monotonic clock."""

    __slots__ = ("_deadline", "_floor", "_left", "_now", "_seconds", "_seconds_left")

    def __init__(self, seconds: float = ATTEMPT_SECONDS, now: Now | None = None) -> None:
        self._seconds = seconds
        self._now = now
        self._floor, self._deadline = 0.0, math.inf
        self.renew()

    def renew(self) -> None:
        """Begin another attempt."""
        self._left = self._seconds * UNITS_PER_SECOND
        self._seconds_left = CLOCK_SECONDS

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left to the attempt."""
        return self._left <= 0 or self._seconds_left <= 0

    def spend(self, units: float) -> None:
        """Pay for work that is about to be done; OverBudgetError: it may not be."""
        self._left -= units
        if self._left < self._floor or (self._now is not None and self._now() >= self._deadline):
            raise OverBudgetError

    @contextmanager
    def part(self, seconds: float) -> Iterator[None]:
        """Within this, no more is spent than so many seconds, or than what is left."""
        began = self._now() if self._now is not None else 0.0
        self._floor = max(0.0, self._left - seconds * UNITS_PER_SECOND)
        self._deadline = began + min(seconds, self._seconds_left)
        try:
            yield
        finally:
            self._floor, self._deadline = 0.0, math.inf
            if self._now is not None:
                self._seconds_left -= self._now() - began


UNLIMITED: Final = WorkBudget(math.inf)
"""For work that only who runs the cluster decides about."""
