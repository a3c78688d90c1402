"""One attempt at a group: take its pods, place them in one transaction, and act on the outcome."""

from collections.abc import Callable

from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import SchedulingError, unresolvable
from moorage.gang import shortage
from moorage.gang.binder import GangBinder
from moorage.gang.group import Group
from moorage.gang.lifecycle import Lifecycle
from moorage.gang.place import GangPlacer
from moorage.gang.plugin import NAME
from moorage.gang.preemption import GangPreemption
from moorage.gang.reservation import Reservations
from moorage.gang.status import GangStatus
from moorage.gang.transaction import Misfit, Whole
from moorage.observe.records import Result
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.placement import Placement
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.report import Reporter
from moorage.scheduler.tasks import Bindings, Start

Bind = Callable[[Group, list[Placement]], GangBinder]
"""Makes what binds pods of a group that were placed."""


class GangAttempt:
    """Tries groups, one at a time; an attempt is one synchronous call."""

    def __init__(
        self,
        profiles: Profiles,
        cycles: Cycles,
        outcome: Outcome,
        reporter: Reporter,
        bindings: Bindings,
        start: Start,
        placer: GangPlacer,
        lifecycle: Lifecycle,
        reservations: Reservations,
        status: GangStatus,
        preemption: GangPreemption,
        bind: Bind,
    ) -> None:
        self._profiles = profiles
        self._cycles = cycles
        self._outcome = outcome
        self._reporter = reporter
        self._bindings = bindings
        self._start = start
        self._placer = placer
        self._lifecycle = lifecycle
        self._reservations = reservations
        self._status = status
        self._preemption = preemption
        self._bind = bind

    def reconfigured(self) -> None:
        """Other profiles are in force."""
        self._placer.reconfigured()

    def attempt(self, group: Group, popped: QueuedPod) -> None:
        """Place enough of a group's pods, and begin to bind them; or none, and say why."""
        members = self._placer.take(group, popped)
        try:
            outcome = self._placer.place(group, members)
            if isinstance(outcome, Whole):
                self._begin(group, outcome)
            else:
                self._give_up(group, members, outcome)
        except SchedulingError as error:
            self._erred(group, popped, members, error)

    def refuse(self, queued: QueuedPod, why: str) -> None:
        """Put back a pod that was popped though its group may not be tried any more."""
        profile = self._profiles.by_name[queued.info.pod.spec.scheduler_name]
        refused = unresolvable(why).by(NAME)
        cycle = self._cycles.begin(queued, profile)
        self._outcome.unschedulable(queued, cycle, profile, refused)

    def _begin(self, group: Group, whole: Whole[Placement]) -> None:
        group.succeed()
        self._reservations.release(group)
        for placement in whole.placed:
            self._reporter.placed(placement)
        for queued, cycle, why in whole.refused:
            profile = self._profiles.by_name[cycle.pod.spec.scheduler_name]
            self._outcome.unschedulable(queued, cycle, profile, why)
        self._bindings.begin(len(whole.placed))
        self._start(self._bind(group, whole.placed).run(), f"bind/{group.key}")

    def _give_up(self, group: Group, members: list[QueuedPod], misfit: Misfit) -> None:
        first = members[0] if misfit.blocker is None else misfit.blocker.queued
        group.refuse(misfit.blocker.plugins if misfit.blocker else ())
        message = shortage.describe_misfit(group, misfit)
        if misfit.blocker is not None or misfit.domain:
            said = self._preemption.make_room(group, members, first)
            message += f" {said}" if said else ""
        if not group.leaving:
            self._lifecycle.back_off(group)
        self._report(first, misfit, message)
        refused = {refusal.queued.info.uid: refusal.plugins for refusal in misfit.refused}
        left = [
            queued
            for queued in members
            if self._outcome.put_back(queued, {NAME, *refused.get(queued.info.uid, ())}, ())
        ]
        self._status.unschedulable(group, left, message)

    def _report(self, first: QueuedPod, misfit: Misfit, message: str) -> None:
        profile = self._profiles.by_name[first.info.pod.spec.scheduler_name]
        blocker = misfit.blocker
        cycle = self._cycles.begin(first, profile) if blocker is None else blocker.cycle
        self._reporter.attempted(first, cycle, profile, Result.UNSCHEDULABLE, message=message)

    def _erred(
        self,
        group: Group,
        popped: QueuedPod,
        members: list[QueuedPod],
        error: SchedulingError,
    ) -> None:
        self._lifecycle.back_off(group, retry=True)
        for queued in members:
            if queued is not popped:
                self._outcome.put_back(queued, (), (), error=True)
        profile = self._profiles.by_name[popped.info.pod.spec.scheduler_name]
        self._outcome.failed(popped, self._cycles.begin(popped, profile), profile, error)
