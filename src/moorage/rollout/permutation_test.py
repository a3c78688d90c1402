"""A permutation test: how often chance alone would tell two groups of pods as far apart.

A hash of their names has put pods into the two groups, as a coin would have. So if the versions did
the same, any other division of the same pods were as likely as this one. The test draws divisions,
and counts those in which the means lie as far apart as they were found to be. That assumes nothing
of how values are distributed, holds for small numbers as for large ones, and where pods influence
each other, too. With this one counted in, the p-value is never zero, and never too small.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ELEMENTS_AT_ONCE: Final = 20_000
"""About two milliseconds of work."""


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
        """A few more divisions."""
        count = max(1, ELEMENTS_AT_ONCE // max(len(self._canary), 1))
        divisions = np.broadcast_to(self._canary, (count, len(self._canary)))
        drawn = self._differences(self._random.permuted(divisions, axis=1))
        with np.errstate(invalid="ignore"):
            self._as_bad += count - (drawn < self._found - self._slack).sum(axis=0)
            self._as_good += count - (drawn > self._found + self._slack).sum(axis=0)
        self.draws += count

    def p_worse(self, kpi: int) -> float:
        """How likely the canary looks that bad by chance."""
        return float(self._as_bad[kpi] + 1) / (self.draws + 1)

    def p_better(self, kpi: int) -> float:
        """How likely the canary looks that good by chance."""
        return float(self._as_good[kpi] + 1) / (self.draws + 1)

    def _differences(self, divisions: NDArray[Any]) -> Floats:
        """By how much the canary's mean is above the other's.  float64 (division, kpi)"""
        chosen = divisions.astype(np.float64)
        sums, counts = chosen @ self._values, chosen @ self._known.astype(np.float64)
        rest, others = self._values.sum(axis=0) - sums, self._known.sum(axis=0) - counts
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = sums / counts - rest / others
        return found


def holm(p_values: dict[str, float], alpha: float) -> set[str]:
    """Those of several comparisons that are significant, by Holm's method: the chance that any of
    them is so by chance alone is at most `alpha`."""
    found: set[str] = set()
    for rank, name in enumerate(sorted(p_values, key=lambda each: p_values[each])):
        if p_values[name] > alpha / (len(p_values) - rank):
            break
        found.add(name)
    return found
