"""A canary: a new version of a profile that decides for a share of its pods.

A hash of the pod's name, or of its owner's, selects the pods. So a pod keeps its version over all
its attempts, and all pods of an owner have the same version. Pods of a group stay with the stable
version, because one profile places a whole group.
"""

import hashlib
import math
from collections import OrderedDict, deque
from typing import Any

from moorage.api import podgroup
from moorage.api.pod import Pod
from moorage.config.canary_limits import Rollback
from moorage.config.profile_canary import STABLE, ProfileCanary
from moorage.cycle.profile import Profile
from moorage.rollout.compared_pods import CONTROL_SHARE
from moorage.rollout.comparison import Comparison
from moorage.rollout.effects import QUANTILE


class Results:
    """The last pods and attempts of one version."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._pods: OrderedDict[str, bool] = OrderedDict()
        self._seconds: deque[float] = deque(maxlen=window)
        self._failed = 0
        self.attempts = 0

    def decided(self, seconds: float) -> None:
        """Add the duration of an attempt, from popping the pod to assuming or rejecting it."""
        self.attempts += 1
        self._seconds.append(seconds)

    def ended(self, uid: str, *, failed: bool) -> None:
        """Record the result of the last attempt at a pod."""
        self._failed += failed - self._pods.pop(uid, False)
        self._pods[uid] = failed
        if len(self._pods) > self._window:
            self._failed -= self._pods.popitem(last=False)[1]

    @property
    def pods(self) -> int:
        return len(self._pods)

    @property
    def failure_rate(self) -> float:
        """The share of pods whose last attempt failed."""
        return self._failed / len(self._pods) if self._pods else 0.0

    @property
    def latency(self) -> float:
        """The 90th percentile of the durations of attempts, in seconds."""
        if not self._seconds:
            return 0.0
        ordered = sorted(self._seconds)
        return ordered[min(int(len(ordered) * QUANTILE), len(ordered) - 1)]

    def shown(self) -> dict[str, Any]:
        return {
            "attempts": self.attempts,
            "pods": self.pods,
            "failureRate": round(self.failure_rate, 4),
            "latencySeconds": round(self.latency, 6),
        }


def verdict(canary: Results, limits: Rollback) -> str:
    """Why a canary must be given up by its own results; empty if it may go on."""
    if canary.pods < limits.min_pods:
        return ""
    rate, latency = canary.failure_rate, canary.latency
    if limits.max_failure_rate is not None and rate > limits.max_failure_rate:
        return f"its failure rate, {rate:.0%}, is above {limits.max_failure_rate:.0%}"
    if limits.max_latency is not None and latency > limits.max_latency.seconds:
        return f"its latency, {latency * 1000:.3g} ms, is above {limits.max_latency}"
    return ""


class Canary:
    """One canary, with the results of its pods and of those of the stable version."""

    def __init__(self, given: ProfileCanary, profile: Profile) -> None:
        self.given = given
        self.profile = profile
        self.given_up = ""
        """Why it has been given up; empty while it runs."""
        window = given.spec.rollback.window
        self.results = {STABLE: Results(window), given.name: Results(window)}
        self.comparison = Comparison(given.spec.rollback)

    @property
    def scheduler_name(self) -> str:
        return self.given.spec.scheduler_name

    @property
    def percent(self) -> float:
        """The share of pods it decides for now."""
        return 0.0 if self.given_up else self.given.spec.percent

    def give_up(self, reason: str) -> None:
        """Give the canary up: it decides for no more pods."""
        self.given_up = reason

    def takes(self, pod: Pod) -> bool:
        """Whether the canary decides for a pod."""
        return self._place(pod) < self.percent

    def enter(self, pod: Pod) -> None:
        """Compare a pod from its first attempt on, if it is in the canary or the control group."""
        place, percent = self._place(pod), self.percent
        if place < percent * (1 + CONTROL_SHARE):
            self.comparison.pods.enter(pod.uid, self._whose(pod), is_canary=place < percent)

    def judge(self) -> str:
        """Why it must be given up; empty if it may go on."""
        if self.given_up:
            return ""
        limits = self.given.spec.rollback
        return verdict(self.results[self.given.name], limits) or self.comparison.against()

    def shown(self) -> dict[str, Any]:
        """What `/configz` shows of it."""
        return {
            "name": self.given.name,
            "schedulerName": self.scheduler_name,
            "percent": self.percent,
            "state": "RolledBack" if self.given_up else "Running",
            "reason": self.given_up,
            "versions": {name: found.shown() for name, found in self.results.items()},
            "comparison": self.comparison.shown(),
        }

    def _place(self, pod: Pod) -> float:
        """The hash of a pod in [0, 100); at least 100 for pods that the canary never takes."""
        if podgroup.group_names(pod):
            return math.inf
        return share(f"{self.given.name}/{self._whose(pod)}")

    def _whose(self, pod: Pod) -> str:
        if self.given.spec.hash_by == "owner":
            for owner in pod.metadata.owner_references:
                if owner.controller:
                    return f"{pod.namespace}/{owner.kind}/{owner.name}"
        return pod.key


def share(text: str) -> float:
    """A hash of a text in [0, 100), the same in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64 * 100
