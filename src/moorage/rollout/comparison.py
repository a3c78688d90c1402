"""Compares a canary with the stable version, KPI by KPI, and reports significant differences.

1. Looks are few. The first is when both groups have `minPods` units. Each later one is when the
   canary has had twice as many pods as at the last look, or five windows more. Repeated testing
   raises the error rate, so the k-th look has the level alpha / k(k + 1): over all looks the chance
   of a false finding is at most alpha.
2. A look tests all KPIs by permutation (permutation_test.py), a few milliseconds at a time.
3. Holm's method corrects for the number of KPIs that have limits.
4. A KPI counts against the canary if it is significantly worse, and by more than its limit.
"""

import math
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.config.canary_limits import Rollback
from moorage.rollout.compared_pods import ComparedPods
from moorage.rollout.effects import EFFECTS, Effect
from moorage.rollout.permutation_test import PermutationTest, holm

Verdict = Literal["worse", "better", "no difference shown", "not enough evidence"]

_WINDOWS: Final = 5
"""The next look comes after this many windows at the latest."""
_LEAST_DRAWS: Final = 1_000
_DRAWS_PER_CHANCE: Final = 4
"""How many draws there are for each that may look as bad, at the level that is asked for."""


class Finding(msgspec.Struct, frozen=True):
    """One KPI at a look; `p` is the chance to look as bad if the versions do not differ."""

    kpi: str
    verdict: Verdict
    canary: float | None
    stable: float | None
    units: tuple[int, int]
    """The number of units with a value: of the canary, and of the stable version."""
    p: float | None = None
    against: str = ""
    """Why the canary must be given up because of it; empty if it need not."""


class _Look:
    """A look in progress: the table of values at its beginning."""

    def __init__(
        self,
        number: int,
        values: NDArray[np.float64],
        canary: NDArray[np.bool_],
        limits: Rollback,
    ) -> None:
        self._limits = limits
        self._values, self._canary = values, canary
        self._alpha = (1.0 - limits.confidence) / (number * (number + 1))
        signs = [effect.sign for effect in EFFECTS]
        self._test = PermutationTest(values, canary, signs, seed=number)
        self._sides = [self._side(index) for index in range(len(EFFECTS))]
        self._limited = [
            index
            for index, effect in enumerate(EFFECTS)
            if effect.limit(limits) is not None and self._is_enough(index)
        ]
        self._each = self._alpha / max(len(self._limited), 1)

    def draw(self) -> bool:
        """Work for a moment; True when it is done."""
        self._test.draw()
        if self._test.draws < _LEAST_DRAWS:
            return False
        if self._test.draws >= _DRAWS_PER_CHANCE / self._each:
            return True
        open_ = (index for index in self._limited if self._is_beyond(index))
        return not any(self._test.p_worse(index) <= 2 * self._alpha for index in open_)

    def findings(self) -> tuple[Finding, ...]:
        """The findings; call it once the look is done."""
        chances = {EFFECTS[index].name: self._test.p_worse(index) for index in self._limited}
        significant = holm(chances, self._alpha)
        verdicts = self._verdicts()
        return tuple(self._finding(index, significant, verdicts) for index in range(len(EFFECTS)))

    def _verdicts(self) -> dict[str, Verdict]:
        """The verdict of this look alone, by KPI, regardless of earlier looks."""
        enough = [index for index in range(len(EFFECTS)) if self._is_enough(index)]
        alpha = 1.0 - self._limits.confidence
        worse = holm({EFFECTS[i].name: self._test.p_worse(i) for i in enough}, alpha / 2)
        better = holm({EFFECTS[i].name: self._test.p_better(i) for i in enough}, alpha / 2)
        return {**dict.fromkeys(better, "better"), **dict.fromkeys(worse, "worse")}

    def _finding(self, index: int, significant: set[str], verdicts: dict[str, Verdict]) -> Finding:
        effect, (canary, stable) = EFFECTS[index], self._sides[index]
        units = len(canary), len(stable)
        mine = effect.value(canary) if canary else None
        theirs = effect.value(stable) if stable else None
        if mine is None or theirs is None or not self._is_enough(index):
            return Finding(effect.name, "not enough evidence", mine, theirs, units)
        p = self._test.p_worse(index)
        against = ""
        if effect.name in significant and self._is_beyond(index):
            against = self._sentence(effect, mine, theirs, units, p)
        verdict = verdicts.get(effect.name, "no difference shown")
        return Finding(effect.name, verdict, mine, theirs, units, p, against)

    def _side(self, index: int) -> tuple[list[float], list[float]]:
        column = self._values[:, index]
        known = ~np.isnan(column)
        mine, theirs = column[known & self._canary], column[known & ~self._canary]
        return mine.tolist(), theirs.tolist()

    def _is_enough(self, index: int) -> bool:
        return min(map(len, self._sides[index])) >= self._limits.min_pods

    def _is_beyond(self, index: int) -> bool:
        effect, (canary, stable) = EFFECTS[index], self._sides[index]
        limit = effect.limit(self._limits)
        return limit is not None and effect.is_beyond(
            effect.value(canary), effect.value(stable), limit
        )

    def _sentence(
        self, effect: Effect, mine: float, theirs: float, units: tuple[int, int], p: float
    ) -> str:
        limit = effect.limit(self._limits)
        assert limit is not None
        return (
            f"its {effect.words}, {effect.written(mine)}, is worse than the"
            f" {effect.written(theirs)} of the stable version, and {effect.allowed(limit)}"
            f" ({units[0]} and {units[1]} compared; chance would show that in"
            f" 1 of {math.floor(1 / p):,} cases)"
        )


class Comparison:
    """The looks at one canary, one after the other."""

    def __init__(self, limits: Rollback) -> None:
        self._limits = limits
        self.pods = ComparedPods(limits.window)
        self.looks = 0
        self.findings: tuple[Finding, ...] = ()
        """The findings of the last look; empty before the first."""
        self._next = limits.min_pods
        self._look: _Look | None = None

    @property
    def is_due(self) -> bool:
        """Whether there is something to do."""
        return self._look is not None or (self.pods.ended >= self._next and not self.missing)

    @property
    def missing(self) -> str:
        """What is missing before the versions can be compared; empty if nothing is."""
        mine, theirs = self.pods.units(canary=True), self.pods.units(canary=False)
        least = self._limits.min_pods
        if min(mine, theirs) >= least:
            return ""
        return (
            f"not enough evidence: {mine} of the canary and {theirs} of the stable version,"
            f" and {least} of each are needed"
        )

    def step(self) -> bool:
        """Work for a moment; True if a look has just ended."""
        if self._look is None:
            self.looks += 1
            values, canary = self.pods.table()
            self._look = _Look(self.looks, values, canary, self._limits)
        if not self._look.draw():
            return False
        self.findings = self._look.findings()
        self._look = None
        self._next = self.pods.ended + min(self.pods.ended, _WINDOWS * self._limits.window)
        return True

    def against(self) -> str:
        """Why the canary must be given up; empty if it may go on."""
        return "; ".join(finding.against for finding in self.findings if finding.against)

    def verdicts(self) -> tuple[str, ...]:
        """The verdict on each KPI, in words."""
        return tuple(finding.verdict for finding in self.findings)

    def summary(self) -> str:
        """The state of the comparison, in a sentence."""
        if not self.findings:
            return self.missing or "not compared yet"
        return "; ".join(_told(finding) for finding in self.findings)

    def shown(self) -> dict[str, Any]:
        """What `/configz` shows of it."""
        return {
            "looks": self.looks,
            "summary": self.summary(),
            "kpis": [msgspec.to_builtins(finding) for finding in self.findings],
        }


def _told(finding: Finding) -> str:
    effect = next(each for each in EFFECTS if each.name == finding.kpi)
    if finding.canary is None or finding.stable is None or finding.p is None:
        return f"{finding.kpi}: not enough evidence ({finding.units[0]} and {finding.units[1]})"
    beside = f"{effect.written(finding.canary)} beside {effect.written(finding.stable)}"
    return f"{finding.kpi}: {finding.verdict} ({beside})"
