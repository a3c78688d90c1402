"""What became of the pods of one version of a profile, and whether a canary does worse.

1. A pod counts once, by the last attempt at it: one that is tried again and again does not outvote
   the others. It succeeded when it was bound.
2. Only the last `window` pods, and as many attempts, are looked at.
3. Nothing is judged before `minPods` pods have been attempted; nothing is compared before the
   stable version has as many.
"""

from collections import OrderedDict, deque
from typing import Any, Final

from moorage.config.canary import Rollback

QUANTILE: Final = 0.9


class Results:
    """The last pods and attempts of one version."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._pods: OrderedDict[str, bool] = OrderedDict()
        self._seconds: deque[float] = deque(maxlen=window)
        self._failed = 0
        self.attempts = 0

    def decided(self, seconds: float) -> None:
        """An attempt took so long, from popping the pod to assuming it or giving it up."""
        self.attempts += 1
        self._seconds.append(seconds)

    def ended(self, uid: str, *, failed: bool) -> None:
        """The last attempt at a pod ended so."""
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
        """The seconds that nine of ten attempts do not exceed."""
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


def verdict(canary: Results, stable: Results, limits: Rollback) -> str:
    """Why a canary is to be given up; nothing where it may go on."""
    if canary.pods < limits.min_pods:
        return ""
    rate, latency = canary.failure_rate, canary.latency
    if limits.max_failure_rate is not None and rate > limits.max_failure_rate:
        return f"its failure rate, {rate:.0%}, is above {limits.max_failure_rate:.0%}"
    if limits.max_latency is not None and latency > limits.max_latency.seconds:
        return f"its latency, {latency * 1000:.3g} ms, is above {limits.max_latency}"
    if stable.pods < limits.min_pods:
        return ""
    increase, ratio = limits.max_failure_rate_increase, limits.max_latency_ratio
    if increase is not None and rate > stable.failure_rate + increase:
        beside = f"{stable.failure_rate:.0%} of the stable version"
        return f"its failure rate, {rate:.0%}, is more than {increase:.0%} above the {beside}"
    if ratio is not None and stable.latency and latency > stable.latency * ratio:
        beside = f"{stable.latency * 1000:.3g} ms of the stable version"
        return f"its latency, {latency * 1000:.3g} ms, is more than {ratio:g} times the {beside}"
    return ""
