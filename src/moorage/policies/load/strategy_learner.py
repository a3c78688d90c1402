"""Learns a namespace's strategy from outcomes: one bounded step at a time, taken back if it hurts.

1. If every goal is met, nothing changes.
2. Otherwise the goal with the largest shortfall comes first: the first step that may help it is
   tried. A step moves one setting once, within its bounds.
3. After the next sufficiently long window, the regret (the mean shortfall of all goals) is compared
   with the regret before the step:
   - If it rose by more than `TOLERANCE` and the noise of small numbers, the step is taken back. It
     is not tried again for `REST` windows, twice as long each time it fails.
   - Otherwise it stays, and the next step is sought.

So a strategy moves by at most one step per window and never leaves its bounds. Every change has a
sentence that tells why.
"""

from typing import Final

import msgspec

from moorage.policies.load import strategy_goals
from moorage.policies.load.strategy_goals import Shortfall

TOLERANCE: Final = 0.02
REST: Final = 4
_LONGEST_REST: Final = 64
_REASONS: Final = 20

Step = tuple[str, int]
"""A setting, and the direction: 1 up, -1 down."""


class Setting(msgspec.Struct, frozen=True):
    """A learnt number: its bounds and its step."""

    least: int
    most: int
    step: int


COST: Final = "cost"
SAFETY: Final = "safety"
NEARNESS: Final = "nearness"
PACKING: Final = "packing"
CPU: Final = "cpu"

SETTINGS: Final = {
    COST: Setting(0, 400, 100),
    SAFETY: Setting(0, 400, 100),
    NEARNESS: Setting(0, 400, 100),
    PACKING: Setting(-100, 100, 25),
    CPU: Setting(-30, 30, 10),
}
"""The weights of cost, safety and nearness, where resources weigh 100; and what is added to the
pattern's packing and to its weight of cpu."""

HELPS: Final[dict[str, tuple[Step, ...]]] = {
    strategy_goals.COST: ((COST, 1), (PACKING, 1)),
    strategy_goals.LOSS: ((SAFETY, 1), (PACKING, -1), (CPU, 1), (CPU, -1), (COST, -1)),
    strategy_goals.LATENCY: ((NEARNESS, 1), (COST, -1)),
    strategy_goals.SUCCESS: ((PACKING, 1), (CPU, 1), (CPU, -1), (PACKING, -1)),
    strategy_goals.WAIT: ((PACKING, 1), (CPU, 1), (CPU, -1), (PACKING, -1)),
    strategy_goals.UTILISATION: ((PACKING, 1),),
}
"""The steps that may help a goal, the likeliest first."""


class Trial(msgspec.Struct):
    """A step on trial, with the regret and noise before it."""

    setting: str
    direction: int
    before: int
    regret: float
    noise: float = 0.0


class Learner(msgspec.Struct):
    """What was learnt for one namespace; `stateConfigMap` stores it as it is."""

    values: dict[str, int] = msgspec.field(default_factory=dict)
    trial: Trial | None = None
    resting: dict[str, int] = msgspec.field(default_factory=dict)
    failures: dict[str, int] = msgspec.field(default_factory=dict)
    windows: int = 0
    reasons: list[str] = msgspec.field(default_factory=list)

    def value(self, setting: str) -> int:
        return self.values.get(setting, 0)

    def judge(self, found: list[Shortfall]) -> str:
        """Learn from one window; returns the sentence that tells what was done, and why."""
        self.windows += 1
        sentence = self._take_back(found) or self._move(found)
        self.reasons = [*self.reasons, sentence][-_REASONS:]
        return sentence

    def _take_back(self, found: list[Shortfall]) -> str:
        """Undo the step on trial if the regret rose."""
        trial, self.trial = self.trial, None
        if trial is None:
            return ""
        now = strategy_goals.regret(found)
        doubt = max(trial.noise, strategy_goals.noise(found))
        if now <= trial.regret + TOLERANCE + doubt:
            self.failures.pop(_key(trial.setting, trial.direction), None)
            return ""
        self._rest(trial.setting, trial.direction)
        after, self.values[trial.setting] = self.value(trial.setting), trial.before
        return (
            f"{trial.setting} goes back from {after} to {trial.before}: the regret rose from "
            f"{trial.regret:.2f} to {now:.2f}"
        )

    def _move(self, found: list[Shortfall]) -> str:
        missed = [each for each in found if each.amount > 0]
        if not missed:
            return "every goal is met; nothing changes"
        for shortfall in missed:
            for setting, direction in HELPS[shortfall.goal]:
                if self._may(setting, direction):
                    return self._try(setting, direction, found, shortfall)
        return f"{missed[0].words}; no step is left to try, those that failed rest"

    def _may(self, setting: str, direction: int) -> bool:
        bounds = SETTINGS[setting]
        after = self.value(setting) + direction * bounds.step
        rested = self.resting.get(_key(setting, direction), 0) <= self.windows
        return rested and bounds.least <= after <= bounds.most

    def _try(self, setting: str, direction: int, found: list[Shortfall], why: Shortfall) -> str:
        before = self.value(setting)
        level, doubt = strategy_goals.regret(found), strategy_goals.noise(found)
        self.trial = Trial(setting, direction, before, level, doubt)
        after = self.values[setting] = before + direction * SETTINGS[setting].step
        return f"{why.words}; so {setting} goes from {before} to {after}"

    def _rest(self, setting: str, direction: int) -> None:
        key = _key(setting, direction)
        self.failures[key] = self.failures.get(key, 0) + 1
        rest = min(REST * 2 ** (self.failures[key] - 1), _LONGEST_REST)
        self.resting[key] = self.windows + rest


def _key(setting: str, direction: int) -> str:
    return f"{setting}{'+' if direction > 0 else '-'}"
