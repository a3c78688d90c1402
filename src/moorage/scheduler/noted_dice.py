"""Dice that note what is drawn, so that an attempt whose end is known can draw as one in full."""

import random
from collections.abc import Sequence


class NotedDice(random.Random):
    """`random.Random`, with the ranges that were drawn from since `draw_again`."""

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
        """Begin to note anew, and draw from these first."""
        self._drawn.clear()
        for stop in ranges:
            self.randrange(stop)
