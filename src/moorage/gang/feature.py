"""Gangs: pods of a group are followed together, ranked together and tried as a whole.

The queue holds single pods. A group is tried when any of its pods is popped: all its other waiting
pods are taken with it, in whatever state they are. While the group may not be tried its pods are
gated; when that ends they are released together.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from moorage.api import podgroup
from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.cache.cache import Cache
from moorage.clock import Clock
from moorage.framework.cycle import Cycle
from moorage.framework.queued_pod import QueuedPod
from moorage.gang import topology, victim_search
from moorage.gang.attempt import GangAttempt
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.holds import Holds
from moorage.gang.interrupted_evictions import InterruptedEvictions
from moorage.gang.leaving_victims import LeavingVictims
from moorage.gang.lifecycle import Lifecycle
from moorage.gang.place import GangPlacer
from moorage.gang.settings import GangSettings
from moorage.gang.status import GangStatus
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.feature import Feature
from moorage.scheduler.intake import KnownObjects
from moorage.watch.api_resources import RESOURCES, Resource
from moorage.watch.reflector import Change

POD_GROUPS: Final = (RESOURCES["podgroups"],)
WORKLOAD_POD_GROUPS: Final = tuple(
    Resource("scheduling.k8s.io", version, "podgroups", "PodGroup", namespaced=True)
    for version in ("v1beta1", "v1alpha3")
)
"""Kubernetes' own groups, in the supported versions, the preferred one first."""
DIALECTS: Final = (POD_GROUPS, WORKLOAD_POD_GROUPS)
COMPOSITES: Final = (RESOURCES["compositepodgroups"],)


class Gangs(Feature):
    """Follows groups, and tries them as a whole."""

    hears = ("pods", "nodes", "podgroups", "compositepodgroups")
    optional = (*DIALECTS, COMPOSITES)

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        groups: Directory,
        holds: Holds,
        settings: GangSettings,
        lifecycle: Lifecycle,
        leaving: LeavingVictims,
        status: GangStatus,
        attempt: GangAttempt,
        interrupted: InterruptedEvictions,
        known: KnownObjects,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self.groups = groups
        self.holds = holds
        self._settings = settings
        self._lifecycle = lifecycle
        self._leaving = leaving
        self._status = status
        self._attempt = attempt
        self._interrupted = interrupted
        self._known = known
        self._served: dict[str, bool] = {}
        self._touched: list[Group] = []
        """The groups that the change at hand has added pods to, or taken some from."""
        self._bound_by_others: list[Group] = []
        """Those of which it shows a pod that somebody else has put on a node."""
        groups.in_use = settings.any

    @property
    def placer(self) -> GangPlacer:
        """What places groups."""
        return self._attempt.placer

    def reconfigured(self) -> None:
        """Read the settings of the profiles in force."""
        had = self._settings.any
        self._settings.read()
        if not self._settings.any:
            self.groups.in_use = False
        elif not had:
            self.groups.in_use = self._may_be_served
        self._attempt.reconfigured()

    def listed(self, resource: Resource, served: bool) -> None:
        """Note whether groups are served: if they cannot be, naming one has no effect."""
        if resource.kind == "CompositePodGroup":
            for group in self.groups.composites_served(served):
                self._lifecycle.review(group)
        if resource.kind != "PodGroup":
            return
        self._served[resource.group] = served
        self._go_by_labels(self._served.get(POD_GROUPS[0].group, True))
        if not self._settings.any:
            return
        self.groups.in_use = self._may_be_served
        if not self.groups.in_use:
            waiting = [uid for group in self.groups for uid in group.waiting]
            self._queue.activate(waiting, self._clock.now())

    def _go_by_labels(self, by_label: bool) -> None:
        """Where there can be no groups of scheduler-plugins, labels mean nothing."""
        if by_label == self.groups.by_label:
            return
        self.groups.by_label, now = by_label, self._clock.now()
        pods = [pod for pod in self._known.pods() if _names_by_label(pod)]
        touched = {group.key: group for pod in pods for group in self.groups.put_pod(pod, now)}
        for group in touched.values():
            self._lifecycle.review(group)
        self._queue.activate((pod.uid for pod in pods), now)

    @property
    def _may_be_served(self) -> bool:
        return any(self._served.values()) or len(self._served) < len(DIALECTS)

    def before(self, change: Change, resource: Resource) -> None:
        """Count pods and groups before the queue's PreEnqueue plugins are asked."""
        sample = change.new if change.new is not None else change.old
        self._touched, self._bound_by_others = [], []
        if isinstance(sample, Pod):
            gone = change.new is None or sample.is_terminal
            self._touched = self._pod_gone(sample) if gone else self._pod_here(sample)
        elif isinstance(sample, PodGroup):
            if not (isinstance(change.old, PodGroup) and sample.asks_the_same(change.old)):
                self._attempt.groups_changed()
            self._touched = self._group_written(sample, change.new is None, resource)

    def after(self, change: Change, resource: Resource) -> None:
        """Release pods of groups that the change made ready, or may have made room for."""
        if isinstance(change.new, Node) and _may_offer_more(change.old, change.new):
            self._leaving.reconsider()
        for group in self._bound_by_others:
            if group.tree is not None or 1 <= len(group.placed) <= group.minimum:
                self._lifecycle.needs_less(group)
        for group in self._touched:
            self._lifecycle.review(group)
            if group.placed:
                self._status.one_by_one(group, len(group.placed))

    def _pod_here(self, pod: Pod) -> list[Group]:
        if len(self.groups.names(pod)) > 1:
            self._lifecycle.tell_of_pod(pod.uid)
        touched = self.groups.put_pod(pod, self._clock.now())
        if pod.spec.node_name and pod.uid not in self._cache.assumed:
            self._bound_by_others = touched
        self._interrupted.see(pod)
        return touched

    def _group_written(self, obj: PodGroup, gone: bool, resource: Resource) -> list[Group]:
        if gone:
            self._status.forget(obj.uid)
            return self.groups.remove_object(obj)
        if resource.kind == "PodGroup":
            self._status.note(obj.uid, resource)
        return self.groups.put_object(obj)

    def _pod_gone(self, pod: Pod) -> list[Group]:
        self.groups.spare(pod.uid)
        self._status.forget(pod.uid)
        return self.groups.remove_pod(pod.uid) + self._leaving.left(pod.uid)

    def claims(self, queued: QueuedPod) -> bool:
        """Try the group of a pod that was popped; False if the pod is to be tried alone."""
        pod = queued.info.pod
        if not self.groups.in_use or not self._settings.apply_to(pod):
            return False
        if not self.groups.names(pod):
            return False
        group, refusal = self.groups.of(pod), self.groups.refusal(pod)
        if refusal is not None:
            if group is not None:
                group.retry_all()
            self._attempt.refuse(queued, refusal)
            return True
        if group is None or group.minimum < 1 or group.is_replacing:
            return False
        enough = group.tree is None and group.scheduled(self._cache.assumed) >= group.minimum
        if enough and not topology.unclear_domain(group, self._cache):
            return False
        self._attempt.attempt(group, queued)
        return True

    def put_back(self, cycle: Cycle) -> None:
        group = self.groups.of(cycle.pod)
        if group is not None:
            self._status.one_by_one(group, group.scheduled(self._cache.assumed))

    def ranked_as(self, queued: QueuedPod) -> QueuedPod:
        return self.groups.ranked_as(queued)

    def tick(self, now: float) -> None:
        self._lifecycle.tick(now)
        self._leaving.tick(now)
        self._interrupted.tick(now)

    def next_due(self) -> float | None:
        due = (self._lifecycle.next_due(), self._leaving.next_due(), self._interrupted.next_due())
        return min((when for when in due if when is not None), default=None)

    def let_go(self, schedulers: Collection[str]) -> None:
        """Remove waiting pods of these scheduler names, which have no profile any more."""
        for group in self.groups:
            pods = (*group.waiting.values(), *group.gated.values())
            left = [pod.uid for pod in pods if pod.spec.scheduler_name in schedulers]
            for uid in left:
                self.groups.remove_pod(uid)
            if left:
                self._lifecycle.review(group)

    def leave_with(self, preemptor: Pod, victims: Sequence[Pod]) -> Iterable[Pod]:
        """The other pods of groups that would not be whole without a victim.

        Pods being bound are included: they may be on their nodes already. Pods leave only if all of
        them have a lower priority than the preemptor.
        """
        gone = {victim.uid for victim in victims}
        others: dict[str, Pod] = {}
        for victim in victims:
            group = self.groups.of(victim)
            if group is None or not victim_search.unit_of(self.groups, victim):
                continue
            there = victim_search.unit_pods(self.groups, victim, self._cache.assumed)
            rest = {uid: pod for uid, pod in there.items() if uid not in gone}
            lower = all(pod.priority < preemptor.priority for pod in rest.values())
            if lower and (group.tree is not None or len(rest) < group.minimum):
                others.update(rest)
        return list(others.values())

    def evicting(self, victims: Sequence[Pod]) -> None:
        self._leaving.doom(victims)

    def spared(self, victims: Sequence[Pod]) -> None:
        self._leaving.spare(victims)
        for known in (self._known.pod(victim.key) for victim in victims):
            if known is not None:
                self._interrupted.see(known)

    def promise_taken_back(self, pod: Pod) -> None:
        group = self.groups.of(pod)
        if group is not None:
            self._leaving.end(group)


def _names_by_label(pod: Pod) -> bool:
    return podgroup.group_names(pod) != podgroup.group_names(pod, by_label=False)


def _may_offer_more(old: KubeObject | None, new: Node) -> bool:
    """Whether a node is new, or changed its spec, labels or allocatable amounts."""
    if not isinstance(old, Node):
        return True
    if old.spec != new.spec or old.labels != new.labels:
        return True
    return old.status.allocatable != new.status.allocatable
