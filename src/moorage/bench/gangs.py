"""Workloads of groups: whole groups arrive, or fill the cluster and leave only as a whole."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.podgroup import POD_GROUP_LABEL, PodGroup
from moorage.bench import workload_kinds
from moorage.cache.disruption_budgets import Budgets
from moorage.cache.podinfo import PodInfo
from moorage.framework.queued_pod import QueuedPod
from moorage.gang import victim_search
from moorage.gang.feature import Gangs
from moorage.gang.group import Group
from moorage.gang.plugin import GangScheduling
from moorage.gang.preemption import find_victims
from moorage.gang.transaction import Misfit
from moorage.scheduler.scheduler import Scheduler

TOGETHER: Final = 10
"""The victims of this many groups leave at once; until then their nodes stay nominated."""
MEMBERS: Final = 8
"""Pods of a group that leaves as a whole, each on its own node; four groups share eight nodes."""


def put_groups(scheduler: Scheduler, pods: Iterable[Pod]) -> int:
    """Make the groups that pods name, each of which needs all of its pods; returns how many."""
    named = [pod for pod in pods if POD_GROUP_LABEL in pod.labels]
    sizes = Counter(pod.labels[POD_GROUP_LABEL] for pod in named)
    groups = scheduler.feature(Gangs).groups
    for name, size in sizes.items():
        groups.put_object(decode_as(workload_kinds.raw_group(name, size), PodGroup))
    for pod in named:
        groups.put_pod(pod, 0.0)
    return len(sizes)


def fill_with_whole_groups(scheduler: Scheduler, nodes: int) -> None:
    """Put four pods on each node; each is of a group that is evicted as a whole or not at all."""
    groups = scheduler.feature(Gangs).groups
    for index in range(4 * nodes):
        pod = _whole_member(index)
        groups.put_pod(pod, 0.0)
        scheduler.cache.put_pod(pod)
    for name in dict.fromkeys(_whole_name(index) for index in range(4 * nodes)):
        groups.put_object(decode_as(_raw_whole(name), PodGroup))


class GroupAttempts:
    """Tries one group after the other, and may make room for groups that do not fit.

    Victims leave later: those of `TOGETHER` groups at once, which then take their places.
    """

    def __init__(self, scheduler: Scheduler, *, preempts: bool) -> None:
        gangs = scheduler.feature(Gangs)
        self._cache = scheduler.cache
        self._queue = scheduler.queue
        self._groups = gangs.groups
        self._placer = gangs.placer
        self._preempts = preempts
        self._promised: list[tuple[PodInfo, str]] = []
        self._leaving: set[str] = set()
        self._waiting = 0

    def decide(self) -> list[str]:
        """One attempt at one group: the node of each of its pods, or "" for each."""
        popped = self._queue.pop(0.0)
        group = None if popped is None else self._groups.of(popped.info.pod)
        if popped is None or group is None:
            raise LookupError("the queue ran dry")
        members = self._placer.take(group, popped)
        outcome = self._placer.place(group, members)
        nodes = [""] * len(members)
        if not isinstance(outcome, Misfit):
            nodes = [placement.node.name for placement in outcome.placed]
        elif self._preempts:
            nodes = self._make_room(group, members) or nodes
        else:
            for queued in members:
                self._queue.put_back(queued, {GangScheduling.plugin_name()}, (), False, 0.0)
            return nodes
        for queued in members:
            self._queue.done(queued.info.uid)
        return nodes

    def _make_room(self, group: Group, members: list[QueuedPod]) -> list[str]:
        """The nodes for which the pods of a group are nominated; empty if no eviction helps."""
        units = victim_search.line_up(
            self._cache, self._groups, group, group.priority, Budgets(()), None
        )
        found = find_victims(self._cache, self._placer, group, members, units)
        if found is None:
            return []
        victims, trial = found
        given = [(cycle.incoming, cycle.table.node(row).name) for _, cycle, row in trial.placed]
        for info, node in given:
            self._cache.nominations.put(info, node)
        self._promised += given
        self._leaving.update(pod.uid for pod in victims.pods)
        self._waiting += 1
        if self._waiting == TOGETHER:
            self._take_places()
        return [node for _, node in given]

    def _take_places(self) -> None:
        for uid in self._leaving:
            self._cache.remove_pod(uid)
        for info, node in self._promised:
            self._cache.nominations.remove(info.uid)
            self._cache.assume(info, node)
        self._promised, self._leaving, self._waiting = [], set(), 0


def _whole_member(index: int) -> Pod:
    raw = workload_kinds.raw_resident(index, f"node-{index // 4}")
    raw["metadata"]["labels"] = {"number": str(index)}
    raw["spec"]["schedulingGroup"] = {"podGroupName": _whole_name(index)}
    return decode_as(raw, Pod)


def _whole_name(index: int) -> str:
    return f"whole-{index // 4 // MEMBERS}-{index % 4}"


def _raw_whole(name: str) -> workload_kinds.Raw:
    policy = {"gang": {"minCount": MEMBERS}}
    return {
        "metadata": {"name": name, "namespace": workload_kinds.NAMESPACE, "uid": name},
        "spec": {"schedulingPolicy": policy, "disruptionMode": {"all": {}}},
    }
