"""Room for a group: who has to leave is found by trial, then they are evicted while it waits.

Every pod of the group is promised the node that the trial put it on, so that nobody of the same or
a lower priority takes the room while victims are leaving.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from moorage.api.pod import Pod
from moorage.api.policy import PodDisruptionBudget
from moorage.cycle import attempt, filtering, gang_victims
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.filtering import Filtering
from moorage.cycle.gang_victims import Found, Unit
from moorage.cycle.gangs import Misfit, Refused, Whole
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import NO_EXTENDERS
from moorage.framework.queued import QueuedPod
from moorage.framework.verdicts import SchedulingError
from moorage.plugins.default_preemption import DefaultPreemption
from moorage.plugins.preemption import sparing
from moorage.plugins.preemption.budgets import Budgets
from moorage.policies.gang.group import Group
from moorage.policies.gang.plugin import DOMAIN
from moorage.scheduler.evicting import Order
from moorage.scheduler.gang_needs import needs
from moorage.scheduler.preempting import settings_of

if TYPE_CHECKING:
    from moorage.scheduler.ganging import Ganging
    from moorage.scheduler.scheduler import Scheduler

NEVER = "preemption: not eligible due to preemptionPolicy=Never."
NOT_HELPFUL = "preemption: no eviction of pods of lower priority makes room for it."
EVICTING = "preemption: {} pods are evicted to make room for it, {} groups among them."


class Imagined(NamedTuple):
    """A pod of the group on a node, for the length of a trial."""

    profile: Profile
    cycle: Cycle
    row: int


class Imagination:
    """Tries pods on the table without reserving anything; a `Plan` of where a gang would go."""

    def __init__(self, scheduler: "Scheduler", profiles: dict[str, Profile]) -> None:
        self._desk = scheduler
        self._profiles = profiles
        self.placed: list[Imagined] = []

    def attempt_one(self, queued: QueuedPod, nodes: frozenset[str] | None) -> Imagined | Refused:
        """Count a pod where it would go."""
        profile = self._profiles[queued.info.pod.spec.scheduler_name]
        cycle = self._desk.cycle(queued, profile)
        cycle.extenders = NO_EXTENDERS  # a trial, as kube-scheduler's, asks plugins only
        if nodes is not None:
            cycle.state[DOMAIN] = nodes
        decided = attempt.run(profile, cycle)
        if isinstance(decided, Unschedulable):
            return Refused(queued, cycle, decided)
        row = cycle.table.row_of[decided.node]
        cycle.cache.place_on(row, queued.info)
        return Imagined(profile, cycle, row)

    def undo(self, placed: Imagined) -> None:
        placed.cycle.cache.displace(placed.cycle.incoming)

    def still_fits(self, row: int) -> bool:
        """Whether those of the gang on a row could be there, as things stand now."""
        return all(_could_be_there(imagined) for imagined in self.placed if imagined.row == row)


def _could_be_there(imagined: Imagined) -> bool:
    profile, cycle, row = imagined
    cycle.cache.displace(cycle.incoming)
    try:
        outcome = Filtering(cycle)
        filtering.pre_filter(profile, cycle, outcome)
        if outcome.diagnosis.pre_filter is not None:
            return False
        return filtering.refusal(cycle, outcome.active, row) is None
    except SchedulingError:
        return False
    finally:
        cycle.cache.place_on(row, cycle.incoming)


Place = Callable[[Imagination], Whole[Imagined] | Misfit]


class GangPreempting:
    """Makes room for groups."""

    def __init__(self, scheduler: "Scheduler", ganging: "Ganging") -> None:
        self._desk = scheduler
        self._ganging = ganging

    def make_room(
        self, group: Group, first: QueuedPod, profiles: dict[str, Profile], place: Place
    ) -> str:
        """Evict whoever has to leave; what is to be said of it, nothing where nobody is asked."""
        desk = self._desk
        profile = desk.profiles[first.info.pod.spec.scheduler_name]
        if not any(isinstance(plugin, DefaultPreemption) for _, plugin in profile.post_filter):
            return ""
        if _never(group):
            return NEVER
        cycle = desk.cycle(first, profile)
        units = self._line_up(group, cycle)
        if not units:
            return ""
        found = self._search(group, units, profiles, place)
        if found is None:
            return NOT_HELPFUL
        victims, placed = found
        self._act(group, first.info.pod, profile, victims, placed)
        groups = sum(bool(unit.group) for unit in victims.victims)
        return EVICTING.format(len(victims.pods), groups)

    def _line_up(self, group: Group, cycle: Cycle) -> list[Unit]:
        desk, spares = self._desk, sparing.rule(cycle)
        budgets = Budgets(desk.cache.objects.all(PodDisruptionBudget))
        spared = None if spares is None else (lambda info: spares(cycle, info))
        return gang_victims.line_up(desk.cache, desk.groups, group, group.priority, budgets, spared)

    def _search(
        self, group: Group, units: list[Unit], profiles: dict[str, Profile], place: Place
    ) -> tuple[Found, list[Imagined]] | None:
        desk = self._desk
        at_least = gang_victims.least(desk.cache.table, needs(desk, group), units, desk.cache)

        def tried() -> Imagination | None:
            imagination = Imagination(desk, profiles)
            outcome = place(imagination)
            if isinstance(outcome, Misfit):
                return None
            imagination.placed = outcome.placed
            return imagination

        found = gang_victims.search(desk.cache, units, at_least, tried)
        return None if found is None else (found[0], found[1].placed)

    def _act(
        self, group: Group, pod: Pod, profile: Profile, found: Found, placed: list[Imagined]
    ) -> None:
        desk, settings = self._desk, settings_of(profile)
        victims = self._whole(found)
        for _, cycle, row in placed:
            desk.preempting.promise(cycle, desk.cache.table.node(row).name, settings)
        self._ganging.leaving.begin(group, victims)
        going = desk.preempting.not_leaving(victims)
        if not going:
            return
        desk.preempting.begin(pod, going, settings)
        preemptor = group.object or pod
        order = Order(
            profile.scheduler_name, preemptor, "cluster", "podgroup", settings.eviction_api
        )
        desk.start(self._carry_out(group, order, going), f"preempt/{group.key}")

    def _whole(self, found: Found) -> list[Pod]:
        """The victims, with pods of their groups that are on nodes nobody knows."""
        victims = {pod.uid: pod for pod in found.pods}
        for unit in found.victims:
            group = self._desk.groups.get(unit.group)
            victims.update({} if group is None else group.placed)
        return list(victims.values())

    async def _carry_out(self, group: Group, order: Order, victims: list[Pod]) -> None:
        done = await self._desk.preempting.evicting.carry_out(order, victims, lambda victim: None)
        if not done:
            self._desk.preempting.spare(victims)
            self._ganging.back_off(group, retry=True)
            self._ganging.leaving.end(group)
        self._desk.wake()


def _never(group: Group) -> bool:
    found = group.object
    if found is not None and found.spec.preemption_policy == "Never":
        return True
    return any(pod.spec.preemption_policy == "Never" for pod in group.waiting.values())
