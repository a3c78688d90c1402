"""Kinds of pods that were tried again in vain a moment ago, and are left alone until that is over.

While pods leave one after the other, each that leaves is worth an attempt to all that wait for its
room. One attempt after several have left does as well as one after each of them. The first change
after a pod has come, which is mostly the one it waits for, is worth an attempt at once.
"""

from collections.abc import Hashable
from typing import Final

REST_SECONDS: Final = 0.05
"""How much later than at once a pod that backs off may be tried early."""


class RecentRefusals:
    """Until when each kind rests; the oldest refusal first."""

    def __init__(self, seconds: float = REST_SECONDS) -> None:
        self._seconds = seconds
        self._until: dict[Hashable, float] = {}

    def note(self, kind: Hashable, now: float) -> None:
        """A pod of this kind was tried again, and refused."""
        self._until.pop(kind, None)
        self._until[kind] = now + self._seconds
        self.next_end(now)

    def rests(self, kind: Hashable, now: float) -> bool:
        """Whether that was a moment ago."""
        return now < self._until.get(kind, now)

    def next_end(self, now: float) -> float | None:
        """When the next kind has rested; None where all have, and are forgotten."""
        while self._until:
            kind, until = next(iter(self._until.items()))
            if now < until:
                return until
            del self._until[kind]
        return None
