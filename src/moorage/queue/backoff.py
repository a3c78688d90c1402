"""Backoff: how long a pod waits after a failed attempt.

1. The first failure costs `initial` seconds, each further one twice as much, up to `maximum`.
   After an error, the errors since the last refusal are counted; after a refusal, all refusals
   of the pod's life.
2. The end of a backoff is rounded down to a window of one second, so that pods that become ready
   within the same second are ordered by priority. A pod backs off until its window is over.
3. A `maximum` of 0 switches backoff off.
"""

import math
from typing import Final

import msgspec

from moorage.framework.queued_pod import QueuedPod

WINDOW: Final = 1.0
NEVER: Final = -math.inf
_DOUBLINGS: Final = 62


class Backoff(msgspec.Struct, frozen=True):
    """kube-scheduler's podInitialBackoffSeconds and podMaxBackoffSeconds."""

    initial: float = 1.0
    maximum: float = 10.0

    def duration(self, failures: int) -> float:
        """Seconds to wait after so many failures."""
        if failures <= 0:
            return 0.0
        return min(self.initial * float(1 << min(failures - 1, _DOUBLINGS)), self.maximum)

    def until(self, pod: QueuedPod) -> float:
        """The start of the window in which the backoff ends; `NEVER` for a pod that need not wait.

        The result is kept in `pod.backoff_until`; reset that to None when the pod fails again.
        """
        if pod.backoff_until is None:
            pod.backoff_until = self._until(pod)
        return pod.backoff_until

    def is_backing_off(self, pod: QueuedPod, now: float) -> bool:
        """Whether the pod still has to wait."""
        return self.until(pod) >= window(now)

    def _until(self, pod: QueuedPod) -> float:
        failures = pod.consecutive_errors or pod.unschedulable_count
        if not self.maximum or not failures:
            return NEVER
        return window(pod.timestamp + self.duration(failures))


def window(time: float) -> float:
    """The start of the window that a time falls into."""
    return math.floor(time / WINDOW) * WINDOW
