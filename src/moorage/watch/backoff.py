"""How long to wait before asking a failing server again."""

import random
from typing import Final

INITIAL_SECONDS: Final = 0.8
CEILING_SECONDS: Final = 30.0


class Backoff:
    """Delays that double from 0.8 s to 30 s, each stretched by a random part of itself.

    The numbers are client-go's; the stretching keeps many clients from returning at once.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._base = INITIAL_SECONDS

    def next(self) -> float:
        """The next delay, in seconds."""
        base = self._base
        self._base = min(base * 2, CEILING_SECONDS)
        return base * (1 + self._rng.random())

    def reset(self) -> None:
        """Begin again with the shortest delay."""
        self._base = INITIAL_SECONDS
