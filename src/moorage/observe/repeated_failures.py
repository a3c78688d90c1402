"""A failure that repeats is logged at once, and then less and less often.

1. The first is said.
2. While it goes on, it is said again after half a minute, then after twice as long each time, up to
   ten minutes, with the number that were not said.
3. One that was not seen for two minutes is over: the next is a first again.
"""

from collections.abc import Callable
from typing import Final

FIRST_QUIET_SECONDS: Final = 30.0
LONGEST_QUIET_SECONDS: Final = 600.0
OVER_SECONDS: Final = 120.0
"""Longer than the longest delay between two tries of a reflector."""


class _Failure:
    __slots__ = ("next", "quiet", "seen", "unsaid")

    def __init__(self, now: float) -> None:
        self.seen = now
        self.quiet = FIRST_QUIET_SECONDS
        self.next = now + self.quiet
        self.unsaid = 0


class RepeatedFailures:
    """Which failures to say."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, _Failure] = {}

    def due(self, key: str) -> int | None:
        """How many like it were not said, where this one is to be said; None where it is not."""
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
