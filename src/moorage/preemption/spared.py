"""Pods that may not be evicted though their priority is lower: young ones, victims of a circle.

An annotation of a pod's PriorityClass says how long the pod must have run before it may be
preempted; else the preemptor's profile says so. A preemptor that had to spare pods notes when the
first of them may be evicted, so that it is retried then.
"""

import math
from collections.abc import Iterable
from typing import Final

from moorage.api.cluster_objects import PriorityClass
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import SPARES
from moorage.preemption.loop_guard import LoopGuard, owner
from moorage.preemption.plugin import DefaultPreemption
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.report import Reporter

SPARED_UNTIL: Final = "DefaultPreemption/spared-until"
"""Key in `cycle.state` of the time when the first of the spared pods may be evicted."""
MINIMUM_RUNTIME: Final = "moorage.io/minimum-runtime-seconds"
CIRCLE: Final = (
    "pods of {} have evicted pods of {} {} times within {:g} s, and these came back each time: "
    "no more of them are evicted for {:g} s"
)


class SparedPods:
    """Gives every profile the rule that spares pods, while there may be pods to spare."""

    def __init__(
        self, cache: Cache, profiles: Profiles, reporter: Reporter, guard: LoopGuard
    ) -> None:
        self._objects = cache.objects
        self._profiles = profiles
        self._reporter = reporter
        self._guard = guard
        self._version = -1
        self._by_class: dict[str, float] = {}

    def review(self, now: float) -> None:
        """Set or clear the rule in every profile."""
        self._read_classes()
        stopped = not self._guard.is_quiet(now)
        for profile in self._profiles:
            for plugin in profile.plugins.values():
                if isinstance(plugin, DefaultPreemption):
                    asked = plugin.minimum_runtime_seconds or self._by_class or stopped
                    profile.shared[SPARES] = self._rule(plugin) if asked else None

    def note(self, pod: Pod, victims: Iterable[Pod], now: float, limit: int) -> None:
        """Count evictions; a circle that has turned `limit` times is stopped and reported."""
        for victim in victims:
            if self._guard.note(pod, victim, now, limit):
                window = self._guard.window
                note = CIRCLE.format(owner(pod), owner(victim), limit, window, window)
                self._reporter.event(pod, "Warning", "PreemptionLoop", "Preempting", note)
        self.review(now)

    def _read_classes(self) -> None:
        version = self._objects.version(PriorityClass)
        if version == self._version:
            return
        self._version = version
        self._by_class = {}
        for found in self._objects.all(PriorityClass):
            seconds = _seconds(found.annotations.get(MINIMUM_RUNTIME, ""))
            if seconds is not None:
                self._by_class[found.name] = seconds

    def _rule(self, settings: DefaultPreemption) -> "Rule":
        return Rule(self._guard, self._by_class, settings.minimum_runtime_seconds)


class Rule:
    """Whether a cycle's pod must spare another."""

    def __init__(self, guard: LoopGuard, by_class: dict[str, float], default: float) -> None:
        self.guard = guard
        self.by_class = by_class
        self.default = default

    def __call__(self, cycle: Cycle, info: PodInfo) -> bool:
        until = self._until(cycle, info.pod)
        if until <= cycle.now:
            return False
        cycle.state[SPARED_UNTIL] = min(until, cycle.state.get(SPARED_UNTIL, math.inf))
        return True

    def _until(self, cycle: Cycle, pod: Pod) -> float:
        """When the pod may be evicted, as far as it is known; infinite if it has not started."""
        until = -math.inf
        if self.guard.is_stopped(cycle.pod, pod, cycle.now):
            until = self.guard.until(cycle.pod, pod)
        needed = self.by_class.get(pod.spec.priority_class_name, self.default)
        if needed:
            started = pod.status.start_time
            until = max(until, math.inf if started is None else started.timestamp() + needed)
        return until


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None
