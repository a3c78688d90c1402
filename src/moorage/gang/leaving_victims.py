"""Pods that are evicted: which groups wait for them to leave, and which groups they leave."""

from collections.abc import Sequence

from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.lifecycle import Lifecycle
from moorage.scheduler.intake import KnownObjects


class LeavingVictims:
    """Who waits for whom to leave."""

    def __init__(
        self, clock: Clock, known: KnownObjects, groups: Directory, lifecycle: Lifecycle
    ) -> None:
        self._clock = clock
        self._known = known
        self._groups = groups
        self._lifecycle = lifecycle
        self._awaited: dict[str, set[str]] = {}

    def begin(self, group: Group, victims: Sequence[Pod]) -> None:
        """Keep a group out of the queue until pods that are evicted for it are gone."""
        group.evict(victim.uid for victim in victims)
        for uid in group.leaving:
            self._awaited.setdefault(uid, set()).add(group.key)

    def end(self, group: Group) -> None:
        """Do not wait for anyone any longer."""
        for uid in group.end_eviction():
            self._awaited.get(uid, set()).discard(group.key)
        self._lifecycle.review(group)

    def left(self, uid: str) -> list[Group]:
        """A pod is gone: the groups that have waited for that."""
        found = [self._groups.get(key) for key in self._awaited.pop(uid, ())]
        waiting = [group for group in found if group is not None]
        for group in waiting:
            group.victim_left(uid)
        return waiting

    def doom(self, victims: Sequence[Pod]) -> None:
        """Count pods that are about to be evicted as gone from their groups."""
        for group in self._groups.doom(victim.uid for victim in victims):
            self._lifecycle.review(group)

    def spare(self, victims: Sequence[Pod]) -> None:
        """Count pods again that could not be evicted."""
        now = self._clock.now()
        for victim in victims:
            self._groups.spare(victim.uid)
            found = self._known.pod(victim.key)
            if found is not None and found.uid == victim.uid:
                for group in self._groups.put_pod(found, now):
                    self._lifecycle.review(group)
