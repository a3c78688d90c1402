"""Attempts at whole groups of pods, for the workloads of gangs."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL, PodGroup
from moorage.bench import workload_kinds
from moorage.bench.group_preemption import GroupPreemption
from moorage.cache.cache import Cache
from moorage.cycle import attempt
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.queued_pod import QueuedPod
from moorage.gang import shortage, transaction
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.holds import Holds
from moorage.gang.plugin import NAME, GangScheduling, GroupView
from moorage.gang.transaction import Misfit, Refused
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.placement import Placement, place, unplace


def group_directory(profiles: Mapping[str, Profile], pods: Sequence[Pod]) -> Directory:
    """The groups that pods name, each of which needs all of its pods; empty for other workloads."""
    groups = Directory(profiles)
    sizes = Counter(pod.labels[POD_GROUP_LABEL] for pod in pods if POD_GROUP_LABEL in pod.labels)
    groups.in_use = bool(sizes)
    for name, size in sizes.items():
        groups.put_object(decode_as(workload_kinds.raw_group(name, size), PodGroup))
    for pod in pods if sizes else ():
        groups.put_pod(pod, 0.0)
    for profile in profiles.values():
        profile.shared[NAME] = GroupView(groups, Holds())
    return groups


class GroupAttempts:
    """Tries one group after the other, as the scheduler does."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        profile: Profile,
        groups: Directory,
        preemption: GroupPreemption | None = None,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._profile = profile.without_post_filter()
        self._groups = groups
        self._preemption = preemption

    def decide(self, rng: random.Random) -> list[str]:
        """One attempt at one group: the node of each of its pods, or "" for each."""
        popped = self._queue.pop(0.0)
        group = None if popped is None else self._groups.of(popped.info.pod)
        if popped is None or group is None:
            raise LookupError("the queue ran dry")
        others = (self._queue.take(uid, 0.0) for uid in group.waiting if uid != popped.info.uid)
        members = [popped, *(other for other in others if other is not None)]
        ordered = transaction.in_order(members, self._cache.table)
        outcome = transaction.place_together(
            ordered,
            group.minimum,
            lambda queued: self._one(queued, rng),
            _undo,
            shortage.explain_misfit,
        )
        if isinstance(outcome, Misfit):
            if self._preemption is not None:
                return self._make_room(self._preemption, group, ordered)
            for queued in members:
                self._queue.put_back(queued, {GangScheduling.plugin_name()}, (), False, 0.0)
            return [""] * len(members)
        for placement in outcome.placed:
            self._queue.done(placement.queued.info.uid)
        return [placement.node.name for placement in outcome.placed]

    def _make_room(
        self, preemption: GroupPreemption, group: Group, members: list[QueuedPod]
    ) -> list[str]:
        nodes = preemption.make_room(group, members)
        for queued in members:
            self._queue.done(queued.info.uid)
        return nodes or [""] * len(members)

    def _one(self, queued: QueuedPod, rng: random.Random) -> Placement | Refused:
        cycle = Cycle(self._cache, queued.info, random=rng, shared=self._profile.shared)
        decided = attempt.run(self._profile, cycle)
        if isinstance(decided, Unschedulable):
            return Refused(queued, cycle, decided)
        placed = place(self._profile, cycle, queued, decided)
        return placed if isinstance(placed, Placement) else Refused(queued, cycle, placed)


def _undo(placed: Placement) -> None:
    unplace(placed.profile, placed.cycle, placed.node)
