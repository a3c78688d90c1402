"""Evictions of groups that were begun and never ended: they are finished, so that no part stays.

Victims are marked before the first of them is deleted. If a marked pod of a group is still there a
while later, its eviction was interrupted: an answer was lost, or the leader is gone. The rest of
its group is then evicted, whatever the room was for. A marked pod that was being bound, and whose
binding never arrived, is evicted too: otherwise its mark would later cause the eviction of the
group.
"""

from collections.abc import Sequence
from typing import Final

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.bind.status_patches import is_preempted
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.gang import victim_search
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.scheduler.alarms import Alarms
from moorage.scheduler.ports import Evictions
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.tasks import Start, Wake

AFTER_SECONDS: Final = 5.0
"""How long a marked pod may stay before its eviction counts as interrupted."""


class InterruptedEvictions:
    """Checks groups with a marked pod a while later."""

    def __init__(
        self,
        cache: Cache,
        clock: Clock,
        profiles: Profiles,
        groups: Directory,
        evictions: Evictions,
        start: Start,
        wake: Wake,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._profiles = profiles
        self._groups = groups
        self._evictions = evictions
        self._start = start
        self._wake = wake
        self._looks = Alarms()

    def see(self, pod: Pod) -> None:
        """Set the check of a pod's group if the pod is marked."""
        group = self._groups.of(pod)
        if group is not None and group.key not in self._looks and _was_to_leave(pod):
            self._look_later(group)

    def tick(self, now: float) -> None:
        for key in self._looks.due(now):
            group = self._groups.get(key)
            if group is not None:
                self._look(group)

    def next_due(self) -> float | None:
        return self._looks.next()

    def _look_later(self, group: Group) -> None:
        self._looks.set(group.key, self._clock.now() + AFTER_SECONDS)

    def _look(self, group: Group) -> None:
        """Evict the rest of a group if a pod of it is still marked."""
        marked = {uid: pod for uid, pod in group.pods.items() if _was_to_leave(pod)}
        first = next(iter(marked.values()), None)
        profile = first and self._profiles.by_name.get(first.spec.scheduler_name)
        if first is None or not profile or not self._evictions.preempts(profile):
            return
        if not victim_search.unit_of(self._groups, first):
            return
        together = victim_search.unit_pods(self._groups, first, self._cache.assumed)
        victims = list((together | marked).values())
        self._evictions.resume(victims)
        work = self._carry_out(group, group.object or first, victims, profile)
        self._start(work, f"evict/{group.key}")

    async def _carry_out(
        self, group: Group, about: KubeObject, victims: Sequence[Pod], profile: Profile
    ) -> None:
        if not await self._evictions.evict(about, "eviction of podgroup", victims, profile):
            self._look_later(group)
        self._wake()


def _was_to_leave(pod: Pod) -> bool:
    return not pod.is_terminating and is_preempted(pod)
