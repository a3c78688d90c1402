"""Pods of groups that go back to the queue: why, what is done about it, and what is reported."""

from typing import Final

from moorage.cache.cache import Cache
from moorage.cycle.attempt import Unschedulable
from moorage.framework.plugin_errors import as_plugin_error
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdicts import SchedulingError, unresolvable
from moorage.gang import shortage, topology
from moorage.gang.group import Group
from moorage.gang.known_misfits import KnownMisfits
from moorage.gang.lifecycle import Lifecycle
from moorage.gang.plugin import NAME
from moorage.gang.preemption import GangPreemption
from moorage.gang.status import GangStatus
from moorage.gang.transaction import Misfit, Whole
from moorage.observe.records import Result
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.outcome import Outcome
from moorage.scheduler.placement import Placement
from moorage.scheduler.profiles import Profiles
from moorage.scheduler.report import Reporter

LEFT_OUT: Final = "{} runs without the pod's PodGroup, of which too few pods fit."


class GangRefusals:
    """Ends attempts at groups, or at pods of groups, that placed nothing."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        profiles: Profiles,
        cycles: Cycles,
        outcome: Outcome,
        reporter: Reporter,
        lifecycle: Lifecycle,
        status: GangStatus,
        preemption: GangPreemption,
        known: KnownMisfits | None = None,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._profiles = profiles
        self._cycles = cycles
        self._outcome = outcome
        self._reporter = reporter
        self._lifecycle = lifecycle
        self._status = status
        self._preemption = preemption
        self._known = known

    def foreseen(self, group: Group, members: list[QueuedPod]) -> Misfit | None:
        """How an attempt would end, if that is known without one; else None."""
        return None if self._known is None else self._known.find(group, members, self._cycles)

    def forget(self) -> None:
        """Forget all known results, because groups or profiles have changed."""
        if self._known is not None:
            self._known.forget()

    def pod(self, queued: QueuedPod, why: str) -> None:
        """Put back one pod that may not be tried, without affecting its group."""
        profile = self._profiles.by_name[queued.info.pod.spec.scheduler_name]
        cycle = self._cycles.begin(queued, profile)
        self._outcome.unschedulable(queued, cycle, profile, unresolvable(why).by(NAME))

    def left_over(self, group: Group, whole: Whole[Placement]) -> None:
        """Put back refused pods without which a group is whole.

        Those of Kubernetes' own groups are activated at once, so that room may be made for them.
        """
        for queued, cycle, why in whole.refused:
            profile = self._profiles.by_name[cycle.pod.spec.scheduler_name]
            self._outcome.unschedulable(queued, cycle, profile, why)
        if group.object is not None and group.object.is_own:
            self._queue.activate(refusal.queued.info.uid for refusal in whole.refused)

    def left_out(self, group: Group, members: list[QueuedPod], whole: Whole[Placement]) -> None:
        """Put back pods that were not refused, but whose PodGroup does not fit and is not needed.

        They are activated at once.
        """
        seen = {placement.queued.info.uid for placement in whole.placed}
        seen |= {refusal.queued.info.uid for refusal in whole.refused}
        rest = [queued for queued in members if queued.info.uid not in seen]
        if not rest:
            return
        plugins = {NAME, *(name for refusal in whole.refused for name in refusal.plugins)}
        left = [queued for queued in rest if self._outcome.put_back(queued, plugins, ())]
        self._status.left_out(left, LEFT_OUT.format(group.title))
        self._queue.activate(queued.info.uid for queued in left)

    def misfit(self, group: Group, members: list[QueuedPod], misfit: Misfit) -> None:
        """End an attempt in which too few pods fit: make room for the group, or let it back off."""
        first = members[0] if misfit.blocker is None else misfit.blocker.queued
        foreseen = misfit.preemption is not None
        given_up = [] if foreseen else self._ask_plugins(group, misfit)
        group.refuse(misfit.blocker.plugins if misfit.blocker else ())
        message = " ".join((shortage.describe_misfit(group, misfit), *given_up))
        said = misfit.preemption or ""
        if not foreseen and (misfit.blocker is not None or misfit.domain):
            said = self._preemption.make_room(group, members, first)
        message += f" {said}" if said else ""
        acted = foreseen or given_up or group.leaving or group.retries_all
        if self._known is not None and not acted:
            self._known.note(group, members, misfit, said)
        if not group.leaving:
            self._lifecycle.back_off(group)
            for queued in members:
                self._outcome.withdraw(queued.info.pod)
        self._report(first, misfit, message)
        refused = {refusal.queued.info.uid: refusal.plugins for refusal in misfit.refused}
        left = [
            queued
            for queued in members
            if self._outcome.put_back(queued, {NAME, *refused.get(queued.info.uid, ())}, ())
        ]
        self._status.unschedulable(group, left, message, group.on_nodes(self._cache.assumed))

    def _ask_plugins(self, group: Group, misfit: Misfit) -> list[str]:
        """Call `pod_group_post_filter` for each refused pod; the messages of the plugins.

        As in kube-scheduler, not for a group that is packed, or is a tree.
        """
        if group.tree is not None or topology.wanted_packing(group.object).required:
            return []
        said: dict[str, None] = {}
        for _, cycle, why in misfit.refused:
            if not isinstance(why, Unschedulable):
                continue
            profile = self._profiles.by_name[cycle.pod.spec.scheduler_name]
            for name, plugin in profile.post_filter:
                with as_plugin_error(name, "PodGroupPostFilter"):
                    answer = plugin.pod_group_post_filter(cycle, cycle.pod, why.diagnosis)
                if answer is not None and answer.message:
                    said[f"{answer.message}."] = None
        return list(said)

    def failed(
        self, group: Group, popped: QueuedPod, members: list[QueuedPod], error: SchedulingError
    ) -> None:
        """End an attempt at a group that raised an error."""
        self._lifecycle.back_off(group, retry=True)
        for queued in members:
            if queued is not popped:
                self._outcome.withdraw(queued.info.pod)
                self._outcome.put_back(queued, (), (), error=True)
        profile = self._profiles.by_name[popped.info.pod.spec.scheduler_name]
        self._outcome.failed(popped, self._cycles.begin(popped, profile), profile, error)
        others = [queued for queued in members if queued is not popped]
        self._status.failed(group, others, str(error))

    def _report(self, first: QueuedPod, misfit: Misfit, message: str) -> None:
        profile = self._profiles.by_name[first.info.pod.spec.scheduler_name]
        blocker = misfit.blocker
        cycle = self._cycles.begin(first, profile) if blocker is None else blocker.cycle
        self._reporter.attempted(first, cycle, profile, Result.UNSCHEDULABLE, message=message)
