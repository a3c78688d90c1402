"""Compares a canary with the stable version, KPI by KPI, and says what is more than chance.

1. Looks are few: one when both groups have `minPods` units, then each time the canary has had twice
   as many pods as at the last, or five windows more. Who looks often enough finds anything, so the
   k-th look may err with the chance alpha / k(k + 1) only: over all looks that is at most alpha.
2. A look tests all KPIs by permutation (permutation_test.py), a few milliseconds at a time.
3. Among the KPIs that have limits Holm's method divides the chance to err.
4. A KPI speaks against the canary where it is worse than the limit allows, and significantly so.
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
"""After how many windows to look again at the latest."""
_LEAST_DRAWS: Final = 1_000
_DRAWS_PER_CHANCE: Final = 4
"""How many draws there are for each that may look as bad, at the level that is asked for."""


class Finding(msgspec.Struct, frozen=True):
    """One KPI at a look; `p` is the chance that it looks as bad where nothing differs."""

    kpi: str
    verdict: Verdict
    canary: float | None
    stable: float | None
    units: tuple[int, int]
    """Of the canary and of the stable version, those that have a value."""
    p: float | None = None
    against: str = ""
    """Why the canary is to be given up for it."""


class _Look:
    """One look under way: a table of values as they were when it began."""

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
        """What was found, once it is done."""
        chances = {EFFECTS[index].name: self._test.p_worse(index) for index in self._limited}
        significant = holm(chances, self._alpha)
        verdicts = self._verdicts()
        return tuple(self._finding(index, significant, verdicts) for index in range(len(EFFECTS)))

    def _verdicts(self) -> dict[str, Verdict]:
        """What this look shows by itself, whatever was looked at before."""
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
        """Of the last look; none before the first."""
        self._next = limits.min_pods
        self._look: _Look | None = None

    @property
    def is_due(self) -> bool:
        """Whether there is something to do."""
        return self._look is not None or (self.pods.ended >= self._next and not self.missing)

    @property
    def missing(self) -> str:
        """What is missing before anything can be compared; nothing where it can."""
        mine, theirs = self.pods.units(canary=True), self.pods.units(canary=False)
        least = self._limits.min_pods
        if min(mine, theirs) >= least:
            return ""
        return (
            f"not enough evidence: {mine} of the canary and {theirs} of the stable version,"
            f" and {least} of each are needed"
        )

    def step(self) -> bool:
        """Work for a moment; True where a look has just ended."""
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
        """Why the canary is to be given up; nothing where it may go on."""
        return "; ".join(finding.against for finding in self.findings if finding.against)

    def verdicts(self) -> tuple[str, ...]:
        """What was found of each KPI."""
        return tuple(finding.verdict for finding in self.findings)

    def summary(self) -> str:
        """Where things stand, in a sentence."""
        if not self.findings:
            return self.missing or "not compared yet"
        return "; ".join(_told(finding) for finding in self.findings)

    def shown(self) -> dict[str, Any]:
        """What `/configz` tells of it."""
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
