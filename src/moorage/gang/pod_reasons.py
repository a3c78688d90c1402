"""Why pods of groups wait: in their status and in an event, each reason once.

A group may have hundreds of pods. Outcomes of attempts are told to each of them once a minute at
most. What a group waits for is told when it is another than before.
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
"""How often a refusal is written that the status of the pod does not show."""


class PodReasons:
    """What each pod was told last, by uid."""

    def __init__(self, cache: Cache, clock: Clock, reporter: Reporter) -> None:
        self._cache = cache
        self._clock = clock
        self._reporter = reporter
        self._refusals: dict[str, tuple[str, int]] = {}
        self._attempts: dict[str, float] = {}

    def forget(self, uid: str) -> None:
        """A pod is gone."""
        self._refusals.pop(uid, None)
        self._attempts.pop(uid, None)

    def review(self, group: Group) -> bool:
        """Tell pods what their group waits for; False where one does not say so yet.

        What else keeps a group from being tried passes by itself. It is told only to pods that
        would go on saying what is no longer so. Of a pod that is being bound nothing is said.
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
        """Tell a pod why it may not even be attempted; False where it does not say so yet."""
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
        """Tell pods why an attempt at their group has failed."""
        now = self._clock.now()
        for queued in members:
            pod = queued.info.pod
            if now - self._attempts.get(pod.uid, -math.inf) >= ATTEMPTS_EVERY_SECONDS:
                self._attempts[pod.uid] = now
                self._refusals.pop(pod.uid, None)
                self._reporter.not_scheduled(pod, reason, message)
