"""A permutation test: how likely chance alone makes two groups of pods differ as much.

A hash of the names has put pods into the two groups, like a coin toss. So if the versions behaved
the same, every other division of the same pods would be as likely as the actual one. The test draws
divisions, and counts those whose means differ at least as much as the observed ones. It assumes no
distribution of the values, and is valid for small groups, and for pods that influence each other.
The actual division is counted in, so the p-value is never zero and never too small.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ELEMENTS_AT_ONCE: Final = 20_000
"""How many elements are drawn at once: about two milliseconds of work."""


class PermutationTest:
    """Values of units, by KPI.  float64 (unit, kpi), NaN where a unit has none

    `worse` is 1 for a KPI of which more is worse, and -1 for one of which less is.
    """

    def __init__(
        self, values: Floats, canary: NDArray[np.bool_], worse: Sequence[int], seed: int
    ) -> None:
        self._known = ~np.isnan(values)
        self._values = np.where(self._known, values, 0.0) * np.array(worse)
        self._canary = canary
        self._random = np.random.default_rng(seed)
        self._found = self._differences(canary[None, :])[0]
        self._slack = 1e-9 * (np.abs(self._values).max(axis=0) if len(values) else 0.0)
        self._as_bad = np.zeros(values.shape[1], dtype=np.int64)
        self._as_good = np.zeros(values.shape[1], dtype=np.int64)
        self.draws = 0

    def draw(self) -> None:
        """Draw a few more divisions."""
        count = max(1, ELEMENTS_AT_ONCE // max(len(self._canary), 1))
        divisions = np.broadcast_to(self._canary, (count, len(self._canary)))
        drawn = self._differences(self._random.permuted(divisions, axis=1))
        with np.errstate(invalid="ignore"):
            self._as_bad += count - (drawn < self._found - self._slack).sum(axis=0)
            self._as_good += count - (drawn > self._found + self._slack).sum(axis=0)
        self.draws += count

    def p_worse(self, kpi: int) -> float:
        """The p-value of the canary being worse in a KPI."""
        return float(self._as_bad[kpi] + 1) / (self.draws + 1)

    def p_better(self, kpi: int) -> float:
        """The p-value of the canary being better in a KPI."""
        return float(self._as_good[kpi] + 1) / (self.draws + 1)

    def _differences(self, divisions: NDArray[Any]) -> Floats:
        """The canary's mean less the stable version's.  float64 (division, kpi)"""
        chosen = divisions.astype(np.float64)
        sums, counts = chosen @ self._values, chosen @ self._known.astype(np.float64)
        rest, others = self._values.sum(axis=0) - sums, self._known.sum(axis=0) - counts
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = sums / counts - rest / others
        return found


def holm(p_values: dict[str, float], alpha: float) -> set[str]:
    """The significant ones of several comparisons, by Holm's method: the chance of any false one
    is at most `alpha`."""
    found: set[str] = set()
    for rank, name in enumerate(sorted(p_values, key=lambda each: p_values[each])):
        if p_values[name] > alpha / (len(p_values) - rank):
            break
        found.add(name)
    return found
