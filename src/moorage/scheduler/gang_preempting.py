"""Room for a group: who has to leave is found by trial, then they are evicted while it waits.

Every pod of the group is promised the node that the trial put it on, so that nobody of the same or
a lower priority takes the room while victims are leaving.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from moorage.api.pod import Pod
from moorage.api.policy import PodDisruptionBudget
from moorage.cycle import filtering, gang_units, gang_victims
from moorage.cycle.filtering import Filtering
from moorage.cycle.gang_units import Unit
from moorage.cycle.gang_victims import Found
from moorage.cycle.gangs import Misfit, Whole
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.queued import QueuedPod
from moorage.framework.victims import TOGETHER
from moorage.plugins.default_preemption import DefaultPreemption
from moorage.plugins.preemption import sparing
from moorage.plugins.preemption.budgets import Budgets
from moorage.policies.gang.group import Group
from moorage.scheduler.evicting import Order
from moorage.scheduler.gang_imagining import Imagination, Imagined
from moorage.scheduler.gang_needs import missing, needs
from moorage.scheduler.preempting import settings_of

if TYPE_CHECKING:
    from moorage.scheduler.ganging import Ganging
    from moorage.scheduler.scheduler import Scheduler

NEVER = "preemption: not eligible due to preemptionPolicy=Never."
NOT_HELPFUL = "preemption: no eviction of pods of lower priority makes room for it."
EVICTING = "preemption: {} pods are evicted to make room for it, {} groups among them."


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
        self._consult(group, profile, cycle)
        units = self._line_up(group, cycle)
        if not units:
            return ""
        by_quota = sparing.evictable(cycle) is not None
        found = self._search(group, units, lambda: Imagination(desk, profiles, by_quota), place)
        if found is None:
            return NOT_HELPFUL
        victims, placed = found
        self._act(group, first.info.pod, profile, victims, placed)
        groups = sum(bool(unit.group) for unit in victims.victims)
        return EVICTING.format(len(victims.pods), groups)

    def _consult(self, group: Group, profile: Profile, cycle: Cycle) -> None:
        """Let plugins say who may be evicted for all the pods that are missing."""
        together = tuple(queued.info for queued in missing(self._desk, group))
        cycle.state[TOGETHER] = together or (cycle.incoming,)
        filtering.pre_filter(profile, cycle, Filtering(cycle))

    def _line_up(self, group: Group, cycle: Cycle) -> list[Unit]:
        desk, spares = self._desk, sparing.rule(cycle)
        budgets = Budgets(desk.cache.objects.all(PodDisruptionBudget))
        spared = None if spares is None else (lambda info: spares(cycle, info))
        named = sparing.evictable(cycle)
        return gang_units.line_up(
            desk.cache, desk.groups, group, group.priority, budgets, spared, named
        )

    def _search(
        self, group: Group, units: list[Unit], imagine: Callable[[], Imagination], place: Place
    ) -> tuple[Found, list[Imagined]] | None:
        desk = self._desk
        at_least = gang_victims.least(desk.cache.table, needs(desk, group), units, desk.cache)

        def tried() -> Imagination | None:
            imagination = imagine()
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
