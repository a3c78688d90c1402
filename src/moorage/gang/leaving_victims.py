"""Pods that are evicted: which groups wait for them to leave, and which groups they belong to.

A group is kept out of the queue until the last of its victims is gone. It stops waiting earlier if
a node is added or changes, which may have room, or if a victim is long overdue: a pod may never
leave because its kubelet is dead or a finalizer holds it.
"""

from collections.abc import Sequence
from typing import Final

from moorage.api.pod import Pod
from moorage.clock import Clock
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.lifecycle import Lifecycle
from moorage.scheduler.alarms import Alarms
from moorage.scheduler.intake import KnownObjects

DEFAULT_GRACE_SECONDS: Final = 30.0
OVERDUE_SECONDS: Final = 30.0
"""How long after its grace period a victim is still waited for."""


class LeavingVictims:
    """Which groups wait for which pods to leave."""

    def __init__(
        self, clock: Clock, known: KnownObjects, groups: Directory, lifecycle: Lifecycle
    ) -> None:
        self._clock = clock
        self._known = known
        self._groups = groups
        self._lifecycle = lifecycle
        self._awaited: dict[str, set[str]] = {}
        self._overdue = Alarms()

    def begin(self, group: Group, victims: Sequence[Pod]) -> None:
        """Keep a group out of the queue until the pods that are evicted for it are gone."""
        now = self._clock.now()
        due = {victim.uid: _leaves_by(victim, now) + OVERDUE_SECONDS for victim in victims}
        awaited = {uid: when for uid, when in due.items() if when > now}
        if not awaited:
            return
        group.evict(awaited)
        for uid in awaited:
            self._awaited.setdefault(uid, set()).add(group.key)
        self._overdue.set(group.key, max(awaited.values()))

    def tick(self, now: float) -> None:
        """Stop waiting for victims that are overdue."""
        for key in self._overdue.due(now):
            group = self._groups.get(key)
            if group is not None and group.leaving:
                self.end(group)

    def next_due(self) -> float | None:
        return self._overdue.next()

    def reconsider(self) -> None:
        """Let all waiting groups be tried, because there may be room elsewhere."""
        for key in sorted({key for keys in self._awaited.values() for key in keys}):
            group = self._groups.get(key)
            if group is not None:
                self.end(group)

    def end(self, group: Group) -> None:
        """Stop a group's wait for its victims."""
        for uid in group.end_eviction():
            self._awaited.get(uid, set()).discard(group.key)
        self._lifecycle.review(group)

    def left(self, uid: str) -> list[Group]:
        """Note that a pod is gone; the groups that waited for it."""
        found = [self._groups.get(key) for key in sorted(self._awaited.pop(uid, ()))]
        waiting = [group for group in found if group is not None]
        for group in waiting:
            group.victim_left(uid)
        return waiting

    def doom(self, victims: Sequence[Pod]) -> None:
        """Count pods that are about to be evicted as gone from their groups."""
        for group in self._groups.doom(victim.uid for victim in victims):
            self._lifecycle.review(group)

    def spare(self, victims: Sequence[Pod]) -> None:
        """Count pods that could not be evicted in their groups again."""
        now = self._clock.now()
        for victim in victims:
            self._groups.spare(victim.uid)
            found = self._known.pod(victim.key)
            if found is not None and found.uid == victim.uid:
                for group in self._groups.put_pod(found, now):
                    self._lifecycle.review(group)


def _leaves_by(victim: Pod, now: float) -> float:
    """When the grace period ends of a pod that is being deleted, or about to be."""
    deleted, grace = (
        victim.metadata.deletion_timestamp,
        victim.spec.termination_grace_period_seconds,
    )
    if deleted is not None:
        return deleted.timestamp()
    return now + (DEFAULT_GRACE_SECONDS if grace is None else grace)
