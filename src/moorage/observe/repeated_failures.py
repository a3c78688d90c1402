"""A failure that repeats is logged at once, and then less and less often.

1. The first failure is logged.
2. While it repeats, it is logged again after half a minute, then after twice as long each time, up
   to ten minutes, with the number of failures that were not logged.
3. A failure that was not seen for two minutes is over: the next one counts as a first again.
"""

from collections.abc import Callable
from typing import Final

FIRST_QUIET_SECONDS: Final = 30.0
LONGEST_QUIET_SECONDS: Final = 600.0
OVER_SECONDS: Final = 120.0
"""After this time a failure is over; longer than the longest backoff of a reflector."""


class _Failure:
    __slots__ = ("next", "quiet", "seen", "unsaid")

    def __init__(self, now: float) -> None:
        self.seen = now
        self.quiet = FIRST_QUIET_SECONDS
        self.next = now + self.quiet
        self.unsaid = 0


class RepeatedFailures:
    """Decides which failures to log."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, _Failure] = {}

    def due(self, key: str) -> int | None:
        """The number of equal failures not logged, if this one must be logged; else None."""
        now = self._now()
        self._known = {k: each for k, each in self._known.items() if now - each.seen < OVER_SECONDS}
        failure = self._known.get(key)
        if failure is None:
            self._known[key] = _Failure(now)
            return 0
        failure.seen = now
        if now < failure.next:
            failure.unsaid += 1
            return None
        unsaid, failure.unsaid = failure.unsaid, 0
        failure.quiet = min(failure.quiet * 2, LONGEST_QUIET_SECONDS)
        failure.next = now + failure.quiet
        return unsaid
