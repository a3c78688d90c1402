"""What the scheduler reports: to observers, in events, and in the status of pods."""

import logging
from functools import partial
from typing import Any

from moorage.api.pod import Pod
from moorage.bind import status_patches
from moorage.bind.event_recorder import EventRecorder
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.queued_pod import QueuedPod
from moorage.guard.breaker_events import PluginSwitchedOff, SwitchedOff, SwitchedOn
from moorage.observe.logs import say
from moorage.observe.observers import Observers
from moorage.observe.records import Attempt, Bound, Result
from moorage.scheduler.placement import Placement
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.status_writer import StatusWriter


class Reporter:
    """Reports the outcomes of attempts and bindings; never holds up the loop."""

    def __init__(
        self,
        clock: Clock,
        profiles: Profiles,
        observers: Observers,
        recorder: EventRecorder,
        statuses: StatusWriter,
    ) -> None:
        self._clock = clock
        self._profiles = profiles
        self._observers = observers
        self._recorder = recorder
        self._statuses = statuses

    def attempted(
        self, queued: QueuedPod, cycle: Cycle, profile: Profile, result: Result, **more: Any
    ) -> None:
        """Report to the observers that an attempt has ended."""
        self._observers.attempted(
            Attempt(
                id=cycle.attempt,
                pod=cycle.pod.key,
                uid=cycle.pod.uid,
                profile=profile.scheduler_name,
                result=result,
                time=cycle.now,
                seconds=self._clock.now() - cycle.now,
                attempts=queued.attempts,
                generation=cycle.generation,
                version=self._profiles.version_of(profile),
                trace=cycle.timer.trace_id,
                steps=cycle.timer.trace,
                **more,
            )
        )

    def placed(self, placement: Placement) -> None:
        """Report that an attempt has succeeded: the pod is assumed on a node."""
        queued, profile, cycle, _, decision, _ = placement
        self.attempted(
            queued,
            cycle,
            profile,
            Result.SCHEDULED,
            node=decision.node,
            score=decision.score,
            feasible=decision.feasible,
            evaluated=decision.evaluated,
            scores=decision.parts,
            runners_up=decision.runners_up,
        )

    def bound(self, placement: Placement) -> None:
        """Report that the API server has accepted the binding."""
        queued, profile, cycle, node, _, _ = placement
        pod, now = cycle.pod, self._clock.now()
        note = f"Successfully assigned {pod.key} to {node.name}"
        self.event(pod, "Normal", "Scheduled", "Binding", note, cycle)
        self._observers.bound(
            Bound(
                attempt=cycle.attempt,
                pod=pod.key,
                uid=pod.uid,
                profile=profile.scheduler_name,
                node=node.name,
                time=now,
                attempts=queued.attempts,
                since_added=now - queued.entered,
                since_ready=now - (queued.first_attempt or queued.entered),
                seconds=now - cycle.now,
                flushed=queued.flushed,
                generation=cycle.generation,
                version=self._profiles.version_of(profile),
                steps=cycle.timer.trace,
            )
        )

    def not_scheduled(
        self, pod: Pod, reason: status_patches.Reason, message: str, cycle: Cycle | None = None
    ) -> None:
        """Write to a pod's status, and to an event, why it is not scheduled."""
        how = "Warning", "FailedScheduling", "Scheduling", message, cycle
        if self.says_for_good(pod, reason, message):
            self.event(pod, *how)
            return
        now = self._clock.now()
        patch = status_patches.not_scheduled_patch(pod, reason, message, now)
        self._statuses.write(pod, patch, partial(self.event, pod, *how))

    def says_for_good(self, pod: Pod, reason: status_patches.Reason, message: str) -> bool:
        """Whether a pod's status says so already, and no other message was or will be written."""
        said = status_patches.says_not_scheduled(pod, reason, message)
        return said and self._statuses.last_word(pod.uid) in (None, (reason, message))

    def nominated(self, pod: Pod, node: str) -> None:
        """Write a pod's nominated node to its status; an empty `node` clears it."""
        self._statuses.write(pod, status_patches.nomination_patch(node))

    def event(
        self,
        pod: Pod,
        type_: Any,
        reason: str,
        action: str,
        note: str,
        cycle: Cycle | None = None,
    ) -> None:
        """Record an event about a pod, in the name of its profile, with the attempt it is about."""
        attempt, generation, trace = (
            ("", 0, "")
            if cycle is None
            else (cycle.attempt, cycle.generation, cycle.timer.trace_id)
        )
        self._recorder.record(
            pod.spec.scheduler_name,
            pod,
            type_,
            reason,
            action,
            note,
            attempt=attempt,
            generation=generation,
            trace=trace,
        )


class BreakerReporter:
    """Reports plugins switched off and on. The event is about the pod whose attempt failed last."""

    def __init__(self, observers: Observers, reporter: Reporter) -> None:
        self._observers = observers
        self._reporter = reporter

    def __call__(self, change: SwitchedOff | SwitchedOn) -> None:
        if isinstance(change, SwitchedOn):
            say(logging.INFO, change.message, plugin=change.plugin, profile=change.profile)
            return
        pod = change.pod
        about = pod.key if isinstance(pod, Pod) else ""
        self._observers.failed(about, "", PluginSwitchedOff(change.message))
        if isinstance(pod, Pod):
            self._reporter.event(pod, "Warning", "PluginSwitchedOff", "Scheduling", change.message)
