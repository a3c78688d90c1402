"""Canaries are watched: results beside the stable version's, and an end when they do worse."""

from typing import TYPE_CHECKING, Any, Final

from moorage.config.profile_canary import STABLE
from moorage.observe.records import Attempt, Bound, Result, RolledBack
from moorage.rollout.canary import Canary
from moorage.scheduler import reconfigure

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler

GIVEN_UP: Final = (
    "version {} of profile {} is given up: {}; all pods are the stable version's again"
)


class CanaryWatch:
    """Counts what becomes of pods, by version, and gives up canaries that fail."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._desk = scheduler
        self._suspects: list[Canary] = []
        self._placed: set[str] = set()
        """Attempts whose pod is being bound: should that fail, they are told of again."""

    def attempted(self, attempt: Attempt) -> None:
        """An attempt at a pod of a profile that has a canary ended."""
        canary = self._desk.lineup.canaries.get(attempt.profile)
        results = None if canary is None else canary.results.get(attempt.version)
        if canary is None or results is None:
            return
        if attempt.id not in self._placed:
            results.decided(attempt.seconds)
        if attempt.result is Result.SCHEDULED:
            self._placed.add(attempt.id)
        else:
            self._placed.discard(attempt.id)
            results.ended(attempt.uid, failed=True)
        self._suspect(canary, attempt.version)

    def bound(self, bound: Bound) -> None:
        """A pod of a profile that has a canary was bound."""
        self._placed.discard(bound.attempt)
        canary = self._desk.lineup.canaries.get(bound.profile)
        results = None if canary is None else canary.results.get(bound.version)
        if canary is not None and results is not None:
            results.ended(bound.uid, failed=False)
            self._suspect(canary, bound.version)

    def _suspect(self, canary: Canary, version: str) -> None:
        """What fails is given up between two attempts, not within one."""
        if version != STABLE and not canary.given_up and canary.judge():
            self._suspects.append(canary)

    def tick(self) -> None:
        """Give up whom there is reason to."""
        while self._suspects:
            canary = self._suspects.pop()
            if self._desk.lineup.canaries.get(canary.scheduler_name) is canary:
                reason = canary.judge()
                if reason:
                    self._give_up(canary, reason)

    def _give_up(self, canary: Canary, reason: str) -> None:
        desk, name = self._desk, canary.scheduler_name
        canary.given_up = reason
        reconfigure.rejoin(desk, {name})
        note = GIVEN_UP.format(canary.given.name, name, reason)
        desk.observers.rolled_back(RolledBack(name, canary.given.name, reason))
        if desk.about is not None:
            desk.recorder.record(name, desk.about, "Warning", "CanaryRolledBack", "Reloading", note)

    def percents(self) -> tuple[tuple[str, str, float], ...]:
        """Every canary: its profile, its name, and the share of pods it decides for."""
        canaries = self._desk.lineup.canaries
        return tuple((name, each.given.name, each.percent) for name, each in canaries.items())

    def shown(self) -> list[dict[str, Any]]:
        """Every canary, for `/configz`."""
        return [canary.shown() for canary in self._desk.lineup.canaries.values()]
