"""Kinds of pods that were retried in vain a moment ago, and are not tried early until that is over.

While pods leave one after the other, each departure wakes every pod that waits for room. One
attempt after several departures does as well as one after each. A pod's first retry is not delayed:
the first change after it came is mostly the one it waits for.
"""

from collections.abc import Hashable
from typing import Final

REST_SECONDS: Final = 0.05
"""How long after a failed retry no pod of that kind is tried before its backoff ends."""


class RecentRefusals:
    """When the rest of each kind ends; the oldest refusal first."""

    def __init__(self, seconds: float = REST_SECONDS) -> None:
        self._seconds = seconds
        self._until: dict[Hashable, float] = {}

    def note(self, kind: Hashable, now: float) -> None:
        """Note that a pod of this kind was retried, and refused."""
        self._until.pop(kind, None)
        self._until[kind] = now + self._seconds
        self.next_end(now)

    def rests(self, kind: Hashable, now: float) -> bool:
        """Whether a pod of this kind was retried in vain a moment ago."""
        return now < self._until.get(kind, now)

    def next_end(self, now: float) -> float | None:
        """When the rest of the next kind ends; None if no kind rests. Forgets those that ended."""
        while self._until:
            kind, until = next(iter(self._until.items()))
            if now < until:
                return until
            del self._until[kind]
        return None
