"""Watches canaries: compares them with the stable version, and gives up those that do worse."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from moorage.api.pod import Pod
from moorage.bind.event_recorder import EventRecorder
from moorage.config.profile_canary import STABLE
from moorage.cycle import profile_handover
from moorage.cycle.profile import Profile
from moorage.observe.metric_families import Family
from moorage.observe.observers import Observers
from moorage.observe.records import Attempt, Bound, Compared, Result, RolledBack
from moorage.policies.load import outcomes
from moorage.rollout import canary_metrics
from moorage.rollout.canary import Canary
from moorage.rollout.placement_meter import PlacementMeter
from moorage.scheduler.feature import Feature
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.reconfigure import Reconfiguration
from moorage.scheduler.version import Version
from moorage.watch.api_resources import Resource
from moorage.watch.reflector import Change

GIVEN_UP: Final = (
    "version {} of profile {} is given up: {}; all pods are the stable version's again"
)

COMPARED: Final = "version {} of profile {} beside the stable version: {}"


class Canaries(Feature):
    """Lets canaries decide for their share of pods, counts results by version, and gives up
    canaries that fail. It is also an observer, in order to see attempts."""

    hears = ("pods",)

    def __init__(
        self,
        profiles: Profiles,
        meter: PlacementMeter,
        observers: Observers,
        recorder: EventRecorder,
        reconfiguration: Reconfiguration,
    ) -> None:
        self._profiles = profiles
        self._meter = meter
        self._observers = observers
        self._recorder = recorder
        self._reconfiguration = reconfiguration
        self._canaries: dict[str, Canary] = {}
        self._suspects: list[Canary] = []
        self._placed: set[str] = set()
        """Attempts whose pod is being bound; if binding fails, they are reported again."""
        self._told: dict[str, tuple[str, ...]] = {}

    def configure(
        self, version: Version, profiles: Mapping[str, Profile], changed: frozenset[str]
    ) -> Collection[str]:
        """Run the canaries of a configuration version; those that stay keep their counts."""
        before = self._canaries
        after = {
            name: _succeed(before.get(name), canary, unchanged=name not in changed)
            for name, canary in _given(version).items()
        }
        for name, canary in after.items():
            profile_handover.hand_over_state(profiles[name], canary.profile)
        self._canaries = after
        return {name for name in {*before, *after} if before.get(name) is not after.get(name)}

    def profile_for(self, pod: Pod) -> Profile | None:
        if not self._canaries:
            return None
        canary = self._canaries.get(pod.spec.scheduler_name)
        if canary is None:
            return None
        canary.enter(pod)
        return canary.profile if canary.takes(pod) else None

    def version_of(self, profile: Profile) -> str:
        if profile.version or profile.scheduler_name not in self._canaries:
            return profile.version
        return STABLE

    def variants(self) -> Iterable[Profile]:
        return [each.profile for each in self._canaries.values() if not each.given_up]

    def variants_of(self, version: Version) -> Iterable[Profile]:
        return [each.profile for each in _given(version).values()]

    def attempted(self, attempt: Attempt) -> None:
        """Count an attempt that ended, if its profile has a canary."""
        if not attempt.version:
            return
        canary = self._canaries.get(attempt.profile)
        results = None if canary is None else canary.results.get(attempt.version)
        if canary is None or results is None:
            return
        compared = canary.comparison.pods
        if attempt.id not in self._placed:
            results.decided(attempt.seconds)
            compared.set(attempt.uid, "latency", attempt.seconds)
        compared.add(attempt.uid, "evictions", attempt.victims)
        if attempt.result is Result.SCHEDULED:
            self._placed.add(attempt.id)
        else:
            self._placed.discard(attempt.id)
            results.ended(attempt.uid, failed=True)
            compared.set(attempt.uid, "failures", 1.0)
            compared.end(attempt.uid)
        self._suspect(canary, attempt.version)

    def bound(self, bound: Bound) -> None:
        """Count a bound pod, if its profile has a canary."""
        if not bound.version:
            return
        self._placed.discard(bound.attempt)
        canary = self._canaries.get(bound.profile)
        results = None if canary is None else canary.results.get(bound.version)
        if canary is not None and results is not None:
            results.ended(bound.uid, failed=False)
            self._measure(canary, bound)
            self._suspect(canary, bound.version)

    def after(self, change: Change, resource: Resource) -> None:
        """Count an evicted pod against the version that placed it."""
        if not self._canaries:
            return
        old, new = change.old, change.new
        before = old if isinstance(old, Pod) else None
        after = new if isinstance(new, Pod) else None
        pod = after or before
        canary = None if pod is None else self._canaries.get(pod.spec.scheduler_name)
        if canary is not None and pod is not None and pod.uid in canary.comparison.pods:
            canary.comparison.pods.add(pod.uid, "evictions", outcomes.was_evicted(before, after))

    def tick(self, now: float) -> None:
        """Give up canaries that must be, and go on with the comparisons for a moment."""
        while self._suspects:
            canary = self._suspects.pop()
            if self._canaries.get(canary.scheduler_name) is canary:
                reason = canary.judge()
                if reason:
                    self._give_up(canary, reason)
        for canary in self._canaries.values():
            if not canary.given_up and canary.comparison.is_due and canary.comparison.step():
                self._tell(canary)
                self._suspect(canary, canary.given.name)

    def next_due(self) -> float | None:
        at_once = (each.comparison.is_due and not each.given_up for each in self._canaries.values())
        return 0.0 if self._suspects or any(at_once) else None

    def families(self) -> Iterable[Family]:
        """The comparisons, for Prometheus."""
        return canary_metrics.compared_families(self._canaries.values())

    def percents(self) -> tuple[tuple[str, str, float], ...]:
        """Every canary: its profile, its name, and the share of pods it decides for."""
        found = self._canaries.items()
        return tuple((name, each.given.name, each.percent) for name, each in found)

    def shown(self) -> list[dict[str, Any]]:
        """Every canary, for `/configz`."""
        return [canary.shown() for canary in self._canaries.values()]

    def _measure(self, canary: Canary, bound: Bound) -> None:
        """Measure the placement of a pod that was bound."""
        compared = canary.comparison.pods
        if bound.uid not in compared:
            return
        compared.set(bound.uid, "failures", 0.0)
        compared.set(bound.uid, "wait", bound.since_added)
        stable = self._profiles.by_name.get(bound.profile)
        profiles = (canary.profile,) if stable is None else (stable, canary.profile)
        found = self._meter.measure(bound.uid, profiles)
        for kpi, value in () if found is None else found._asdict().items():
            compared.set(bound.uid, kpi, value)
        compared.end(bound.uid)

    def _tell(self, canary: Canary) -> None:
        """Log a look that has ended, and write an event if its result is new."""
        name, version, about = canary.scheduler_name, canary.given.name, self._profiles.about
        summary = canary.comparison.summary()
        self._observers.compared(Compared(name, version, canary.comparison.looks, summary))
        verdicts = canary.comparison.verdicts()
        if about is not None and self._told.get(name) != verdicts:
            self._told[name] = verdicts
            note = COMPARED.format(version, name, summary)
            self._recorder.record(name, about, "Normal", "CanaryCompared", "Reloading", note)

    def _suspect(self, canary: Canary, version: str) -> None:
        """Have the canary given up between two attempts, not within one."""
        if version != STABLE and not canary.given_up and canary.judge():
            self._suspects.append(canary)

    def _give_up(self, canary: Canary, reason: str) -> None:
        name, about = canary.scheduler_name, self._profiles.about
        canary.give_up(reason)
        self._reconfiguration.rejoin({name})
        note = GIVEN_UP.format(canary.given.name, name, reason)
        self._observers.rolled_back(RolledBack(name, canary.given.name, reason))
        if about is not None:
            self._recorder.record(name, about, "Warning", "CanaryRolledBack", "Reloading", note)


def _given(version: Version) -> Mapping[str, Canary]:
    found: Mapping[str, Canary] = version.features.get(Canaries, {})
    return found


def _succeed(before: Canary | None, after: Canary, *, unchanged: bool) -> Canary:
    """A canary that is unchanged stays given up; beside the same version, it keeps its counts."""
    if before is None or before.given != after.given:
        return after
    if not profile_handover.is_same_profile(before.profile, after.profile):
        return after
    if unchanged:
        return before
    if before.given_up:
        after.give_up(before.given_up)
    return after
