"""Dice that note what is drawn, so that a skipped attempt can draw as a full one would have."""

import random
from collections.abc import Sequence


class NotedDice(random.Random):
    """`random.Random` that notes the ranges drawn from since the last `draw_again`."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._drawn: list[int] = []

    @property
    def drawn(self) -> tuple[int, ...]:
        return tuple(self._drawn)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        if stop is None:
            self._drawn.append(start)
        return super().randrange(start, stop, step)

    def draw_again(self, ranges: Sequence[int]) -> None:
        """Clear the notes, and draw once from each of these ranges."""
        self._drawn.clear()
        for stop in ranges:
            self.randrange(stop)
