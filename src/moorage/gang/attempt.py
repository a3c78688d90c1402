"""One attempt at a group: take its pods, place them in one transaction, and act on the outcome."""

from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import SchedulingError
from moorage.gang.binder import GangBindings
from moorage.gang.group import Group
from moorage.gang.place import GangPlacer
from moorage.gang.refusals import GangRefusals
from moorage.gang.reservation import Reservations
from moorage.gang.transaction import Whole
from moorage.scheduler.placement import Placement
from moorage.scheduler.report import Reporter


class GangAttempt:
    """Tries groups, one at a time; an attempt is one synchronous call."""

    def __init__(
        self,
        placer: GangPlacer,
        reservations: Reservations,
        reporter: Reporter,
        bindings: GangBindings,
        refusals: GangRefusals,
    ) -> None:
        self.placer = placer
        self._reservations = reservations
        self._reporter = reporter
        self._bindings = bindings
        self._refusals = refusals

    def reconfigured(self) -> None:
        """Use the profiles that are in force now."""
        self.placer.reconfigured()
        self._refusals.forget()

    def groups_changed(self) -> None:
        """Forget results of earlier attempts: they may no longer hold for equal groups."""
        self._refusals.forget()

    def attempt(self, group: Group, popped: QueuedPod) -> None:
        """Place enough of a group's pods and begin to bind them, or place none and report why."""
        members = self.placer.take(group, popped)
        try:
            known = self._refusals.foreseen(group, members)
            outcome = known or self.placer.place(group, members)
            if isinstance(outcome, Whole):
                self._begin(group, members, outcome)
            else:
                self._refusals.misfit(group, members, outcome)
        except SchedulingError as error:
            self._refusals.failed(group, popped, members, error)

    def refuse(self, queued: QueuedPod, why: str) -> None:
        """Put back a pod that was popped although its group may not be tried any more."""
        self._refusals.pod(queued, why)

    def _begin(self, group: Group, members: list[QueuedPod], whole: Whole[Placement]) -> None:
        group.succeed()
        self._reservations.release(group)
        for placement in whole.placed:
            self._reporter.placed(placement)
        self._refusals.left_over(group, whole)
        self._refusals.left_out(group, members, whole)
        self._bindings.begin(group, whole.placed)
