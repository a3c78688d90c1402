"""Room for a group: who has to leave is found by trial, then they are evicted while it waits.

Every pod of the group is promised the node that the trial put it on, so that nobody of the same or
a lower priority takes the room while victims are leaving.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.pod import Pod
from moorage.cache.disruption_budgets import Budgets
from moorage.cycle import filtering
from moorage.cycle.filtering import Filtering
from moorage.cycle.profile import Profile
from moorage.framework import eviction
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import PLACED_TOGETHER
from moorage.framework.queued_pod import QueuedPod
from moorage.gang import victim_search
from moorage.gang.foresight import missing, needs
from moorage.gang.group import Group
from moorage.gang.transaction import Misfit, Whole
from moorage.gang.trial import Trial, Tried
from moorage.gang.victim_search import Found, Unit
from moorage.preemption.evictor import Order
from moorage.preemption.feature import settings_of
from moorage.preemption.plugin import DefaultPreemption
from moorage.watch.api_resources import PODS

if TYPE_CHECKING:
    from moorage.gang.feature import Gangs
    from moorage.scheduler.scheduler import Scheduler


NEVER = "preemption: not eligible due to preemptionPolicy=Never."
NOT_HELPFUL = "preemption: no eviction of pods of lower priority makes room for it."
EVICTING = "preemption: {} pods are evicted to make room for it, {} groups among them."


Place = Callable[[Trial], Whole[Tried] | Misfit]


class GangPreemption:
    """Makes room for groups."""

    def __init__(self, scheduler: "Scheduler", ganging: "Gangs") -> None:
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
        by_quota = eviction.evictable(cycle) is not None
        found = self._search(group, units, lambda: Trial(desk, profiles, by_quota), place)
        if found is None:
            return NOT_HELPFUL
        victims, placed = found
        self._act(group, first.info.pod, profile, victims, placed)
        groups = sum(bool(unit.group) for unit in victims.victims)
        return EVICTING.format(len(victims.pods), groups)

    def _consult(self, group: Group, profile: Profile, cycle: Cycle) -> None:
        """Let plugins say who may be evicted for all the pods that are missing."""
        together = tuple(queued.info for queued in missing(self._desk, group))
        cycle.state[PLACED_TOGETHER] = together or (cycle.incoming,)
        filtering.pre_filter(profile, cycle, Filtering(cycle))

    def _line_up(self, group: Group, cycle: Cycle) -> list[Unit]:
        desk, spares = self._desk, eviction.rule(cycle)
        budgets = Budgets(desk.cache.objects.all(PodDisruptionBudget))
        spared = None if spares is None else (lambda info: spares(cycle, info))
        named = eviction.evictable(cycle)
        return victim_search.line_up(
            desk.cache, desk.groups, group, group.priority, budgets, spared, named
        )

    def _search(
        self, group: Group, units: list[Unit], imagine: Callable[[], Trial], place: Place
    ) -> tuple[Found, list[Tried]] | None:
        desk = self._desk
        at_least = victim_search.least(desk.cache.table, needs(desk, group), units, desk.cache)

        def tried() -> Trial | None:
            imagination = imagine()
            outcome = place(imagination)
            if isinstance(outcome, Misfit):
                return None
            imagination.placed = outcome.placed
            return imagination

        found = victim_search.search(desk.cache, units, at_least, tried)
        return None if found is None else (found[0], found[1].placed)

    def _act(
        self, group: Group, pod: Pod, profile: Profile, found: Found, placed: list[Tried]
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


class LeavingVictims:
    """Who waits for whom to leave."""

    def __init__(self, scheduler: "Scheduler", ganging: "Gangs") -> None:
        self._desk = scheduler
        self._ganging = ganging
        self._awaited: dict[str, set[str]] = {}

    def begin(self, group: Group, victims: list[Pod]) -> None:
        """Keep a group out of the queue until pods that are evicted for it are gone."""
        group.leaving = {victim.uid for victim in victims}
        group.ready, group.retry = False, True
        for uid in group.leaving:
            self._awaited.setdefault(uid, set()).add(group.key)

    def end(self, group: Group) -> None:
        """Do not wait for anyone any longer."""
        for uid in group.leaving:
            self._awaited.get(uid, set()).discard(group.key)
        group.leaving = set()
        self._ganging.review(group)

    def left(self, uid: str) -> list[Group]:
        """A pod is gone: the groups that have waited for that."""
        found = [self._desk.groups.get(key) for key in self._awaited.pop(uid, ())]
        waiting = [group for group in found if group is not None]
        for group in waiting:
            group.leaving.discard(uid)
        return waiting

    def doom(self, victims: list[Pod]) -> None:
        """Count pods that are about to be evicted as gone from their groups."""
        for group in self._desk.groups.doom(victim.uid for victim in victims):
            self._ganging.review(group)

    def spare(self, victims: list[Pod]) -> None:
        """Count pods again that could not be evicted."""
        now, known = self._desk.clock.now(), self._desk.reflectors[PODS.plural].known
        for victim in victims:
            self._desk.groups.spare(victim.uid)
            found = known.get(victim.key)
            if isinstance(found, Pod) and found.uid == victim.uid:
                for group in self._desk.groups.put_pod(found, now):
                    self._ganging.review(group)
