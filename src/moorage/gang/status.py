"""Events about groups, and the status of their objects; nothing is written twice in a row.

A group has one write under way at most, so that an early report never overwrites a later one. What
failed is written again, however long that takes: a group that is bound gives no further cause.

As with kube-scheduler, the condition of Kubernetes' own groups is about attempts only.
"""

import itertools
import math
from collections import Counter
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from moorage.api.meta import KubeObject
from moorage.api.podgroup import INITIALLY_SCHEDULED, PodGroup
from moorage.bind.event_recorder import EventRecorder, EventType
from moorage.clock import Clock
from moorage.framework.queued_pod import QueuedPod
from moorage.gang.group import Group
from moorage.gang.hierarchy import Branch
from moorage.gang.pod_reasons import PodReasons
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.status_writer import AGAIN_SECONDS
from moorage.scheduler.tasks import Start
from moorage.watch.api_errors import ApiError, BadRequest, Forbidden, Invalid, NotFound
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer

REVIEW_SECONDS: Final = 5.0
"""The least time between two reviews of a group: its pods arrive one by one."""
OWN_GROUP: Final = "scheduling.k8s.io"
"""The API group of Kubernetes' own groups: that one was scheduled is never taken back."""
NO_MINIMUM: Final = (
    "{} is {}: it must be at least 1. Until then the pods of the group are scheduled one by one"
)
REFUSALS: Final = (BadRequest, Forbidden, NotFound, Invalid)
"""Errors after which the same report would be refused again."""


class Report(NamedTuple):
    """What the status of a group is to say, and its patch."""

    group: PodGroup
    reason: str
    message: str
    status: dict[str, Any]


class GangStatus:
    """Writes events and status of groups, if they say something new."""

    def __init__(
        self,
        queue: SchedulingQueue,
        clock: Clock,
        server: ApiServer,
        profiles: Profiles,
        recorder: EventRecorder,
        reasons: PodReasons,
        observers: Observers,
        start: Start,
    ) -> None:
        self._queue = queue
        self._clock = clock
        self._server = server
        self._profiles = profiles
        self._recorder = recorder
        self._reasons = reasons
        self._observers = observers
        self._start = start
        self._resources: dict[str, Resource] = {}
        self._said: dict[str, str] = {}
        self._reports: dict[str, Report] = {}
        """The latest report about each group, by the uid of its object."""
        self._writing: set[str] = set()
        self._reviewed: dict[str, float] = {}

    def note(self, uid: str, resource: Resource) -> None:
        """Note the resource of a group's object."""
        self._resources[uid] = resource

    def forget(self, uid: str) -> None:
        """Forget a group's object, or a pod, that is gone."""
        for kept in (self._resources, self._said, self._reports):
            kept.pop(uid, None)
        self._reasons.forget(uid)

    def review_from(self, group: Group) -> float:
        """When a group may be reviewed again."""
        return self._reviewed.get(group.key, -math.inf) + REVIEW_SECONDS

    def review(self, group: Group) -> bool:
        """Report what is wrong with a group now; False if its pods' status lacks that yet."""
        found = group.object
        self._reviewed.pop(group.key, None)
        if group.waiting:
            self._reviewed[group.key] = self._clock.now()
        said = not group.waiting or self._reasons.review(group)
        if found is None:
            return said
        if group.minimum < 1 and not found.is_basic:
            field = "minCount" if found.spec.scheduling_policy is not None else "minMember"
            note = NO_MINIMUM.format(field, group.minimum)
            self._say(found, "Warning", "InvalidPodGroup", note)
        elif group.waiting and group.unlike:
            self._say(found, "Warning", "InvalidPodGroup", group.unlike)
            for obj in _pod_groups(group):
                self._write(obj, "Pending", "SchedulerError", group.unlike)
        elif group.waiting and group.is_incomplete:
            note = group.refusal() or ""
            self._say(found, "Warning", "IncompletePodGroup", note)
            if not found.is_own:
                self._write(found, "Pending", "Incomplete", note)
        return said

    def pod(self, uid: str) -> None:
        """Report why a pod may not be attempted."""
        queued = self._queue.find(uid)
        if queued is not None and queued.gated_reason:
            self._reasons.refuse(queued.info.pod, queued.gated_reason)

    def unschedulable(
        self, group: Group, members: list[QueuedPod], message: str, on_nodes: Collection[str]
    ) -> None:
        """Report why a group was put back, in its status and in that of its pods.

        `on_nodes` are the uids of its placed pods. PodGroups of a tree that have enough of them are
        left out.
        """
        found = group.object
        if found is None:
            return
        self._say(found, "Warning", "FailedScheduling", message)
        there = group.by_leaf(on_nodes)
        for obj in _pod_groups(group):
            if group.tree is None or there[obj.key] < max(obj.min_count, 1):
                self._write(obj, "Pending", "Unschedulable", message)
        self._reasons.attempted(members, message)

    def failed(self, group: Group, members: list[QueuedPod], message: str) -> None:
        """Report to these pods, and on Kubernetes' own groups, that an attempt raised an error."""
        for obj in _pod_groups(group):
            if obj.is_own:
                self._write(obj, "Pending", "SchedulerError", message)
        self._reasons.attempted(members, message, "SchedulerError")

    def left_out(self, members: list[QueuedPod], message: str) -> None:
        """Report to pods why others of their tree were placed, and they were not."""
        self._reasons.attempted(members, message)

    def one_by_one(self, group: Group, scheduled: int) -> None:
        """Report, for a group whose pods are placed one by one, whether any was scheduled."""
        found = group.object
        if found is None or not found.is_basic or group.minimum >= 1:
            return
        if scheduled:
            self._write(found, "Scheduled", "Scheduled", "pods of the group are scheduled")
        elif group.waiting:
            self._write(found, "Pending", "Unschedulable", "no pod of the group fits anywhere yet")

    def timed_out(self, group: Group, seconds: float) -> None:
        """Report that a group was not scheduled in time."""
        found = group.object
        if found is not None and group.waiting:
            last = self._reports.get(found.uid)
            why = group.refusal() or (last.message if last is not None else "")
            note = f"not scheduled within {seconds:g} s" + (f": {why}" if why else "")
            self._say(found, "Warning", "ScheduleTimeout", note)
            if not found.is_own:
                self._write(found, "Pending", "ScheduleTimeout", note)

    def scheduled(self, group: Group, bound: Collection[str]) -> None:
        """Report that a group is whole; `bound` are the uids of its bound pods."""
        found = group.object
        if found is None:
            return
        if group.tree is not None:
            self._tree_scheduled(found, group.tree, group.by_leaf(bound))
            return
        note = f"at least {group.minimum} pods of the group are bound"
        self._say(found, "Normal", "Scheduled", note)
        self._write(found, "Scheduled", "Scheduled", note)

    def _tree_scheduled(self, root: PodGroup, tree: Branch, bound: Counter[str]) -> None:
        """Report that enough groups of a tree are whole, and for each PodGroup whether it is."""
        note = f"at least {tree.minimum} groups are bound"
        self._say(root, "Normal", "Scheduled", note)
        for leaf in tree.leaves():
            pods = f"{bound[leaf.obj.key]} of the {leaf.minimum} pods needed are bound"
            if leaf.has(bound):
                self._write(leaf.obj, "Scheduled", "Scheduled", pods)
            else:
                self._write(leaf.obj, "Pending", "Unschedulable", pods)

    def _say(self, about: KubeObject, type_: EventType, reason: str, note: str) -> None:
        if self._said.get(about.uid) == note:
            return
        self._said[about.uid] = note
        controller = self._profiles.controller
        self._recorder.record(controller, about, type_, reason, "Scheduling", note)

    def _write(self, group: PodGroup, phase: str, reason: str, message: str) -> None:
        """Patch the status, if it says something new."""
        resource, last = self._resources.get(group.uid), self._reports.get(group.uid)
        if resource is None or (last is not None and last[1:3] == (reason, message)):
            return
        own = resource.group == OWN_GROUP
        if group.was_scheduled and own:
            return
        type_ = INITIALLY_SCHEDULED if own else "Scheduled"
        condition = _condition(group, type_, reason, message, self._clock.now())
        status: dict[str, Any] = {"conditions": [condition]}
        if not own:
            status["phase"] = phase
        self._reports[group.uid] = Report(group, reason, message, status)
        self._start(self._send(group.uid, resource), f"status/{group.key}")

    async def _send(self, uid: str, resource: Resource) -> None:
        """Write the latest report until the server has it or refuses it, or the group is gone."""
        if uid in self._writing:
            return
        self._writing.add(uid)
        delays = itertools.chain(AGAIN_SECONDS, itertools.repeat(AGAIN_SECONDS[-1]))
        written: Report | None = None
        try:
            while (report := self._reports.get(uid)) is not None and report is not written:
                error = await self._patch(report, resource)
                if error is None:
                    written = report
                elif not isinstance(error, REFUSALS):
                    await self._clock.sleep(max(next(delays), error.retry_after))
                elif self._reports.get(uid) is report:
                    del self._reports[uid]
        finally:
            self._writing.discard(uid)

    async def _patch(self, report: Report, resource: Resource) -> ApiError | None:
        """Write one report; the error if it failed."""
        group = report.group
        try:
            await self._server.patch(
                resource,
                group.namespace,
                group.name,
                {"status": report.status},
                subresource="status",
                patch_type="strategic" if resource.group == OWN_GROUP else "merge",
            )
        except ApiError as error:
            if not isinstance(error, NotFound):
                self._observers.failed(group.key, "", error)
            return error
        return None


def _pod_groups(group: Group) -> list[PodGroup]:
    """The PodGroups of a group: its own object, or those of its tree."""
    if group.tree is not None:
        return [leaf.obj for leaf in group.tree.leaves()]
    return [] if group.object is None else [group.object]


def _condition(
    group: PodGroup, type_: str, reason: str, message: str, now: float
) -> dict[str, str | int]:
    """A condition; its lastTransitionTime is kept if the group has it with the same status."""
    status = "True" if reason == "Scheduled" else "False"
    told = ((each.type, each.status, each.last_transition_time) for each in group.status.conditions)
    since = next((at for *what, at in told if what == [type_, status]), None)
    condition: dict[str, str | int] = {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since
        or datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if group.metadata.generation:
        condition["observedGeneration"] = group.metadata.generation
    return condition
