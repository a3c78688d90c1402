"""Room for a group: victims are found by trial, then they are evicted while the group waits.

Every pod of the group is nominated to the node that the trial put it on, so that no pod of the same
or a lower priority takes the room while victims are leaving.
"""

from collections.abc import Sequence

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.disruption_budgets import Budgets
from moorage.cycle import filtering, promised_rows
from moorage.cycle.filtering import Filtering
from moorage.cycle.profile import Profile
from moorage.framework import eviction
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import PLACED_TOGETHER
from moorage.framework.queued_pod import QueuedPod
from moorage.gang import foresight, victim_search
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.leaving_victims import LeavingVictims
from moorage.gang.lifecycle import Lifecycle
from moorage.gang.place import GangPlacer
from moorage.gang.trial import Trial, Tried
from moorage.gang.victim_search import Found, Unit
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.ports import Evictions
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.tasks import Start, Wake

NEVER = "preemption: not eligible due to preemptionPolicy=Never."
NOT_HELPFUL = "preemption: no eviction of pods of lower priority makes room for it."
EVICTING = "preemption: {} pods are evicted to make room for it, {} groups among them."


class GangPreemption:
    """Makes room for groups."""

    def __init__(
        self,
        cache: Cache,
        profiles: Profiles,
        cycles: Cycles,
        groups: Directory,
        placer: GangPlacer,
        lifecycle: Lifecycle,
        leaving: LeavingVictims,
        evictions: Evictions,
        start: Start,
        wake: Wake,
    ) -> None:
        self._cache = cache
        self._profiles = profiles
        self._cycles = cycles
        self._groups = groups
        self._placer = placer
        self._lifecycle = lifecycle
        self._leaving = leaving
        self._evictions = evictions
        self._start = start
        self._wake = wake

    def make_room(self, group: Group, members: list[QueuedPod], first: QueuedPod) -> str:
        """Find victims and begin to evict them; the message about it, empty if none is due."""
        profile = self._profiles.by_name[first.info.pod.spec.scheduler_name]
        if not self._evictions.preempts(profile):
            return ""
        if _never(group):
            return NEVER
        cycle = self._cycles.begin(first, profile)
        self._consult(group, profile, cycle)
        units = self._line_up(group, cycle)
        if victim_search.some_are_being_bound(self._cache, group.priority):
            group.retry_all()
        if not units:
            return ""
        by_quota = eviction.evictable(cycle) is not None
        found = find_victims(self._cache, self._placer, group, members, units, by_quota)
        if found is None:
            return NOT_HELPFUL
        victims, trial = found
        self._act(group, first.info.pod, profile, victims, trial.placed)
        groups = sum(bool(unit.group) for unit in victims.victims)
        return EVICTING.format(len(victims.pods), groups)

    def _consult(self, group: Group, profile: Profile, cycle: Cycle) -> None:
        """Run PreFilter, so that plugins say which pods may be evicted for all missing pods."""
        together = tuple(queued.info for queued in self._placer.missing(group))
        cycle.state[PLACED_TOGETHER] = together or (cycle.incoming,)
        filtering.pre_filter(profile, cycle, Filtering(cycle))

    def _line_up(self, group: Group, cycle: Cycle) -> list[Unit]:
        spares = eviction.rule(cycle)
        budgets = Budgets(self._cache.objects.all(PodDisruptionBudget))
        spared = None if spares is None else (lambda info: spares(cycle, info))
        named = eviction.evictable(cycle)
        return victim_search.line_up(
            self._cache, self._groups, group, group.priority, budgets, spared, named
        )

    def _act(
        self, group: Group, pod: Pod, profile: Profile, found: Found, placed: list[Tried]
    ) -> None:
        victims, evictions = self._whole(found), self._evictions
        for _, cycle, row in placed:
            evictions.promise(cycle, profile, self._cache.table.node(row).name)
        self._leaving.begin(group, victims)
        going = evictions.not_leaving(victims)
        if not going:
            return
        evictions.begin(pod, going, profile)
        work = self._carry_out(group, group.object or pod, going, profile)
        self._start(work, f"preempt/{group.key}")

    def _whole(self, found: Found) -> list[Pod]:
        """The victims, with pods of their groups that are on unknown nodes."""
        victims = {pod.uid: pod for pod in found.pods}
        for unit in found.victims:
            pod = unit.pods[0].pod
            victims.update(victim_search.unit_pods(self._groups, pod, self._cache.assumed))
        return list(victims.values())

    async def _carry_out(
        self, group: Group, preemptor: KubeObject, victims: Sequence[Pod], profile: Profile
    ) -> None:
        if not await self._evictions.evict(preemptor, "podgroup", victims, profile):
            self._lifecycle.back_off(group, retry=True)
            self._leaving.end(group)
        self._wake()


def _never(group: Group) -> bool:
    found = group.object
    if found is not None and found.spec.preemption_policy == "Never":
        return True
    return any(pod.spec.preemption_policy == "Never" for pod in group.waiting.values())


def find_victims(
    cache: Cache,
    placer: GangPlacer,
    group: Group,
    members: list[QueuedPod],
    units: list[Unit],
    by_quota: bool = False,
) -> tuple[Found, Trial] | None:
    """The units that must leave for a group, and where its pods would go then."""
    at_least = _at_least(cache, placer, group, members, units)
    pods = _most(cache, placer, group, members, units, by_quota)
    return victim_search.search(
        cache, units, at_least, lambda: placer.imagine(group, members, by_quota, pods)
    )


def _most(
    cache: Cache,
    placer: GangPlacer,
    group: Group,
    members: list[QueuedPod],
    units: list[Unit],
    by_quota: bool,
) -> int:
    """For how many pods to make room; 0 for the group's minimum.

    For Kubernetes' own groups: for all that would fit if all of the units were gone.
    """
    own = group.tree is None and group.object is not None and group.object.is_own
    if not own or len(members) <= group.minimum - group.scheduled(cache.assumed):
        return 0
    with cache.trial():
        victim_search.remove(cache, units)
        trial = placer.imagine(group, members, by_quota)
    return 0 if trial is None else len(trial.placed)


def _at_least(
    cache: Cache, placer: GangPlacer, group: Group, members: list[QueuedPod], units: list[Unit]
) -> int:
    """A lower bound, by arithmetic, of the number of units that must leave."""
    if group.tree is not None:
        return 0
    needs = placer.needs(group)
    if not _are_those(members, placer.missing(group)):
        return victim_search.least(cache, needs, units)
    highest = max(queued.info.priority for queued in members)
    promised = promised_rows.promised_besides(cache, highest, group.waiting)
    return victim_search.least(cache, foresight.joined(needs), units, promised)


def _are_those(members: list[QueuedPod], missing: list[QueuedPod]) -> bool:
    """Whether the members are the missing pods, or all of them are of one class."""
    if len({queued.info.cls for queued in (*members, *missing)}) == 1:
        return True
    return {queued.info.uid for queued in members} == {queued.info.uid for queued in missing}
