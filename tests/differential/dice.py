"""Seeded choices, with a measure of how odd a case may be."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws for one case. `oddness` is the chance of an odd value wherever one is possible."""

    def __init__(self, seed: str, small: bool = False) -> None:
        self._random = random.Random(seed)
        self.small = small
        self.oddness = self.pick((0.0, 0.0, 0.03, 0.03, 0.15, 0.4))

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def odd(self, share: float = 1.0) -> bool:
        """Whether to be odd here; `share` tones it down where oddity ruins the whole case."""
        return self.chance(self.oddness * share)

    def pick(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)

    def count(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def some(self, choices: Sequence[T], low: int, high: int) -> list[T]:
        """Between `low` and `high` of the choices, each at most once, in random order."""
        return self._random.sample(choices, min(self.count(low, high), len(choices)))

    def either(self, usual: Sequence[T], odd: Sequence[T]) -> T:
        return self.pick(odd) if self.odd() else self.pick(usual)
