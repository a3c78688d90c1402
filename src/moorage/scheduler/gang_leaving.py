"""Pods that are evicted: gone from their groups at once, and awaited by whom they make room for."""

from typing import TYPE_CHECKING

from moorage.api.pod import Pod
from moorage.policies.gang.group import Group
from moorage.watch.resources import PODS

if TYPE_CHECKING:
    from moorage.scheduler.ganging import Ganging
    from moorage.scheduler.scheduler import Scheduler


class Leaving:
    """Who waits for whom to leave."""

    def __init__(self, scheduler: "Scheduler", ganging: "Ganging") -> None:
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
