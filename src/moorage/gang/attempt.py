"""One attempt at a group: take its pods, place them in one transaction, and act on the outcome."""

import copy
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from moorage.cycle import attempt
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import SchedulingError, unresolvable
from moorage.gang import shortage, topology, transaction
from moorage.gang.binder import GangBinder
from moorage.gang.group import Group
from moorage.gang.plugin import DOMAIN, NAME
from moorage.gang.preemption import GangPreemption
from moorage.gang.topology import Choice
from moorage.gang.transaction import Misfit, Refused, Whole
from moorage.gang.trial import Trial, Tried
from moorage.observe.records import Result
from moorage.scheduler.placement import Placement, place, unplace

if TYPE_CHECKING:
    from moorage.gang.feature import Gangs
    from moorage.scheduler.scheduler import Scheduler


P = TypeVar("P")


class Trying(Protocol[P]):
    """A way to try pods one after the other: for real, or in imagination."""

    def attempt_one(self, queued: QueuedPod, nodes: frozenset[str] | None) -> P | Refused: ...

    def undo(self, placed: P) -> None: ...


class GangAttempt:
    """Tries groups, one at a time; an attempt is one synchronous call."""

    def __init__(self, scheduler: "Scheduler", ganging: "Gangs") -> None:
        self._desk = scheduler
        self._ganging = ganging
        self._preempting = GangPreemption(scheduler, ganging)
        self.rejoin()

    def rejoin(self) -> None:
        """Other profiles are in force."""
        profiles = self._desk.profiles
        self._profiles = {name: alone(profile) for name, profile in profiles.items()}

    def attempt(self, group: Group, popped: QueuedPod) -> None:
        """Place enough of a group's pods, and begin to bind them; or none, and say why."""
        members = transaction.in_order([popped, *self._take(group, popped)], self._desk.cache.table)
        try:
            outcome = self._place(group, members, self)
            if isinstance(outcome, Whole):
                self._begin(group, outcome)
            else:
                self._give_up(group, members, outcome)
        except SchedulingError as error:
            self._erred(group, popped, members, error)

    def refuse(self, queued: QueuedPod, why: str) -> None:
        """Put back a pod that was popped though its group may not be tried any more."""
        desk = self._desk
        profile = desk.profiles[queued.info.pod.spec.scheduler_name]
        refused = unresolvable(why).by(NAME)
        cycle = desk.cycle(queued, profile)
        desk.ending.unschedulable(queued, cycle, profile, refused)

    def _take(self, group: Group, popped: QueuedPod) -> list[QueuedPod]:
        """All other pods of the group that wait and may be attempted."""
        queue, now = self._desk.queue, self._desk.clock.now()
        others = [
            uid
            for uid in group.waiting
            if uid != popped.info.uid and uid not in self._desk.cache.assumed
        ]
        queue.activate(others, now)
        taken = (queue.take(uid, now) for uid in others)
        return [queued for queued in taken if queued is not None]

    def _place(
        self, group: Group, members: list[QueuedPod], trying: Trying[P]
    ) -> Whole[P] | Misfit:
        needed = group.minimum - self._ganging.scheduled(group)
        if len(members) < needed:
            gated = f"Only {len(members)} of its pods can be attempted, the others are gated."
            return Misfit(0, needed, explanation=gated)
        lacking = self._lacking(group)
        if lacking:
            return Misfit(0, needed, explanation=lacking)
        cache, found = self._desk.cache, topology.wanted_packing(group.object)
        occupied = {pod.spec.node_name for pod in group.placed.values()}
        infos = [queued.info for queued in members]
        choice = topology.choose_domains(cache.table, found, infos, needed, occupied)
        return self._place_in(choice, members, needed, trying)

    def _place_in(
        self, choice: Choice, members: list[QueuedPod], needed: int, trying: Trying[P]
    ) -> Whole[P] | Misfit:
        """Try one domain after the other; of those that are too small, tell of the best."""
        table = self._desk.cache.table
        best = shortage.too_small(choice, [queued.info for queued in members][:needed], table)
        for domain in (*choice.domains, *((None,) if choice.anywhere else ())):
            nodes = None if domain is None else frozenset(table.node(r).name for r in domain.rows)
            tried = partial(trying.attempt_one, nodes=nodes)
            outcome = transaction.place_together(
                members, needed, tried, trying.undo, shortage.explain_misfit
            )
            if isinstance(outcome, Whole):
                return outcome
            if domain is not None:
                outcome = outcome._replace(domain=domain.name)
            if best.blocker is None or outcome.fitting > best.fitting:
                best = outcome
        return best

    def _lacking(self, group: Group) -> str:
        found = group.object
        if found is None or not found.spec.min_resources:
            return ""
        infos = (self._desk.cache.pod(uid) for uid in (*group.placed, *group.waiting))
        own = [info for info in infos if info is not None]
        return shortage.lacking(self._desk.cache.table, found.spec.min_resources, own)

    def attempt_one(self, queued: QueuedPod, nodes: frozenset[str] | None) -> Placement | Refused:
        """Place one pod: assumed, reserved, permitted."""
        profile = self._profiles[queued.info.pod.spec.scheduler_name]
        cycle = self._desk.cycle(queued, profile)
        if nodes is not None:
            cycle.state[DOMAIN] = nodes
        decided = attempt.run(profile, cycle)
        cycle.timer.step("")
        if isinstance(decided, Unschedulable):
            return Refused(queued, cycle, decided)
        placed = place(profile, cycle, queued, decided)
        return placed if isinstance(placed, Placement) else Refused(queued, cycle, placed)

    def undo(self, placed: Placement) -> None:
        """Give back what `attempt_one` took."""
        cycle = placed.cycle
        for error in unplace(placed.profile, cycle, placed.node):
            self._desk.observers.failed(cycle.pod.key, cycle.attempt, error)

    def _begin(self, group: Group, whole: Whole[Placement]) -> None:
        desk = self._desk
        group.failures = 0
        self._ganging.holding.release(group)
        for placement in whole.placed:
            desk.reporting.placed(placement)
        for queued, cycle, why in whole.refused:
            profile = desk.profiles[cycle.pod.spec.scheduler_name]
            desk.ending.unschedulable(queued, cycle, profile, why)
        desk.binding += len(whole.placed)
        binding = GangBinder(desk, self._ganging, group, whole.placed)
        desk.start(binding.run(), f"bind/{group.key}")

    def _give_up(self, group: Group, members: list[QueuedPod], misfit: Misfit) -> None:
        desk = self._desk
        first = members[0] if misfit.blocker is None else misfit.blocker.queued
        group.refused_by = frozenset(misfit.blocker.plugins if misfit.blocker else ())
        message = shortage.describe_misfit(group, misfit)
        if misfit.blocker is not None or misfit.domain:
            message += self._make_room(group, members, first)
        if not group.leaving:
            self._ganging.back_off(group)
        profile = desk.profiles[first.info.pod.spec.scheduler_name]
        cycle = desk.cycle(first, profile) if misfit.blocker is None else misfit.blocker.cycle
        desk.reporting.attempted(first, cycle, profile, Result.UNSCHEDULABLE, message=message)
        refused = {refusal.queued.info.uid: refusal.plugins for refusal in misfit.refused}
        left = [
            queued
            for queued in members
            if desk.ending.put_back(queued, {NAME, *refused.get(queued.info.uid, ())}, ())
        ]
        self._ganging.telling.unschedulable(group, left, message)

    def _make_room(self, group: Group, members: list[QueuedPod], first: QueuedPod) -> str:
        """Let pods of lower priority make room for the group; what came of it."""

        def place_all(imagination: Trial) -> Whole[Tried] | Misfit:
            return self._place(group, members, imagination)

        said = self._preempting.make_room(group, first, self._profiles, place_all)
        return f" {said}" if said else ""

    def _erred(
        self,
        group: Group,
        popped: QueuedPod,
        members: list[QueuedPod],
        error: SchedulingError,
    ) -> None:
        desk = self._desk
        self._ganging.back_off(group, retry=True)
        for queued in members:
            if queued is not popped:
                desk.ending.put_back(queued, (), (), error=True)
        profile = desk.profiles[popped.info.pod.spec.scheduler_name]
        desk.ending.failed(popped, desk.cycle(popped, profile), profile, error)


def alone(profile: Profile) -> Profile:
    """The same profile, but no pod makes room for itself: that is decided for the group."""
    quiet = copy.copy(profile)
    quiet.post_filter = []
    return quiet
