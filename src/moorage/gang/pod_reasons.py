"""Why pods of groups wait: in their status and in an event, each reason once.

A group may have hundreds of pods. So the outcome of an attempt is written to each pod once a minute
at most. The reason why a group waits is written when it differs from the one before.
"""

import math
from typing import Final

from moorage.api.pod import Pod
from moorage.bind.status_patches import Reason
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.framework.queued_pod import QueuedPod
from moorage.gang.group import Group
from moorage.scheduler.report import Reporter

ATTEMPTS_EVERY_SECONDS: Final = 60.0
TRIES: Final = 8
"""How often a refusal is written again while the pod's status does not show it."""


class PodReasons:
    """The last reason written to each pod, by uid."""

    def __init__(self, cache: Cache, clock: Clock, reporter: Reporter) -> None:
        self._cache = cache
        self._clock = clock
        self._reporter = reporter
        self._refusals: dict[str, tuple[str, int]] = {}
        self._attempts: dict[str, float] = {}

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone."""
        self._refusals.pop(uid, None)
        self._attempts.pop(uid, None)

    def review(self, group: Group) -> bool:
        """Write to pods what their group waits for; False if some pod's status lacks it yet.

        Missing objects and pods, and pods that are not alike, are written to all waiting pods.
        Other reasons pass by themselves: they are written only to pods whose status has an earlier
        one, which is outdated. Nothing is written to pods that are being bound.
        """
        refusal = group.refusal()
        if refusal is None:
            return True
        to_all = group.lacks_objects or bool(group.unlike)
        reason: Reason = "SchedulerError" if group.unlike else "Unschedulable"
        told = [
            self.refuse(pod, refusal, reason)
            for pod in group.waiting.values()
            if (to_all or pod.uid in self._refusals) and pod.uid not in self._cache.assumed
        ]
        return all(told)

    def refuse(self, pod: Pod, refusal: str, reason: Reason = "Unschedulable") -> bool:
        """Write to a pod why it may not be attempted; False if its status lacks that yet."""
        told, tries = self._refusals.get(pod.uid, ("", 0))
        tries = tries + 1 if told == refusal else 1
        self._refusals[pod.uid] = refusal, tries
        self._attempts.pop(pod.uid, None)
        if self._reporter.says_for_good(pod, reason, refusal) or tries > TRIES:
            return True
        self._reporter.not_scheduled(pod, reason, refusal)
        return False

    def attempted(
        self, members: list[QueuedPod], message: str, reason: Reason = "Unschedulable"
    ) -> None:
        """Write to pods why an attempt at their group failed."""
        now = self._clock.now()
        for queued in members:
            pod = queued.info.pod
            if now - self._attempts.get(pod.uid, -math.inf) >= ATTEMPTS_EVERY_SECONDS:
                self._attempts[pod.uid] = now
                self._refusals.pop(pod.uid, None)
                self._reporter.not_scheduled(pod, reason, message)
